// Reads the events of an upstream's SSE stream, chunk by chunk, and emits their data. Optimised for frames that arrive whole:
// bytes are decoded once, up to the last line end of a chunk, and only the remainder is buffered. See
// docs/decisions/libraries-and-packaging.md.

export type SseReader = {
  // Throws SseOverflow when one event exceeds the limit; every later push throws as well.
  push(chunk: Uint8Array): void
  // The stream has ended. Unlike in the standard, an event without its final blank line is emitted if it has data: many upstreams
  // omit the last blank line, and the last event is the one with the usage.
  end(): void
}

export class SseOverflow extends Error {
  override readonly name = 'SseOverflow'
}

// `event:`, `id:` and `retry:` are ignored; an event without a data line is dropped. Line ends are ASCII, so a text that ends
// with one never splits a character, whatever the chunks. The size of an event is that of its data lines and of the line being
// read: the same however the stream is split.
export function sseReader(onData: (data: string) => void, limits: { readonly eventBytesMax: number }): SseReader {
  const stream: Stream = {
    kept: EMPTY,
    keptBytes: 0,
    data: undefined,
    eventUnits: 0,
    eventExtra: UNCOUNTED,
    atStart: true,
    afterCr: false,
    dead: false,
    eventBytesMax: limits.eventBytesMax,
    onData,
  }

  function push(chunk: Uint8Array): void {
    if (stream.dead) throw overflow(stream)
    for (let from = 0; from < chunk.length; from += WINDOW_BYTES) {
      pushWindow(stream, asBuffer(chunk, from, Math.min(from + WINDOW_BYTES, chunk.length)))
    }
  }

  function end(): void {
    if (stream.dead) return
    if (stream.keptBytes > 0) {
      keep(stream, LINE_END, 0, 1)
      readKept(stream)
    }
    dispatch(stream)
  }

  return Object.freeze({ push, end })
}

type Stream = {
  kept: Buffer // the beginning of an unfinished line: keptBytes of it are in use
  keptBytes: number
  data: string | undefined // the data lines of the current event so far, joined
  eventUnits: number // their length in UTF-16 units, including names and line ends
  eventExtra: number // and how much longer they are in bytes, counted only when it may matter
  atStart: boolean
  afterCr: boolean
  dead: boolean
  readonly eventBytesMax: number
  readonly onData: (data: string) => void
}

// A chunk is read in windows, so that a chunk of a gigabyte is never decoded as a whole.
const WINDOW_BYTES = 64 * 1024
const KEPT_BYTES_MIN = 1024
const EMPTY = Buffer.alloc(0)
const LINE_END = Buffer.from('\n')
const UNCOUNTED = -1
const LF = 0x0a
const CR = 0x0d
const SPACE = 0x20
const COLON = 0x3a
const BOM = 0xfeff

function asBuffer(chunk: Uint8Array, from: number, to: number): Buffer {
  if (to - from === chunk.length && Buffer.isBuffer(chunk)) return chunk
  return Buffer.from(chunk.buffer, chunk.byteOffset + from, to - from)
}

function pushWindow(stream: Stream, bytes: Buffer): void {
  const begin = stream.afterCr && bytes[0] === LF ? 1 : 0
  const end = Math.max(begin, afterLastLineEnd(bytes))
  stream.afterCr = bytes[bytes.length - 1] === CR

  if (end > begin && stream.keptBytes === 0) {
    readLines(stream, bytes.toString('utf8', begin, end))
  } else if (end > begin) {
    keep(stream, bytes, begin, end)
    readKept(stream)
  }
  if (end < bytes.length) {
    keep(stream, bytes, end, bytes.length)
    if (!fits(stream, stream.keptBytes)) throw overflow(stream)
  }
}

function afterLastLineEnd(bytes: Buffer): number {
  let end = bytes.length
  while (end > 0 && bytes[end - 1] !== LF && bytes[end - 1] !== CR) end--
  return end
}

