// Parses raw bytes as HTTP/1.1 answers, strictly, also about duplicates: what a strict peer would see.

export type HttpAnswer = {
  readonly status: number
  readonly reason: string
  readonly headers: readonly (readonly [name: string, value: string])[]
  header(name: string): string | undefined
  headerAll(name: string): string[]
  readonly body: Buffer
  readonly text: string
  readonly trailers: readonly (readonly [name: string, value: string])[]
  // False when the bytes end before the answer's framing does.
  readonly complete: boolean
}

// Pipelined and interim (1xx) answers each count as one. `methods` names the requests in order: HEAD has no body.
export function parseAnswers(bytes: Buffer, closed: boolean, methods: readonly string[] = []): HttpAnswer[] {
  const answers: HttpAnswer[] = []
  let rest = bytes
  let finals = 0
  while (rest.length > 0) {
    const parsed = parseOne(rest, closed, methods[finals] ?? 'GET')
    if (parsed === undefined) break
    answers.push(parsed.answer)
    if (parsed.answer.status >= 200) finals += 1
    rest = rest.subarray(parsed.size)
  }
  return answers
}

type Framed = { body: Buffer; trailers: [string, string][]; size: number; complete: boolean }

function parseOne(bytes: Buffer, closed: boolean, method: string): { answer: HttpAnswer; size: number } | undefined {
  const headEnd = bytes.indexOf('\r\n\r\n')
  if (headEnd < 0) return undefined
  const [statusLine = '', ...lines] = bytes.toString('latin1', 0, headEnd).split('\r\n')
  const match = /^HTTP\/1\.[01] (\d{3})(?: (.*))?$/.exec(statusLine)
  if (match === null) throw new Error(`not an HTTP status line: ${JSON.stringify(statusLine.slice(0, 200))}`)
  const status = Number(match[1])
  const headers = lines.map(splitField)
  const headerAll = (name: string) =>
    headers.filter(([key]) => key.toLowerCase() === name.toLowerCase()).map(([, v]) => v)
  const bodiless = status < 200 || status === 204 || status === 304 || method === 'HEAD'
  const framed = bodiless
    ? { body: Buffer.alloc(0), trailers: [], size: 0, complete: true }
    : readBody(bytes.subarray(headEnd + 4), headerAll, closed)
  const answer: HttpAnswer = {
    status,
    reason: match[2] ?? '',
    headers,
    header: name => headerAll(name)[0],
    headerAll,
    body: framed.body,
    text: framed.body.toString('utf8'),
    trailers: framed.trailers,
    complete: framed.complete,
  }
  return { answer, size: headEnd + 4 + framed.size }
}

function readBody(bytes: Buffer, headerAll: (name: string) => string[], closed: boolean): Framed {
  if (headerAll('transfer-encoding').some(value => value.toLowerCase() === 'chunked')) return readChunked(bytes)
  const length = headerAll('content-length')[0]
  if (length === undefined) return { body: bytes, trailers: [], size: bytes.length, complete: closed }
  const body = bytes.subarray(0, Number(length))
  return { body, trailers: [], size: body.length, complete: body.length === Number(length) }
}

function readChunked(bytes: Buffer): Framed {
  const pieces: Buffer[] = []
  const broken = () => ({ body: Buffer.concat(pieces), trailers: [], size: bytes.length, complete: false })
  let at = 0
  for (;;) {
    const lineEnd = bytes.indexOf('\r\n', at)
    if (lineEnd < 0) return broken()
    const line = bytes.toString('latin1', at, lineEnd)
    const hex = /^([0-9a-f]+)(?:;.*)?$/i.exec(line)?.[1]
    if (hex === undefined) throw new Error(`not a chunk size: ${JSON.stringify(line.slice(0, 200))}`)
    const size = Number.parseInt(hex, 16)
    at = lineEnd + 2
    if (size === 0) break
    pieces.push(bytes.subarray(at, at + size))
    if (at + size + 2 > bytes.length) return broken()
    at += size + 2
  }
  const trailers: [string, string][] = []
  for (;;) {
    const lineEnd = bytes.indexOf('\r\n', at)
    if (lineEnd < 0) return broken()
    const line = bytes.toString('latin1', at, lineEnd)
    at = lineEnd + 2
    if (line === '') return { body: Buffer.concat(pieces), trailers, size: at, complete: true }
    trailers.push(splitField(line))
  }
}

function splitField(line: string): [string, string] {
  const colon = line.indexOf(':')
  return colon < 0 ? [line, ''] : [line.slice(0, colon), line.slice(colon + 1).trim()]
}
