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
  const { eventBytesMax } = limits
  let kept: Buffer = EMPTY // the beginning of an unfinished line: keptBytes of it are in use
  let keptBytes = 0
  let data: string | undefined // the data lines of the current event so far, joined
  let eventUnits = 0 // their length in UTF-16 units, including names and line ends
  let eventExtra = UNCOUNTED // and how much longer they are in bytes, counted only when it may matter
  let atStart = true
  let afterCr = false
  let dead = false

  function push(chunk: Uint8Array): void {
    if (dead) throw overflow()
    for (let from = 0; from < chunk.length; from += WINDOW_BYTES) {
      pushWindow(asBuffer(chunk, from, Math.min(from + WINDOW_BYTES, chunk.length)))
    }
  }

  function pushWindow(bytes: Buffer): void {
    const begin = afterCr && bytes[0] === LF ? 1 : 0
    const end = Math.max(begin, afterLastLineEnd(bytes))
    afterCr = bytes[bytes.length - 1] === CR

    if (end > begin && keptBytes === 0) {
      readLines(bytes.toString('utf8', begin, end))
    } else if (end > begin) {
      keep(bytes, begin, end)
      readKept()
    }
    if (end < bytes.length) {
      keep(bytes, end, bytes.length)
      if (!fits(keptBytes)) throw overflow()
    }
  }

  function end(): void {
    if (dead) return
    if (keptBytes > 0) {
      keep(LINE_END, 0, 1)
      readKept()
    }
    dispatch()
  }

  // The buffer doubles, so that a line that arrives byte by byte is copied a constant number of times.
  function keep(bytes: Buffer, from: number, to: number): void {
    const needed = keptBytes + to - from
    if (kept.length < needed) {
      const larger = Buffer.allocUnsafeSlow(Math.max(needed, kept.length * 2, KEPT_BYTES_MIN))
      kept.copy(larger, 0, 0, keptBytes)
      kept = larger
    }
    bytes.copy(kept, keptBytes, from, to)
    keptBytes = needed
  }

  function readKept(): void {
    const text = kept.toString('utf8', 0, keptBytes)
    keptBytes = 0
    if (kept.length > WINDOW_BYTES) kept = EMPTY
    readLines(text)
  }

  // The text ends with a line end. Carriage returns are rare, and searching for both kinds is slower.
  function readLines(text: string): void {
    if (text.includes('\r')) readOddLines(text)
    else readPlainLines(text)
  }

  function readPlainLines(text: string): void {
    for (let from = 0; from < text.length; ) {
      const to = text.indexOf('\n', from)
      readLine(text, from, to)
      from = to + 1
    }
  }

  function readOddLines(text: string): void {
    let cr = -1
    let lf = -1
    for (let from = 0; from < text.length; ) {
      if (cr < from) cr = indexOrEnd(text, '\r', from)
      if (lf < from) lf = indexOrEnd(text, '\n', from)
      readLine(text, from, Math.min(cr, lf))
      from = lf === cr + 1 ? lf + 1 : Math.min(cr, lf) + 1
    }
  }

  function readLine(text: string, from: number, to: number): void {
    // A UTF-16 unit is at most three bytes, so most lines need no counting; the blank line that ends an event never does.
    const units = to - from
    if ((eventUnits + units) * 3 > eventBytesMax && units > 0) {
      if (!fits(units + extraBytes(text.slice(from, to)))) throw overflow()
    }

    const begin = atStart && text.charCodeAt(from) === BOM ? from + 1 : from
    atStart = false
    if (begin === to) dispatch()
    else if (text.startsWith('data', begin)) readData(text, begin, to)
  }

  function readData(text: string, from: number, to: number): void {
    const colon = from + 4
    if (colon < to && text.charCodeAt(colon) !== COLON) return
    const line = text.slice(text.charCodeAt(colon + 1) === SPACE ? colon + 2 : colon + 1, to)
    data = data === undefined ? line : `${data}\n${line}`
    eventUnits += to - from + 1
    if (eventExtra !== UNCOUNTED) eventExtra += extraBytes(line)
  }

  function dispatch(): void {
    if (data === undefined) return
    const whole = data
    forgetEvent()
    onData(whole)
  }

  function fits(lineBytes: number): boolean {
    if (eventUnits * 3 + lineBytes <= eventBytesMax) return true
    if (eventExtra === UNCOUNTED) eventExtra = extraBytes(data ?? '')
    return eventUnits + eventExtra + lineBytes <= eventBytesMax
  }

  function overflow(): SseOverflow {
    dead = true
    kept = EMPTY
    forgetEvent()
    return new SseOverflow(`an event of the stream is larger than ${eventBytesMax} bytes`)
  }

  function forgetEvent(): void {
    data = undefined
    eventUnits = 0
    eventExtra = UNCOUNTED
  }

  return Object.freeze({ push, end })
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

function afterLastLineEnd(bytes: Buffer): number {
  let end = bytes.length
  while (end > 0 && bytes[end - 1] !== LF && bytes[end - 1] !== CR) end--
  return end
}

function indexOrEnd(text: string, what: string, from: number): number {
  const index = text.indexOf(what, from)
  return index < 0 ? text.length : index
}

function extraBytes(text: string): number {
  return Buffer.byteLength(text) - text.length
}
