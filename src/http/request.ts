// Input of a request: its headers, its body within bounds, and whether the caller is still connected.
import type { Failure } from '../domain/failure.ts'
import type { Call, Client } from '../domain/handoff.ts'
import { Refusal } from '../domain/refusal.ts'
import { readTagsHeader, type Tags } from '../domain/tags.ts'
import type { RequestTrace } from '../domain/trace.ts'
import { CLIENT_REQUEST_ID_MAX } from '../domain/usage.ts'
import { byteQueue } from '../lib/byte-queue.ts'
import type { Clock } from '../lib/clock.ts'
import type { CoarseTimers } from '../lib/coarse-timers.ts'
import { type CidrSet, clientAddress } from '../lib/ip-address.ts'
import { type ExpressRequest, type HttpRequest, type HttpResponse, headerValues } from './http-types.ts'

export type CallNeeds = {
  readonly clock: Clock
  readonly trustedProxies: CidrSet
  readonly newRequestId: () => string
  // The header with the tags of a request.
  readonly tagsHeader: HeaderName
  // Undefined where requests are not traced.
  readonly openTrace: ((traceparent: unknown) => RequestTrace) | undefined
}
export type HeaderName = { readonly name: string; readonly lowerCase: string }

export type HttpCall = Call & { readonly client: CancellableClient }
export type CancellableClient = Client & { cancel(failure: Failure): void }

export function openCall(req: HttpRequest, res: HttpResponse, needs: CallNeeds): HttpCall {
  const { path, query } = splitTarget(req.url ?? '/')
  const tags = tagsOf(req.headers[needs.tagsHeader.lowerCase], needs.tagsHeader.name)
  return {
    requestId: needs.newRequestId(),
    clientRequestId: clientRequestId(req.headers['x-client-request-id']),
    method: req.method ?? 'GET',
    path,
    query,
    authorizations: headerValues(req, 'authorization'),
    apiKeys: headerValues(req, 'x-api-key'),
    address: clientAddress(req.socket.remoteAddress, headerValues(req, 'x-forwarded-for'), needs.trustedProxies),
    receivedAt: needs.clock.now(),
    startedMs: needs.clock.monotonic(),
    tags: tags instanceof Refusal ? undefined : tags,
    tagsRefusal: tags instanceof Refusal ? tags : undefined,
    client: clientOf(res),
    trace: needs.openTrace?.(req.headers.traceparent),
  }
}

function tagsOf(value: string | string[] | undefined, param: string): Tags | Refusal | undefined {
  if (value === undefined || value === '') return undefined
  const tags = readTagsHeader(String(value))
  return typeof tags === 'string' ? new Refusal('invalid_value', { param, message: `${param} ${tags}.` }) : tags
}

// "GET http://host/v1/models" is the same as "GET /v1/models".
function splitTarget(target: string): { readonly path: string; readonly query: string } {
  const origin = target.startsWith('/') ? null : /^[a-z][a-z0-9+.-]*:\/\/[^/?#]*/i.exec(target)
  const rest = origin === null ? target : target.slice(origin[0].length) || '/'
  const mark = rest.indexOf('?')
  return mark < 0 ? { path: rest, query: '' } : { path: rest.slice(0, mark), query: rest.slice(mark + 1) }
}

export function isUnderV1(target: string): boolean {
  if (target.startsWith('/v1/')) return true
  const { path } = splitTarget(target)
  return path === '/v1' || path.startsWith('/v1/')
}

export type BodyBounds = {
  readonly bytesMax: number
  readonly timeoutMs: number
  readonly timers: CoarseTimers
  reserve(bytes: number): void
}

// The whole body, or a refusal; a promise only if it has not arrived completely. A body above the cap is refused unread where the
// length is announced. It is read once and not kept.
export function readBody(req: HttpRequest, res: HttpResponse, bounds: BodyBounds): Buffer | Promise<Buffer> {
  const announced = req.headers['content-length']
  if (announced !== undefined && Number(announced) > bounds.bytesMax) throw new Refusal('request_too_large')
  // The caller may have left during admission: then no event follows.
  if (!('body' in req) && req.destroyed) throw cutOff()
  if (announced !== undefined) bounds.reserve(Number(announced))
  if ('body' in req) return takeBody(req)
  if (req.headers.expect !== undefined) res.writeContinue()

  return new Promise((resolve, reject) => {
    const body = announced === undefined ? byteQueue() : bytesOf(Number(announced))
    let bytes = 0
    const alarm = bounds.timers.set(bounds.timeoutMs, () => fail(new Refusal('request_timeout')))
    // Later input waits in the socket until it is discarded.
    const fail = (refusal: unknown) => {
      stop()
      req.pause()
      reject(refusal)
    }
    const onData = (piece: Buffer) => {
      bytes += piece.length
      if (bytes > bounds.bytesMax) return fail(new Refusal('request_too_large'))
      try {
        if (announced === undefined) bounds.reserve(piece.length)
        body.append(piece)
      } catch (refusal) {
        fail(refusal)
      }
    }
    const onEnd = () => {
      stop()
      resolve(body.take(bytes))
    }
    const onClose = () => fail(cutOff())
    const stop = () => {
      alarm.cancel()
      req.off('data', onData).off('end', onEnd).off('close', onClose)
    }
    req.on('data', onData).on('end', onEnd).on('close', onClose)
  })
}

function cutOff(): Refusal {
  return new Refusal('malformed_request', { message: 'The connection closed before the body was complete.' })
}

// A body of known length, assembled in place. However small its pieces, they take no more memory than it does.
function bytesOf(length: number) {
  let whole: Buffer | undefined
  let end = 0
  return {
    append(piece: Buffer) {
      // The usual case.
      if (end === 0 && piece.length === length) whole = piece
      else {
        whole ??= Buffer.allocUnsafeSlow(length)
        piece.copy(whole, end)
      }
      end += piece.length
    },
    take: (bytes: number) => whole?.subarray(0, bytes) ?? TAKEN,
  }
}

function takeBody(req: ExpressRequest): Buffer {
  const { body } = req
  req.body = TAKEN
  return body
}
const TAKEN = Buffer.alloc(0)

function clientRequestId(value: string | string[] | undefined): string | null {
  const isOne = typeof value === 'string' && value.length <= CLIENT_REQUEST_ID_MAX && /^[\x21-\x7e]+$/.test(value)
  return isOne ? value : null
}

// Plain fields, no getters: an accessor in an object made for every request gives each such object its own hidden class, which
// outlives it and keeps its whole closure alive.
function clientOf(res: HttpResponse): CancellableClient {
  let cancel: Failure | undefined
  // One stage listens at a time.
  let onGone: (() => void) | undefined
  let onCancelled: ((failure: Failure) => void) | undefined
  const client = {
    gone: false,
    onGone(listener: () => void) {
      if (client.gone) listener()
      else onGone = listener
      return () => {
        if (onGone === listener) onGone = undefined
      }
    },
    onCancelled(listener: (failure: Failure) => void) {
      if (cancel !== undefined) listener(cancel)
      else onCancelled = listener
      return () => {
        if (onCancelled === listener) onCancelled = undefined
      }
    },
    cancel(failure: Failure) {
      cancel ??= failure
      onCancelled?.(failure)
    },
  }
  res.once('close', () => {
    if (res.writableFinished) return
    client.gone = true
    onGone?.()
  })
  return client
}
