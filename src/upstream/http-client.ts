// The HTTP client that adapters use to call a provider: a POST of one text to one origin (the check for updates sends a GET). Two
// clients implement it: our own (http1/) and undici (undici/). Both are bounded in time and size, never follow a redirect, accept no encoding, and report
// every problem as a Failure.
import type { Timeouts } from '../domain/catalog.ts'
import type { Failure } from '../domain/failure.ts'
import type { Clock } from '../lib/clock.ts'
import type { ConnectionLimit } from './connection-limit.ts'

export type HttpClient = {
  send(request: HttpClientRequest, handler: ResponseHandler): ResponseStream
  // Requests under way continue to their end; idle connections are closed, and no more are kept.
  retire(): void
  close(): Promise<void>
}

export type HttpClientOptions = {
  // Scheme, host and port.
  readonly url: URL
  // Connect to addresses on the public internet and to no others.
  readonly publicOnly?: boolean | undefined
  // Sent with every request, in addition to Host and what the length needs.
  readonly headers: Readonly<Record<string, string>>
  readonly timeouts: Timeouts
  readonly connectionsMax: number
  // Shared with all other upstreams.
  readonly limit: ConnectionLimit
  readonly clock: Clock
  // Receives unexpected errors, which must not end the process.
  readonly onBug: (error: unknown) => void
}

export type HttpClientRequest = {
  readonly requestId: string
  // The account that the request is sent for.
  readonly accountId: string
  // Path and query, as they are sent.
  readonly path: string
  // Header lines of this request, as `headerLines` makes them; they follow those of every request.
  readonly head: string
  // Cleared by the client when it has been written, so a request can be sent once: it may be megabytes, and a stream may take a
  // quarter of an hour.
  body: string
  readonly firstByteMs: number
  readonly totalMs: number
  readonly silence?: Silence | undefined
  // Called when the request is written to a connection.
  onSent(): void
}

// While silence is expected, only the total timeout applies. The reader of the answer clears the flag with the first content.
export type Silence = { expected: boolean }

export type ResponseHandler = {
  start(status: number, headers: ResponseHeaders): void
  // The bytes are valid during the call only.
  data(chunk: Buffer): void
  // Called once, last; never after `abort`.
  end(failure: Failure | undefined): void
}

// Names in lower case; of a repeated one the first counts.
export type ResponseHeaders = ReadonlyMap<string, string>

export type ResponseStream = { pause(): void; resume(): void; abort(): void }

// Whatever its source, a header stays one line.
export function headerLines(headers: Readonly<Record<string, string>>): string {
  return Object.entries(headers)
    .map(([name, value]) => {
      if (/[^!#$%&'*+.^_`|~0-9A-Za-z-]/.test(name) || /[^\t\x20-\x7e]/.test(value))
        throw new Error(`the header ${name.slice(0, 64)} holds an odd character`)
      return `${name}: ${value}\r\n`
    })
    .join('')
}

export function withTrace(head: string, { traceparent }: { readonly traceparent?: string | undefined }): string {
  return traceparent === undefined ? head : head + headerLines({ traceparent })
}
