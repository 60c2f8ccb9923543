// A `fetch` for packages that need one: POST of a text over our own client, with its timeouts and bounds, backpressure and
// Failures. Only a 200 becomes a Response; everything else is a Failure before the package sees it. See
// docs/decisions/provider-protocols.md.
import { Failure } from '../domain/failure.ts'
import {
  type HttpClient,
  type HttpClientRequest,
  headerLines,
  type ResponseHandler,
  type ResponseHeaders,
  type ResponseStream,
} from './http-client.ts'
import type { UpstreamError } from './openai/error.ts'
import { type AnswerBounds, answerGuard, type Guard, shapeGuard } from './response-guard.ts'
import { type ErrorBody, errorBody, unlikeAnswer } from './response-head.ts'
import type { AnswerReservation } from './response-memory.ts'

export type FetchFunction = (input: string | URL | Request, init?: RequestInit) => Promise<Response>

export type FetchSetup = Pick<
  HttpClientRequest,
  'requestId' | 'accountId' | 'firstByteMs' | 'totalMs' | 'silence' | 'onSent'
> & {
  // The only host that may be called.
  readonly origin: string
  // Overrides the package's headers; an empty value removes one.
  readonly headers: Readonly<Record<string, string>>
  // Whether anything other than a stream is an invalid response.
  readonly stream: boolean
  readonly bounds: AnswerBounds
  // Memory for a whole answer, which is counted from 64 KiB on. `resume` is called when memory was granted.
  readonly reserveMemory?: (resume: () => void) => AnswerReservation
  // The Failure for a status other than 200.
  readonly failure: (error: UpstreamError) => Failure
}

// The maximum of unread data in memory.
const WAITING_BYTES = 65_536

export function upstreamFetch(client: HttpClient, setup: FetchSetup): FetchFunction {
  return (input, init = {}) =>
    new Promise((resolve, reject) => {
      const url = new URL(input instanceof Request ? input.url : input)
      const { body, signal } = init
      if (url.origin !== setup.origin) throw new Failure('refused', 'a request to a host other than the configured one')
      if (typeof body !== 'string') throw new TypeError('only a string body can be sent')
      signal?.throwIfAborted()

      let response: ResponseStream | undefined
      const stop = () => response?.abort()
      const answer = answerOf(setup, {
        resolve,
        reject,
        stop,
        resume: () => response?.resume(),
        pause: () => response?.pause(),
      })
      response = client.send(
        {
          requestId: setup.requestId,
          accountId: setup.accountId,
          path: `${url.pathname}${url.search}`,
          head: headerLines(headersOf(init.headers, setup.headers)),
          body,
          firstByteMs: setup.firstByteMs,
          totalMs: setup.totalMs,
          silence: setup.silence,
          onSent: setup.onSent,
        },
        answer,
      )
      signal?.addEventListener('abort', () => answer.fail(signal.reason), { once: true })
    })
}

// Written by the client itself, or not sent.
const OURS = new Set(['connection', 'content-length', 'host', 'transfer-encoding', 'user-agent', 'accept-encoding'])

function headersOf(given: RequestInit['headers'], ours: FetchSetup['headers']): Record<string, string> {
  const headers: Record<string, string> = {}
  for (const [name, value] of new Headers(given)) if (!OURS.has(name)) headers[name] = value
  for (const [name, value] of Object.entries(ours)) {
    if (value === '') delete headers[name]
    else headers[name] = value
  }
  return headers
}

type Ends = {
  resolve(response: Response): void
  reject(reason: unknown): void
  stop(): void
  pause(): void
  resume(): void
}

