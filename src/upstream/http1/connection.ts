// One connection to an upstream with the exchange in progress on it: the state of both, and their timeouts.
import type { Socket } from 'node:net'
import type { Failure } from '../../domain/failure.ts'
import type { ResponseHeaders, ResponseReader } from './response-parser.ts'

export type OutwardRequest = {
  readonly requestId: string
  // The account that it is sent for.
  readonly accountId: string
  // Path and query, as sent.
  readonly path: string
  // Header lines of this request, from `headerLines`; they follow those of every request.
  readonly head: string
  readonly body: string
  readonly firstByteMs: number
  readonly totalMs: number
  readonly silence?: Silence | undefined
  // The request is being sent.
  onSent(): void
}

// While silence is expected, only the total time bounds it. The reader of the answer reports the first content.
export type Silence = { expected: boolean }

export type OutwardHandler = {
  start(status: number, headers: ResponseHeaders): void
  // The bytes are only valid during the call.
  data(chunk: Buffer): void
  // Once, last; never after `abort`.
  end(failure: Failure | undefined): void
}

export type Exchange = {
  readonly request: Omit<OutwardRequest, 'body'>
  // Kept until it has been written; it may be megabytes, and a stream may take a quarter of an hour.
  body: string
  readonly handler: OutwardHandler
  readonly startedMs: number
  sentMs: number
  // The last sign of the upstream; undefined until its head is complete.
  heardMs: number | undefined
  // Whether anything was received for it, even half a head.
  answered: boolean
  line: Line | undefined
  paused: boolean
  over: boolean
}

// One connection. It serves one exchange at a time and is idle in between.
export type Line = {
  readonly socket: Socket
  readonly reader: ResponseReader
  exchange: Exchange | undefined
  ready: boolean
  // The number of completed responses.
  answers: number
  // The account of its last request.
  accountId: string
  idleSinceMs: number
  // The turn of the event loop from which on everything sent after its last response has been read.
  readFromTurn: number
  // Bytes read since others had their turn.
  burstBytes: number
  idleMs: number
  timer: NodeJS.Timeout | undefined
  timerMs: number
}

// When its next timeout is due. Silence while paused is not counted.
export function dueMs({ exchange, idleSinceMs, idleMs }: Line, silenceMs: number): number {
  if (exchange === undefined) return idleSinceMs + idleMs
  const total = exchange.startedMs + exchange.request.totalMs
  if (exchange.paused || exchange.request.silence?.expected) return total
  const silence =
    exchange.heardMs === undefined ? exchange.sentMs + exchange.request.firstByteMs : exchange.heardMs + silenceMs
  return Math.min(total, silence)
}

// The reason for the timeout, for the log.
export function tooLate({ request, startedMs, sentMs, heardMs }: Exchange, now: number): string {
  if (now - startedMs >= request.totalMs) return `no end after ${Math.round(request.totalMs)} ms`
  return heardMs === undefined
    ? `no answer after ${Math.round(now - sentMs)} ms`
    : `nothing more for ${Math.round(now - heardMs)} ms`
}

// A connection is closed a little before the upstream would close it.
export function keepAliveMs(headers: ResponseHeaders): number {
  const seconds = /\btimeout=(\d{1,6})/.exec(headers.get('keep-alive') ?? '')?.[1]
  return seconds === undefined ? Number.POSITIVE_INFINITY : Number(seconds) * 1000 - 1000
}
