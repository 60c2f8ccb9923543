// Parses HTTP/1.1 responses from one connection, one after the other, however they are split. It is strict: tenants share a
// connection, so anything ambiguous is refused, and nothing is read past the end of a response.

export type ResponseListener = {
  head(status: number, headers: ResponseHeaders): void
  // The bytes are only valid during the call: the next read overwrites them.
  data(bytes: Buffer): void
  // The response is complete. `reusable`: the connection may carry another request.
  end(reusable: boolean): void
}

// Names in lower case; the first of a repeated header counts, except for Connection, whose values are joined.
export type ResponseHeaders = ReadonlyMap<string, string>

export type ResponseReader = {
  // A request has been sent, so a response is expected.
  expect(): void
  // Parses received bytes and may move them in place. Throws BadResponse.
  read(bytes: Buffer): void
  // The connection has ended: true if that completed a response, false if it interrupted one.
  ended(): boolean
}

export class BadResponse extends Error {
  override readonly name = 'BadResponse'
}

// What comes next on the connection.
type Next =
  | 'nothing'
  | 'head'
  | 'sized' // a body of `left` bytes
  | 'until_close'
  | 'size' // of a chunk: its digits, then perhaps an extension, then a line end
  | 'extension'
  | 'size_lf'
  | 'chunk'
  | 'chunk_cr'
  | 'chunk_lf'
  | 'trailer' // the beginning of a line after the last chunk
  | 'trailer_line'
  | 'last_lf'

export function responseReader(listener: ResponseListener, limits: { readonly headBytesMax: number }): ResponseReader {
  const { headBytesMax } = limits
  let next: Next = 'nothing'
  let kept: Buffer | undefined // the beginning of an incomplete head
  let mayStay = true // no interim head announced that the connection closes
  let keepAlive = false
  let interim = 0 // the number of 1xx heads
  let left = 0
  let digits = 0
  let overhead = 0 // bytes of a chunk's extension, or of the trailers
  let trailers = ''

  function read(bytes: Buffer): void {
    if (next === 'head') readHead(bytes)
    else readBody(bytes, 0)
  }

  function readHead(arrived: Buffer): void {
    const bytes = kept === undefined ? arrived : Buffer.concat([kept, arrived])
    const end = bytes.indexOf('\r\n\r\n', kept === undefined ? 0 : Math.max(0, kept.length - 3))
    if (end > headBytesMax || (end < 0 && bytes.length > headBytesMax)) throw new BadResponse('its head is too large')
    if (end < 0) {
      // Another protocol may never send a blank line.
      if (!'HTTP/1.'.startsWith(bytes.toString('latin1', 0, 7))) throw new BadResponse('it is not HTTP/1')
      kept = kept === undefined ? Buffer.from(bytes) : bytes
      return
    }
    kept = undefined
    const { status, version, headers } = parseHead(bytes.toString('latin1', 0, end + 2))
    if (status < 200) {
      interim += 1
      if (isClosing(headers)) mayStay = false
      if (status === 101 || interim > INTERIM_MAX) throw new BadResponse(`an unexpected status ${status}`)
      if (end + 4 < bytes.length) readHead(bytes.subarray(end + 4))
      return
    }
    frame(status, version, headers)
    listener.head(status, headers)
    readBody(bytes, end + 4)
  }

  function frame(status: number, version: string, headers: ResponseHeaders): void {
    const encoding = headers.get('transfer-encoding')
    const length = headers.get('content-length')
    keepAlive = mayStay && version === '1.1' && !isClosing(headers)
    if (status === 204 || status === 304) {
      // They have no body; where one is announced, it may be sent nevertheless.
      if (encoding !== undefined || (length !== undefined && length !== '0')) keepAlive = false
      sized(0)
    } else if (encoding !== undefined) {
      if (length !== undefined || !/^chunked$/i.test(encoding)) throw new BadResponse('its length is ambiguous')
      next = 'size'
      left = digits = overhead = 0
      trailers = ''
    } else if (length !== undefined) {
      if (!/^\d{1,15}$/.test(length)) throw new BadResponse('its length is not a number')
      sized(Number(length))
    } else {
      keepAlive = false
      next = 'until_close'
    }
  }

  function sized(bytes: number): void {
    next = 'sized'
    left = bytes
  }

  function readBody(bytes: Buffer, from: number): void {
    if (next === 'sized') {
      const to = Math.min(from + left, bytes.length)
      left -= to - from
      if (to > from) listener.data(from === 0 && to === bytes.length ? bytes : bytes.subarray(from, to))
      if (left === 0) finish(to === bytes.length)
    } else if (next === 'until_close') {
      if (from < bytes.length) listener.data(bytes.subarray(from))
    } else if (next === 'nothing') {
      if (from < bytes.length) throw new BadResponse('something came that nobody asked for')
    } else {
      readChunks(bytes, from)
    }
  }

  // The data of all chunks that arrived together is compacted and passed on as one piece.
  function readChunks(bytes: Buffer, from: number): void {
    let at = from
    let out = from
    let done = false
    while (at < bytes.length && !done) {
      if (next === 'chunk') {
        const to = Math.min(at + left, bytes.length)
        if (out !== at) bytes.copyWithin(out, at, to)
        out += to - at
        left -= to - at
        at = to
        if (left === 0) next = 'chunk_cr'
      } else {
        done = readFraming(bytes[at] as number)
        at += 1
      }
    }
    if (out > from) listener.data(bytes.subarray(from, out))
    if (done) finish(at === bytes.length)
  }

  // One byte between the data of chunks. True: it was the last of the response.
  function readFraming(byte: number): boolean {
    switch (next) {
      case 'size':
        readSize(byte)
        return false
      case 'extension':
        count()
        demand(byte !== LF)
        if (byte === CR) next = 'size_lf'
        return false
      case 'size_lf':
        demand(byte === LF)
        next = left === 0 ? 'trailer' : 'chunk'
        return false
      case 'chunk_cr':
        demand(byte === CR)
        next = 'chunk_lf'
        return false
      case 'chunk_lf':
        demand(byte === LF)
        next = 'size'
        digits = overhead = 0
        return false
      case 'trailer':
        count()
        next = byte === CR ? 'last_lf' : 'trailer_line'
        if (byte !== CR) trailers += String.fromCharCode(byte)
        return false
      case 'trailer_line':
        count()
        if (byte === LF) next = 'trailer'
        trailers += String.fromCharCode(byte)
        return false
      case 'last_lf':
        demand(byte === LF)
        // Trailers are ignored, but something that is not a trailer may be something else.
        parseHeaders(trailers)
        return true
      default:
        throw new BadResponse('its chunks are malformed')
    }
  }

  function readSize(byte: number): void {
    const digit = hexDigit(byte)
    if (digit >= 0) {
      digits += 1
      left = digits === 1 ? digit : left * 16 + digit
      demand(digits <= SIZE_DIGITS_MAX)
      return
    }
    demand(digits > 0)
    if (byte === CR) next = 'size_lf'
    else if (byte === SEMICOLON || byte === SPACE || byte === TAB) next = 'extension'
    else demand(false)
  }

  function count(): void {
    overhead += 1
    if (overhead > headBytesMax) throw new BadResponse('its trailers are too large')
  }

  function finish(clean: boolean): void {
    next = 'nothing'
    listener.end(keepAlive && clean)
  }

  return Object.freeze({
    expect() {
      next = 'head'
      interim = 0
      mayStay = true
    },
    read,
    ended() {
      if (next === 'until_close') finish(true)
      return next === 'nothing'
    },
  })
}