// From the upstream's first byte to the last: a Response whose body is read at its reader's pace, or a rejection.
function answerOf(setup: FetchSetup, ends: Ends): ResponseHandler & { fail(reason: unknown): void } {
  let refused: ErrorBody | undefined
  let body: Body | undefined
  let guard: Guard | undefined
  let shape: Guard | undefined
  let bytes = 0
  let over = false
  let reservation: AnswerReservation | undefined

  // Without memory for it, an answer is not read further, whatever the reader requests.
  const resume = () => {
    if (reservation?.isWaiting() !== true) ends.resume()
  }

  function count(arrived: number): void {
    if (setup.stream || setup.reserveMemory === undefined || bytes <= WAITING_BYTES) return
    const wanted = reservation === undefined ? bytes : arrived
    reservation ??= setup.reserveMemory(ends.resume)
    if (!reservation.take(wanted)) ends.pause()
  }

  const fail = (reason: unknown) => {
    if (over) return
    over = true
    ends.stop()
    if (body === undefined) ends.reject(reason)
    else body.end({ reason })
  }

  return {
    fail,
    start(status, headers) {
      refused = errorBody(status, headers)
      if (refused !== undefined) return
      const failure = unlikeAnswer(headers, setup.stream ? STREAMS : undefined)
      if (failure !== undefined) return fail(failure)
      const type = headers.get('content-type') ?? ''
      guard = answerGuard(type, setup.bounds)
      shape = shapeGuard(type)
      body = bodyOf({ ...ends, resume })
      ends.resolve(new Response(body.stream, { status, headers: shownHeaders(headers) }))
    },
    data(chunk) {
      if (over) return
      if (refused !== undefined) {
        if (!refused.take(chunk)) fail(setup.failure(refused.whole()))
        return
      }
      bytes += chunk.length
      const excess = guard?.(chunk)
      // Of a stream, what came before was passed on and counted.
      const producedBytes = setup.stream ? Math.min(bytes, setup.bounds.sseEventBytesMax) : bytes
      if (excess !== undefined) return fail(new Failure('too_large', excess, { producedBytes }))
      const problem = shape?.(chunk)
      if (problem !== undefined)
        return fail(new Failure('invalid_response', `the response is ${problem}`, { status: 200 }))
      // The bytes are only valid during the call: copy them.
      body?.push(new Uint8Array(chunk))
      count(chunk.length)
    },
    end(failure) {
      if (over) return
      if (refused !== undefined) return fail(setup.failure(refused.whole()))
      // The gateway stopped reading. What was read had been produced.
      if (failure?.kind === 'timeout' && reservation?.isWaiting() === true)
        return fail(new Failure('cancelled', 'no memory for the response in time', { producedBytes: bytes }))
      if (failure !== undefined) return fail(failure)
      reservation?.complete()
      over = true
      body?.end(undefined)
    },
  }
}

const STREAMS = /^(?:text\/event-stream|application\/vnd\.amazon\.eventstream)\b/i

function shownHeaders(headers: ResponseHeaders): Headers {
  const shown = new Headers()
  // A value that no header may contain is left out.
  for (const [name, value] of headers) if (/^[\t\x20-\x7e]*$/.test(value)) shown.set(name, value)
  return shown
}

type Body = {
  readonly stream: ReadableStream<Uint8Array>
  push(piece: Uint8Array): void
  end(problem: { readonly reason: unknown } | undefined): void
}

// Data received before an error is read before the error is reported, and the buffer is small.
function bodyOf({ pause, resume, stop }: Ends): Body {
  const waiting: Uint8Array[] = []
  let bytes = 0
  let ended: { readonly problem: { readonly reason: unknown } | undefined } | undefined
  let wake = () => {}

  async function pull(controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> {
    while (waiting.length === 0 && ended === undefined) {
      resume()
      await new Promise<void>(resolve => {
        wake = resolve
      })
    }
    const piece = waiting.shift()
    if (piece !== undefined) {
      bytes -= piece.byteLength
      controller.enqueue(piece)
    } else if (ended?.problem === undefined) controller.close()
    else controller.error(ended.problem.reason)
  }

  return {
    stream: new ReadableStream<Uint8Array>({ pull, cancel: stop }, { highWaterMark: 0 }),
    push(piece) {
      waiting.push(piece)
      bytes += piece.byteLength
      if (bytes >= WAITING_BYTES) pause()
      wake()
    },
    end(problem) {
      ended = { problem }
      wake()
    },
  }
}