// The buffer doubles, so that a line that arrives byte by byte is copied a constant number of times.
function keep(stream: Stream, bytes: Buffer, from: number, to: number): void {
  const { kept, keptBytes } = stream
  const needed = keptBytes + to - from
  if (kept.length < needed) {
    const larger = Buffer.allocUnsafeSlow(Math.max(needed, kept.length * 2, KEPT_BYTES_MIN))
    kept.copy(larger, 0, 0, keptBytes)
    stream.kept = larger
  }
  bytes.copy(stream.kept, keptBytes, from, to)
  stream.keptBytes = needed
}

function readKept(stream: Stream): void {
  const text = stream.kept.toString('utf8', 0, stream.keptBytes)
  stream.keptBytes = 0
  if (stream.kept.length > WINDOW_BYTES) stream.kept = EMPTY
  readLines(stream, text)
}

// The text ends with a line end. Carriage returns are rare, and searching for both kinds is slower.
function readLines(stream: Stream, text: string): void {
  if (text.includes('\r')) readOddLines(stream, text)
  else readPlainLines(stream, text)
}

function readPlainLines(stream: Stream, text: string): void {
  for (let from = 0; from < text.length; ) {
    const to = text.indexOf('\n', from)
    readLine(stream, text, from, to)
    from = to + 1
  }
}

function readOddLines(stream: Stream, text: string): void {
  let cr = -1
  let lf = -1
  for (let from = 0; from < text.length; ) {
    if (cr < from) cr = indexOrEnd(text, '\r', from)
    if (lf < from) lf = indexOrEnd(text, '\n', from)
    readLine(stream, text, from, Math.min(cr, lf))
    from = lf === cr + 1 ? lf + 1 : Math.min(cr, lf) + 1
  }
}

function indexOrEnd(text: string, what: string, from: number): number {
  const index = text.indexOf(what, from)
  return index < 0 ? text.length : index
}

function readLine(stream: Stream, text: string, from: number, to: number): void {
  // A UTF-16 unit is at most three bytes, so most lines need no counting; the blank line that ends an event never does.
  const units = to - from
  if ((stream.eventUnits + units) * 3 > stream.eventBytesMax && units > 0) {
    if (!fits(stream, units + extraBytes(text.slice(from, to)))) throw overflow(stream)
  }

  const begin = stream.atStart && text.charCodeAt(from) === BOM ? from + 1 : from
  stream.atStart = false
  if (begin === to) dispatch(stream)
  else if (text.startsWith('data', begin)) readData(stream, text, begin, to)
}

function readData(stream: Stream, text: string, from: number, to: number): void {
  const colon = from + 4
  if (colon < to && text.charCodeAt(colon) !== COLON) return
  const line = text.slice(text.charCodeAt(colon + 1) === SPACE ? colon + 2 : colon + 1, to)
  stream.data = stream.data === undefined ? line : `${stream.data}\n${line}`
  stream.eventUnits += to - from + 1
  if (stream.eventExtra !== UNCOUNTED) stream.eventExtra += extraBytes(line)
}

function dispatch(stream: Stream): void {
  const { data } = stream
  if (data === undefined) return
  forgetEvent(stream)
  stream.onData(data)
}

function fits(stream: Stream, lineBytes: number): boolean {
  const { eventUnits, eventBytesMax } = stream
  if (eventUnits * 3 + lineBytes <= eventBytesMax) return true
  if (stream.eventExtra === UNCOUNTED) stream.eventExtra = extraBytes(stream.data ?? '')
  return eventUnits + stream.eventExtra + lineBytes <= eventBytesMax
}

function extraBytes(text: string): number {
  return Buffer.byteLength(text) - text.length
}

function overflow(stream: Stream): SseOverflow {
  stream.dead = true
  stream.kept = EMPTY
  forgetEvent(stream)
  return new SseOverflow(`an event of the stream is larger than ${stream.eventBytesMax} bytes`)
}

function forgetEvent(stream: Stream): void {
  stream.data = undefined
  stream.eventUnits = 0
  stream.eventExtra = UNCOUNTED
}
