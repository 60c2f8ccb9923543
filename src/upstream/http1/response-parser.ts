// Parses HTTP/1.1 responses off one connection, one after the other, however they are cut. It is strict: a connection is
// shared by tenants, so whatever could be read in two ways is refused, and nothing is ever read past a response's end.
import { BadResponse } from '../connection-failure.ts'
import type { ResponseHeaders } from '../http-client.ts'

export type ResponseListener = {
  head(status: number, headers: ResponseHeaders): void
  // The bytes are valid during the call only: the next read overwrites them.
  data(bytes: Buffer): void
  // The response is complete. `reusable`: the connection may carry another request.
  end(reusable: boolean): void
}

export type ResponseParser = {
  // A request has been sent, so a response may come.
  expect(): void
  // Parses what has arrived, and may move it about in place. Throws BadResponse.
  read(bytes: Buffer): void
  // The connection has ended: true if that was the end of a response, false if it cut one off.
  ended(): boolean
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

type State = {
  readonly listener: ResponseListener
  readonly headBytesMax: number
  next: Next
  kept: Buffer | undefined // the beginning of a head whose end has not come
  mayStay: boolean // no interim head said that the connection closes
  keepAlive: boolean
  interim: number // how many 1xx heads came
  left: number
  digits: number
  overhead: number // bytes of a chunk's extension, or of the trailers
  trailers: string
}

export function responseParser(listener: ResponseListener, limits: { readonly headBytesMax: number }): ResponseParser {
  const state: State = {
    listener,
    headBytesMax: limits.headBytesMax,
    next: 'nothing',
    kept: undefined,
    mayStay: true,
    keepAlive: false,
    interim: 0,
    left: 0,
    digits: 0,
    overhead: 0,
    trailers: '',
  }
  return Object.freeze({
    expect() {
      state.next = 'head'
      state.interim = 0
      state.mayStay = true
    },
    read(bytes: Buffer) {
      if (state.next === 'head') readHead(state, bytes)
      else readBody(state, bytes, 0)
    },
    ended() {
      if (state.next === 'until_close') finish(state, true)
      return state.next === 'nothing'
    },
  })
}

function readHead(state: State, arrived: Buffer): void {
  const bytes = state.kept === undefined ? arrived : Buffer.concat([state.kept, arrived])
  const end = bytes.indexOf('\r\n\r\n', state.kept === undefined ? 0 : Math.max(0, state.kept.length - 3))
  if (end > state.headBytesMax || (end < 0 && bytes.length > state.headBytesMax))
    throw new BadResponse('its head is too large')
  if (end < 0) {
    // Another protocol may never send a blank line.
    if (!'HTTP/1.'.startsWith(bytes.toString('latin1', 0, 7))) throw new BadResponse('it is not HTTP/1')
    state.kept = state.kept === undefined ? Buffer.from(bytes) : bytes
    return
  }
  state.kept = undefined
  const { status, version, headers } = parseHead(bytes.toString('latin1', 0, end + 2))
  if (status < 200) {
    state.interim += 1
    if (isClosing(headers)) state.mayStay = false
    if (status === 101 || state.interim > INTERIM_MAX) throw new BadResponse(`an unexpected status ${status}`)
    if (end + 4 < bytes.length) readHead(state, bytes.subarray(end + 4))
    return
  }
  frame(state, status, version, headers)
  state.listener.head(status, headers)
  readBody(state, bytes, end + 4)
}

function frame(state: State, status: number, version: string, headers: ResponseHeaders): void {
  const encoding = headers.get('transfer-encoding')
  const length = headers.get('content-length')
  state.keepAlive = state.mayStay && version === '1.1' && !isClosing(headers)
  if (status === 204 || status === 304) {
    // They have no body; where one is announced, it may come all the same.
    if (encoding !== undefined || (length !== undefined && length !== '0')) state.keepAlive = false
    sized(state, 0)
  } else if (encoding !== undefined) {
    if (length !== undefined || !/^chunked$/i.test(encoding)) throw new BadResponse('its length is ambiguous')
    state.next = 'size'
    state.left = state.digits = state.overhead = 0
    state.trailers = ''
  } else if (length !== undefined) {
    if (!/^\d{1,15}$/.test(length)) throw new BadResponse('its length is not a number')
    sized(state, Number(length))
  } else {
    state.keepAlive = false
    state.next = 'until_close'
  }
}

function sized(state: State, bytes: number): void {
  state.next = 'sized'
  state.left = bytes
}

function readBody(state: State, bytes: Buffer, from: number): void {
  if (state.next === 'sized') {
    const to = Math.min(from + state.left, bytes.length)
    state.left -= to - from
    if (to > from) state.listener.data(from === 0 && to === bytes.length ? bytes : bytes.subarray(from, to))
    if (state.left === 0) finish(state, to === bytes.length)
  } else if (state.next === 'until_close') {
    if (from < bytes.length) state.listener.data(bytes.subarray(from))
  } else if (state.next === 'nothing') {
    if (from < bytes.length) throw new BadResponse('unsolicited data')
  } else {
    readChunks(state, bytes, from)
  }
}

// The data of all chunks that arrived together is moved together, and handed on as one piece: also what came before malformed
// framing, as if it had arrived earlier.
function readChunks(state: State, bytes: Buffer, from: number): void {
  let at = from
  let out = from
  let done = false
  try {
    while (at < bytes.length && !done) {
      if (state.next === 'chunk') {
        const to = Math.min(at + state.left, bytes.length)
        if (out !== at) bytes.copyWithin(out, at, to)
        out += to - at
        state.left -= to - at
        at = to
        if (state.left === 0) state.next = 'chunk_cr'
      } else {
        done = readFraming(state, bytes[at] as number)
        at += 1
      }
    }
  } finally {
    if (out > from) state.listener.data(bytes.subarray(from, out))
  }
  if (done) finish(state, at === bytes.length)
}

// One byte between the data of chunks. True: it was the last of the response.
function readFraming(state: State, byte: number): boolean {
  switch (state.next) {
    case 'size':
      readSize(state, byte)
      return false
    case 'extension':
      count(state)
      demand(byte !== LF)
      if (byte === CR) state.next = 'size_lf'
      return false
    case 'size_lf':
      demand(byte === LF)
      state.next = state.left === 0 ? 'trailer' : 'chunk'
      return false
    case 'chunk_cr':
      demand(byte === CR)
      state.next = 'chunk_lf'
      return false
    case 'chunk_lf':
      demand(byte === LF)
      state.next = 'size'
      state.digits = state.overhead = 0
      return false
    case 'trailer':
      count(state)
      state.next = byte === CR ? 'last_lf' : 'trailer_line'
      if (byte !== CR) state.trailers += String.fromCharCode(byte)
      return false
    case 'trailer_line':
      count(state)
      if (byte === LF) state.next = 'trailer'
      state.trailers += String.fromCharCode(byte)
      return false
    case 'last_lf':
      demand(byte === LF)
      // Nobody wants them, but what is no trailer may be something else.
      parseHeaders(state.trailers)
      return true
    default:
      throw new BadResponse('its chunks are malformed')
  }
}

function readSize(state: State, byte: number): void {
  const digit = hexDigit(byte)
  if (digit >= 0) {
    state.digits += 1
    state.left = state.digits === 1 ? digit : state.left * 16 + digit
    demand(state.digits <= SIZE_DIGITS_MAX)
    return
  }
  demand(state.digits > 0)
  if (byte === CR) state.next = 'size_lf'
  else if (byte === SEMICOLON || byte === SPACE || byte === TAB) state.next = 'extension'
  else demand(false)
}

function count(state: State): void {
  state.overhead += 1
  if (state.overhead > state.headBytesMax) throw new BadResponse('its trailers are too large')
}

function finish(state: State, clean: boolean): void {
  state.next = 'nothing'
  state.listener.end(state.keepAlive && clean)
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
  if (/\0|\r(?!\n)|(?:^|[^\r])\n/.test(text)) throw new BadResponse('a header contains a control character')
  const headers = new Map<string, string>()
  for (let from = 0; from < text.length; ) {
    const to = text.indexOf('\r\n', from)
    const colon = text.indexOf(':', from)
    const name = colon < to ? text.slice(from, Math.max(from, colon)).toLowerCase() : ''
    if (!TOKEN.test(name)) throw new BadResponse('a header has an invalid name')
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
