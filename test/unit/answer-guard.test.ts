// The guards of foreign answers: data within the bound passes, however it is split; one byte more does not.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { answerGuard, shapeGuard } from '../../src/upstream/response-guard.ts'
import { amazonAnswer } from '../support/vendor.ts'

const bounds = { answerBytesMax: 100, sseEventBytesMax: 64 }
const SSE = 'text/event-stream; charset=utf-8'
const FRAMES = 'application/vnd.amazon.eventstream'

test('a whole answer', () => {
  assert.equal(first(guarded('application/json', [Buffer.alloc(60), Buffer.alloc(40)])), undefined)
  assert.match(first(guarded('application/json', [Buffer.alloc(60), Buffer.alloc(41)])) ?? '', /over 100 bytes/)
})

test('any number of events within the bound pass, with any split and any line end', () => {
  const event = fc.tuple(fc.stringMatching(/^[a-z]{0,50}$/), fc.constantFrom('\n', '\r\n'))
  fc.assert(
    fc.property(fc.array(event, { maxLength: 20, size: 'max' }), fc.integer({ min: 1, max: 40 }), (events, size) => {
      const text = events.map(([data, eol]) => `data: ${data}${eol}${eol}`).join('')

      assert.equal(first(guarded(SSE, cut(Buffer.from(text), size))), undefined)
    }),
  )
})

test('an event over its bound does not pass, in one line or in several', () => {
  for (const text of [`data: ${'x'.repeat(70)}`, 'data: x\n'.repeat(9), `\n\ndata: x\n\ndata: ${'x'.repeat(60)}\n`]) {
    for (const size of [1, 7, 1000]) {
      assert.match(first(guarded(SSE, cut(Buffer.from(text), size))) ?? '', /over 64 bytes/, text)
    }
  }
})

test("Amazon's frames within the bound pass with any split; a frame that declares more does not", () => {
  const { pieces } = amazonAnswer([{ a: {} }, { bc: { d: 'e' } }])
  const frames = Buffer.concat(pieces.map(piece => Buffer.from(piece)))
  const largeEnough = { ...bounds, sseEventBytesMax: 200 }

  for (let size = 1; size <= frames.length; size++) {
    assert.equal(first(guarded(FRAMES, cut(frames, size), largeEnough)), undefined)
    assert.match(first(guarded(FRAMES, cut(frames, size))) ?? '', /over 64 bytes/)
  }
})

test('the content type is case-insensitive', () => {
  assert.match(first(guarded(SSE.toUpperCase(), [Buffer.from(`data: ${'x'.repeat(70)}`)])) ?? '', /over 64 bytes/)
  const { pieces } = amazonAnswer([{ bc: { d: 'e' } }])
  assert.match(
    first(guarded(FRAMES.toUpperCase(), [Buffer.concat(pieces.map(piece => Buffer.from(piece)))])) ?? '',
    /64/,
  )
})

test('depth and members of a whole answer, or of one event, are bounded, with any split', () => {
  const deep = '['.repeat(1001)
  const many = `[${'0,'.repeat(50_001)}0]`
  const quoted = JSON.stringify({ a: `\\"${deep}${many}` })
  for (const size of [1, 7, 100_000]) {
    for (const type of ['application/json', SSE]) {
      const shape = (text: string) => first(cut(Buffer.from(text), size).map(shapeGuard(type)))
      assert.equal(shape(deep), 'nested too deeply')
      assert.equal(shape(many), 'too many members')
      assert.equal(shape(quoted), undefined)
    }
    const events = `data: ${'['.repeat(999)}\n\ndata: ["\n\ndata: ${'['.repeat(999)}\r\n\r\n`
    assert.equal(first(cut(Buffer.from(events), size).map(shapeGuard(SSE))), undefined)
  }
})

test('a frame that declares less than its minimum length ends by itself', () => {
  assert.equal(first(guarded(FRAMES, cut(Buffer.alloc(100), 3))), undefined)
})

function guarded(type: string, chunks: readonly Buffer[], within = bounds): readonly (string | undefined)[] {
  const guard = answerGuard(type, within)
  return chunks.map(chunk => guard(chunk))
}

function first(words: readonly (string | undefined)[]): string | undefined {
  return words.find(word => word !== undefined)
}

function cut(bytes: Buffer, size: number): readonly Buffer[] {
  return Array.from({ length: Math.ceil(bytes.length / size) }, (_, i) => bytes.subarray(i * size, (i + 1) * size))
}
