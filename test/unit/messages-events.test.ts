// The reader of a Messages stream: any split of the bytes gives the same events, and whatever arrives, it ends exactly once.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { Failure } from '../../src/domain/failure.ts'
import type { Chunk } from '../../src/domain/handoff.ts'
import { messageFrames } from '../../src/upstream/anthropic/response.ts'
import { streamReader } from '../../src/upstream/openai/readers.ts'
import { MESSAGE_START, type MessageEvent, messageEnd, textBlock } from '../support/messages.ts'

const BOUNDS = { sseEventBytesMax: 10_000, endAfterDoneMs: 1, unsaid: [] }

const EVENTS: readonly MessageEvent[] = [
  MESSAGE_START,
  { type: 'ping' },
  ...textBlock(0, 'Grüße, ', '日本 🎉'),
  { type: 'content_block_start', index: 1, content_block: { type: 'tool_use', id: 't', name: 'n', input: {} } },
  { type: 'content_block_delta', index: 1, delta: { type: 'input_json_delta', partial_json: '{"a":1}' } },
  { type: 'content_block_stop', index: 1 },
  ...messageEnd({ output_tokens: 7 }, 'tool_use'),
]

const eol = fc.constantFrom('\n', '\r\n', '\r')

test('any split of the bytes, with any line end, gives the same events', () => {
  const whole = read([Buffer.from(written(EVENTS, '\n'))])
  assert.equal(whole.failures.length, 1)
  assert.equal(whole.failures[0], undefined)

  fc.assert(
    fc.property(eol, fc.array(fc.integer({ min: 1, max: 40 }), { maxLength: 200, size: 'max' }), (end, sizes) => {
      const bytes = Buffer.from(written(EVENTS, end))
      const pieces: Buffer[] = []
      let from = 0
      for (const size of sizes) {
        pieces.push(bytes.subarray(from, from + size))
        from += size
      }
      pieces.push(bytes.subarray(from))

      const { chunks, failures } = read(pieces)

      assert.deepEqual(chunks, whole.chunks)
      assert.deepEqual(failures, [undefined])
    }),
  )
})

test('events in any order, repeated or left out, end once: complete, or with a failure', () => {
  fc.assert(
    fc.property(fc.array(fc.constantFrom(...EVENTS), { maxLength: 20, size: 'max' }), events => {
      const { chunks, failures } = read([Buffer.from(written(events, '\n'))])

      assert.equal(failures.length, 1)
      // Nothing comes before the start, and a complete answer has a reason.
      if (chunks.length > 0) assert.equal(chunks[0]?.native?.type, 'message_start')
      const hasReason = chunks.some(({ choices }) => choices.some(({ finish_reason }) => finish_reason !== null))
      if (failures[0] === undefined) assert.ok(hasReason)
    }),
  )
})

test('whatever bytes arrive, the reader ends once and throws nothing', () => {
  const line = fc.oneof(
    fc.string(),
    fc.json().map(json => `data: ${json}`),
    fc.constantFrom(...EVENTS).map(event => `data: ${JSON.stringify(event)}`),
    fc.constantFrom(
      '',
      'data: [DONE]',
      'event: ping',
      'data: {"type":"content_block_start"}',
      'data: {"type":"message_start"}',
    ),
  )
  fc.assert(
    fc.property(fc.array(line, { maxLength: 30, size: 'max' }), lines => {
      assert.equal(read([Buffer.from(lines.join('\n\n'))]).failures.length, 1)
    }),
  )
})

function written(events: readonly MessageEvent[], end: string): string {
  return events.map(event => `event: ${event.type}${end}data: ${JSON.stringify(event)}${end}${end}`).join('')
}

function read(pieces: readonly Buffer[]) {
  const chunks: Chunk[] = []
  const failures: (Failure | undefined)[] = []
  const listener = {
    chunks: (batch: readonly Chunk[]) => void chunks.push(...batch),
    whole: () => undefined,
    end: (failure: Failure | undefined) => void failures.push(failure),
  }
  const reader = streamReader(listener, BOUNDS, { upstreamId: null }, () => undefined, messageFrames([]))
  for (const piece of pieces) reader.data(piece)
  reader.end(undefined)
  return { chunks, failures }
}
