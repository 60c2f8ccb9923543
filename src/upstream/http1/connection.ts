// One connection to an upstream, and the request and response that are under way on it: what is known of both, and when
// their patience ends.
import type { Socket } from 'node:net'
import type { Failure } from '../../domain/failure.ts'
import type { ResponseHeaders, ResponseReader } from './response-parser.ts'

export type OutwardRequest = {
  readonly requestId: string
  // For whom it is sent.
  readonly accountId: string
  // Path and query, as they are to be sent.
  readonly path: string
  // Header lines of this request, as `headerLines` makes them; they come after those of every request.
  readonly head: string
  readonly body: string
  readonly firstByteMs: number
  readonly totalMs: number
  readonly silence?: Silence | undefined
  // The request leaves.
  onSent(): void
}

// As long as it is expected, only the total time bounds it. Whoever reads the answer says when content has come.
export type Silence = { expected: boolean }

export type OutwardHandler = {
  start(status: number, headers: ResponseHeaders): void
  // The bytes are lent for the call only.
  data(chunk: Buffer): void
  // Once, last; never after `abort`.
  end(failure: Failure | undefined): void
}

export type Exchange = {
  readonly request: Omit<OutwardRequest, 'body'>
  // Until it has been written; it may be megabytes, and a stream may take a quarter of an hour.
  body: string
  readonly handler: OutwardHandler
  readonly startedMs: number
  sentMs: number
  // The last sign of the upstream; undefined until its head is complete.
  heardMs: number | undefined
  // Whether anything came for it, if only half a head.
  answered: boolean
  line: Line | undefined
  paused: boolean
  over: boolean
}

// One connection. It serves one exchange at a time and waits between them.
export type Line = {
  readonly socket: Socket
  readonly reader: ResponseReader
  exchange: Exchange | undefined
  ready: boolean
  // How many responses it carried to their end.
  answers: number
  // Of whom its last request was.
  accountId: string
  idleSinceMs: number
  // The turn of the event loop from which on whatever came behind its last answer has been read.
  readFromTurn: number
  // Read since others had their turn.
  burstBytes: number
  idleMs: number
  timer: NodeJS.Timeout | undefined
  timerMs: number
}

// When the next of its timeouts is over. Silence that we asked for is not counted.
export function dueMs({ exchange, idleSinceMs, idleMs }: Line, silenceMs: number): number {
  if (exchange === undefined) return idleSinceMs + idleMs
  const total = exchange.startedMs + exchange.request.totalMs
  if (exchange.paused || exchange.request.silence?.expected) return total
  const silence =
    exchange.heardMs === undefined ? exchange.sentMs + exchange.request.firstByteMs : exchange.heardMs + silenceMs
  return Math.min(total, silence)
}

// Why the timer went off, for the log.
export function tooLate({ request, startedMs, sentMs, heardMs }: Exchange, now: number): string {
  if (now - startedMs >= request.totalMs) return `no end after ${Math.round(request.totalMs)} ms`
  return heardMs === undefined
    ? `no answer after ${Math.round(now - sentMs)} ms`
    : `nothing more for ${Math.round(now - heardMs)} ms`
}

// A connection is given up a little before the upstream would do so.
export function keepAliveMs(headers: ResponseHeaders): number {
  const seconds = /\btimeout=(\d{1,6})/.exec(headers.get('keep-alive') ?? '')?.[1]
  return seconds === undefined ? Number.POSITIVE_INFINITY : Number(seconds) * 1000 - 1000
}
