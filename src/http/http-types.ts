// What /v1 needs of a request and a response: Node's own, or those of the express path.
import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import type { WholeRequest } from './express/request-parser.ts'

export type HttpRequest = IncomingMessage | ExpressRequest

// Its body is kept until it is taken.
export type ExpressRequest = Omit<WholeRequest, 'body'> & {
  body: Buffer
  readonly socket: Socket
  readonly complete: true
}

export type HttpResponse = {
  readonly req: HttpRequest
  readonly headersSent: boolean
  readonly writableEnded: boolean
  readonly writableFinished: boolean
  readonly writableLength: number
  readonly destroyed: boolean
  // Whether written data has to be framed: true once the head is written without a length.
  chunkedEncoding: boolean
  writeHead(status: number, headers: string[]): unknown
  writeContinue(): void
  flushHeaders(): void
  write(piece: string | Uint8Array): boolean
  end(text?: string): unknown
  destroy(): unknown
  once(event: 'close' | 'drain', listener: () => void): unknown
}

// All values of a header.
export function headerValues(req: HttpRequest, name: string): readonly string[] {
  const value = req.headers[name]
  if (value === undefined) return NONE
  return 'rawHeaders' in req ? rawValues(req.rawHeaders, name) : [value as string]
}
const NONE: readonly string[] = []

// Node's `headers` keep only the first value of some.
function rawValues(rawHeaders: readonly string[], name: string): readonly string[] {
  const values: string[] = []
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const candidate = rawHeaders[i] as string
    if (candidate.length === name.length && candidate.toLowerCase() === name) values.push(rawHeaders[i + 1] as string)
  }
  return values
}
