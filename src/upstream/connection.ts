// One connection to an upstream and the exchange that is under way on it: their state, and when their timeouts are due.
import type { HttpClientRequest, ResponseHandler, ResponseHeaders } from './http-client.ts'

// What carries requests and responses: a socket with an HTTP parser. It never reports anything before it has been returned.
export type Transport = {
  isDestroyed(): boolean
  // Whether all that was sent has been handed to the kernel.
  isDrained(): boolean
  send(request: HttpClientRequest): void
  pause(): void
  resume(): void
  destroy(error?: Error): void
}

export type OpenTransport = (events: TransportEvents) => Transport

export type TransportEvents = {
  // A request may be sent.
  ready(): void
  // Bytes have arrived; called before they are parsed.
  arrived(): void
  head(status: number, headers: ResponseHeaders): void
  // The bytes are valid during the call only.
  data(bytes: Buffer): void
  // The response is complete. `reusable`: the connection may carry another request.
  end(reusable: boolean): void
  // The response cannot be read to its end; undefined: the upstream closed the connection. The transport destroys itself.
  failed(error: Error | undefined): void
  // Called once, last.
  closed(error: Error | undefined): void
}

export type Exchange = {
  readonly request: HttpClientRequest
  readonly handler: ResponseHandler
  readonly startedMs: number
  sentMs: number
  // When bytes last arrived; undefined until the response's head is complete.
  heardMs: number | undefined
  // Whether anything arrived for it, even half a head.
  answered: boolean
  connection: Connection | undefined
  paused: boolean
  over: boolean
}

// Serves one exchange at a time and is idle between them.
export type Connection = {
  readonly transport: Transport
  exchange: Exchange | undefined
  ready: boolean
  // How many responses it carried to their end.
  answers: number
  // The account of its last request.
  accountId: string
  idleSinceMs: number
  // The turn of the event loop by which everything that followed its last response has been read.
  readFromTurn: number
  idleMs: number
  timer: NodeJS.Timeout | undefined
  timerMs: number
  // While it is idle: those that became idle before and after it.
  older: Connection | undefined
  newer: Connection | undefined
}

// When the next of its timeouts is due. Silence that we caused by pausing is not counted.
export function dueMs({ exchange, idleSinceMs, idleMs }: Connection, silenceMs: number): number {
  if (exchange === undefined) return idleSinceMs + idleMs
  const total = exchange.startedMs + exchange.request.totalMs
  if (exchange.paused || exchange.request.silence?.expected) return total
  const silence =
    exchange.heardMs === undefined ? exchange.sentMs + exchange.request.firstByteMs : exchange.heardMs + silenceMs
  return Math.min(total, silence)
}

// Which timeout has passed, for the log.
export function timeoutMessage({ request, startedMs, sentMs, heardMs }: Exchange, now: number): string {
  if (now - startedMs >= request.totalMs) return `incomplete after ${Math.round(request.totalMs)} ms`
  return heardMs === undefined
    ? `no response after ${Math.round(now - sentMs)} ms`
    : `no data for ${Math.round(now - heardMs)} ms`
}

// A connection is closed a little before the upstream would close it.
export function keepAliveMs(headers: ResponseHeaders): number {
  const seconds = /\btimeout=(\d{1,6})/.exec(headers.get('keep-alive') ?? '')?.[1]
  return seconds === undefined ? Number.POSITIVE_INFINITY : Number(seconds) * 1000 - 1000
}