const INTERIM_MAX = 8
const SIZE_DIGITS_MAX = 8
const LF = 0x0a
const CR = 0x0d
const TAB = 0x09
const SPACE = 0x20
const SEMICOLON = 0x3b

type Head = { readonly status: number; readonly version: string; readonly headers: ResponseHeaders }

// The text ends with the last header's line end.
function parseHead(text: string): Head {
  const line = /^HTTP\/(1\.[01]) ([1-9]\d\d)(?: [^\r\n]*)?\r\n/.exec(text)
  if (line === null) throw new BadResponse('it is not HTTP')
  return { status: Number(line[2]), version: line[1] as string, headers: parseHeaders(text.slice(line[0].length)) }
}

function parseHeaders(text: string): ResponseHeaders {
  if (/\0|\r(?!\n)|(?:^|[^\r])\n/.test(text)) throw new BadResponse('a header holds an odd control character')
  const headers = new Map<string, string>()
  for (let from = 0; from < text.length; ) {
    const to = text.indexOf('\r\n', from)
    const colon = text.indexOf(':', from)
    const name = colon < to ? text.slice(from, Math.max(from, colon)).toLowerCase() : ''
    if (!TOKEN.test(name)) throw new BadResponse('a header has no proper name')
    const value = text.slice(colon + 1, to).trim()
    const before = headers.get(name)
    if (before === undefined) headers.set(name, value)
    else if (name === 'connection') headers.set(name, `${before}, ${value}`)
    else if (name === 'content-length' || name === 'transfer-encoding') throw new BadResponse('its length is ambiguous')
    from = to + 2
  }
  return headers
}

function isClosing(headers: ResponseHeaders): boolean {
  const connection = headers.get('connection')
  return connection !== undefined && /\bclose\b/i.test(connection)
}

const TOKEN = /^[!#$%&'*+\-.^_`|~0-9a-z]+$/

function hexDigit(byte: number): number {
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30
  const letter = byte | 0x20
  return letter >= 0x61 && letter <= 0x66 ? letter - 0x57 : -1
}

function demand(holds: boolean): void {
  if (!holds) throw new BadResponse('its chunks are malformed')
}
