// The SSE reader, compared with a naive one that sees the whole stream at once, for any split of the stream.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { systemClock } from '../../src/lib/clock.ts'
import { SseOverflow, sseReader } from '../../src/lib/sse.ts'

const WIDE = { eventBytesMax: 1024 * 1024 }

test('in 20,000 random streams with random splits, every event is read as by the naive reader', () => {
  const piece = fc.constantFrom(
    ...['data: {"a":1}\n\n', 'data: {"a":1}\r\n\r\n', 'data: x\r\r', 'data:x\n', 'data\n', 'data:  y\n', 'data :z\n'],
    ...[
      '\n',
      '\r',
      '\r\n',
      '\n\n',
      ': note\n',
      ':\n',
      'event: ping\n',
      'id: 1\n',
      'retry: 5\n',
      'dat',
      'a: ',
      'database\n',
    ],
    ...['data: é😀\n', 'data: 日本\n\n', '\ufeff', ' ', ':', 'data: [DONE]\n\n', '\0', 'x', 'data', 'data:'],
  )
  const bytes = fc.oneof(
    { weight: 8, arbitrary: fc.array(piece, { maxLength: 14 }).map(pieces => Buffer.from(pieces.join(''))) },
    {
      weight: 2,
      arbitrary: fc
        .array(
          fc.oneof(
            piece.map(text => Buffer.from(text)),
            fc.uint8Array({ maxLength: 3 }),
          ),
          { maxLength: 14 },
        )
        .map(parts => Buffer.concat(parts)),
    },
  )
  fc.assert(
    fc.property(
      bytes,
      fc.array(fc.nat(9), { maxLength: 30, size: 'max' }),
      fc.constantFrom(1024, 30, 12),
      (stream, sizes, limit) => {
        const expected = readNaively(stream, limit)

        assert.deepEqual(read(cut(stream, sizes), limit), expected)
        assert.deepEqual(read([stream], limit), expected)
      },
    ),
    { numRuns: 20_000 },
  )
})

test('a stream that arrives byte by byte is read like a whole one', () => {
  const stream = Buffer.from('\ufeff: hi\r\ndata: {"text":"日本 😀"}\r\n\r\nevent: x\ndata: a\ndata: b\n\ndata: [DONE]')

  const { events } = read(
    Array.from(stream, byte => Uint8Array.of(byte)),
    1024,
  )

  assert.deepEqual(events, ['{"text":"日本 😀"}', 'a\nb', '[DONE]'])
})

test('a chunk far larger than a window is read, and splits between windows have no effect', () => {
  const texts = Array.from({ length: 20_000 }, (_, i) => `{"n":${i},"é":"${'日'.repeat(i % 50)}"}`)

  for (const end of ['\n', '\r', '\r\n']) {
    const { events } = read([Buffer.from(texts.map(text => `data: ${text}${end}${end}`).join(''))], 1024)

    assert.deepEqual(events, texts)
  }
})

test('events without data are skipped, and an empty data line is an event', () => {
  assert.deepEqual(read([Buffer.from('event: x\n\nid: 1\n\n: c\n\ndata\n\ndata:\n\n')], 1024).events, ['', ''])
})

test('an event without its blank line is delivered at the end', () => {
  assert.deepEqual(read([Buffer.from('data: a\n\ndata: b\n')], 1024).events, ['a', 'b'])
  assert.deepEqual(read([Buffer.from('data: a\n\ndata: b')], 1024).events, ['a', 'b'])
})

test('an endless line is aborted at the limit, with bounded memory, and the reader stays closed', () => {
  const reader = sseReader(() => assert.fail('no event is complete'), { eventBytesMax: 1024 * 1024 })
  const chunk = Buffer.alloc(16 * 1024, 'x')
  let pushed = 0

  assert.throws(() => {
    for (;;) {
      reader.push(chunk)
      pushed += chunk.length
    }
  }, SseOverflow)

  assert.equal(pushed, 1024 * 1024)
  assert.throws(() => reader.push(Buffer.from('\n')), SseOverflow)
  reader.end()
})

test('an event of endless small lines is aborted at the limit too', () => {
  const reader = sseReader(() => assert.fail('no event is complete'), { eventBytesMax: 64 * 1024 })
  const lines = Buffer.from('data\n'.repeat(1000))
  let pushed = 0

  assert.throws(() => {
    for (; pushed < 1000; pushed++) reader.push(lines)
  }, SseOverflow)

  assert.equal(pushed, 13)
})

test('comments between events never add up to an overflow', () => {
  const seen: string[] = []
  const reader = sseReader(data => seen.push(data), { eventBytesMax: 100 })

  for (let i = 0; i < 1000; i++) reader.push(Buffer.from(': keep-alive\n'))
  reader.push(Buffer.from('data: x\n\n'))

  assert.deepEqual(seen, ['x'])
})

test('a million empty lines, and a megabyte in single bytes, take linear time', () => {
  const seen: number[] = []
  const reader = sseReader(data => seen.push(data.length), WIDE)
  const long = Buffer.from(`data: ${'é'.repeat(500_000)}\n\n`)
  const began = systemClock.monotonic()

  reader.push(Buffer.alloc(1_000_000, '\n'))
  for (let i = 0; i < long.length; i++) reader.push(long.subarray(i, i + 1))

  assert.deepEqual(seen, [500_000])
  assert.ok(systemClock.monotonic() - began < 5000)
})

type Reading = { readonly events: readonly string[]; readonly overflowed: boolean }

function read(chunks: readonly Uint8Array[], eventBytesMax: number): Reading {
  const events: string[] = []
  const reader = sseReader(data => events.push(data), { eventBytesMax })
  try {
    for (const chunk of chunks) reader.push(chunk)
    reader.end()
  } catch (error) {
    assert.ok(error instanceof SseOverflow)
    return { events, overflowed: true }
  }
  return { events, overflowed: false }
}

function readNaively(stream: Buffer, eventBytesMax: number): Reading {
  const events: string[] = []
  let lines: string[] = []
  let bytes = 0
  const texts = stream.toString('utf8').split(/\r\n|\r|\n/)
  for (const [i, text] of texts.entries()) {
    if (text !== '' && bytes + Buffer.byteLength(text) > eventBytesMax) return { events, overflowed: true }
    const line = i === 0 ? text.replace(/^\ufeff/, '') : text
    const field = /^data(?:: ?(.*))?$/s.exec(line)
    if (field !== null) {
      lines.push(field[1] ?? '')
      bytes += Buffer.byteLength(line) + 1
    }
    if ((line === '' || i === texts.length - 1) && lines.length > 0) {
      events.push(lines.join('\n'))
      lines = []
    }
    if (lines.length === 0) bytes = 0
  }
  return { events, overflowed: false }
}

function cut(stream: Buffer, sizes: readonly number[]): readonly Buffer[] {
  const chunks: Buffer[] = []
  let from = 0
  for (const size of sizes) {
    chunks.push(stream.subarray(from, from + size))
    from = Math.min(from + size, stream.length)
  }
  return [...chunks, stream.subarray(from)]
}
