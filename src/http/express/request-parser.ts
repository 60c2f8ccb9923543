// Reads a request that is complete and plain: head and body have arrived with nothing after them, and nothing in it is ambiguous.
// It is not an HTTP parser: for everything else it only reports that it is something else.
import type { IncomingHttpHeaders } from 'node:http'

export type WholeRequest = {
  readonly method: string
  readonly url: string
  readonly httpVersion: '1.1'
  // Names in lower case; no name occurs twice.
  readonly headers: IncomingHttpHeaders
  // Whether the caller wants the connection to end with the answer.
  readonly closes: boolean
  readonly body: Buffer
}

export type HeadBounds = { readonly headersMax: number; readonly headerBytesMax: number }
// For head and body together: a longer request is something else from the start.
export type ReaderBounds = HeadBounds & { readonly bytesMax: number }

// Returns a request of this method and one of these paths, its length in bytes if only the end of its body is missing, `other` for all else.
export type RequestReader = (bytes: Buffer) => WholeRequest | number | 'other'

export function requestReader(method: string, paths: readonly string[], bounds: ReaderBounds): RequestReader {
  const { headersMax, headerBytesMax, bytesMax } = bounds
  const readUrl = urlReader(method, paths)

  return bytes => {
    const end = bytes.indexOf('\r\n\r\n')
    if (end < 0 || end > headerBytesMax) return 'other'
    const head = bytes.toString('latin1', 0, end + 2)
    const url = readUrl(head)
    if (url === undefined) return 'other'
    const headers = readFields(head, method.length + url.length + LINE_REST_CHARS, headersMax)
    if (headers === undefined || !isPlain(headers)) return 'other'
    const length = end + 4 + Number(headers['content-length'])
    if (length !== bytes.length) return length > bytes.length && length <= bytesMax ? length : 'other'
    const closes = headers.connection !== undefined && isWord(headers.connection, 'close')
    return { method, url, httpVersion: '1.1', headers, closes, body: bytes.subarray(end + 4) }
  }
}

const LINE_END = ' HTTP/1.1\r\n'
// Of the first line besides method and URL.
const LINE_REST_CHARS = 1 + LINE_END.length

// The URL of a request line, if it is one of the paths, with or without a query.
function urlReader(method: string, paths: readonly string[]): (head: string) => string | undefined {
  const lines = paths.map(path => ({ path, plain: `${method} ${path}${LINE_END}`, queried: `${method} ${path}?` }))
  return head => {
    for (const { path, plain, queried } of lines) {
      if (head.startsWith(plain)) return path
      if (!head.startsWith(queried)) continue
      const end = head.indexOf('\r\n')
      const url = head.slice(method.length + 1, end + 2 - LINE_END.length)
      return head.startsWith(LINE_END, end + 2 - LINE_END.length) && QUERIED.test(url) ? url : undefined
    }
    return undefined
  }
}

// Visible ASCII without a fragment.
const QUERIED = /^[!-"$-~]+$/

// A field's name is a token, its value visible ASCII with blanks. Every character has only one interpretation, so this takes
// linear time.
const FIELDS = /^(?:[!#$%&'*+.^_`|~0-9A-Za-z-]+:[\t\x20-\x7e]*\r\n)+$/

function readFields(head: string, from: number, headersMax: number): IncomingHttpHeaders | undefined {
  if (!FIELDS.test(head.slice(from))) return undefined
  const fields: Record<string, string> = Object.create(null)
  let count = 0
  for (let at = from; at < head.length; ) {
    const colon = head.indexOf(':', at)
    const end = head.indexOf('\r\n', colon)
    const name = head.slice(at, colon).toLowerCase()
    if (fields[name] !== undefined || ++count > headersMax) return undefined
    fields[name] = head.slice(colon + 1, end).trim()
    at = end + 2
  }
  return fields
}

// Headers that make a connection something other than one request and one answer after another, or leave the length open.
function isPlain(headers: IncomingHttpHeaders): boolean {
  if (headers.host === undefined || !/^\d{1,9}$/.test(headers['content-length'] ?? '')) return false
  const { connection } = headers
  if (connection !== undefined && !isWord(connection, 'keep-alive') && !isWord(connection, 'close')) return false
  return (
    headers['transfer-encoding'] === undefined &&
    headers.expect === undefined &&
    headers.upgrade === undefined &&
    headers.trailer === undefined &&
    headers['proxy-connection'] === undefined
  )
}

function isWord(value: string, word: string): boolean {
  return value === word || value.toLowerCase() === word
}
