// Output under /v1: the headers on every response, JSON bodies, and errors in the standard shape.
import type { IncomingMessage } from 'node:http'
import type { Known } from '../admit/admit.ts'
import type { ErrorWriter } from '../dialects/dialect.ts'
import { formatCredits, type Nano } from '../domain/credits.ts'
import type { Call } from '../domain/handoff.ts'
import { GRACE_MS } from '../domain/key.ts'
import type { Refusal, RefusalCode } from '../domain/refusal.ts'
import type { HttpRequest, HttpResponse } from './http-types.ts'
import { type RateNeeds, rateHeaders } from './rate-headers.ts'

// The state of one request in the router: what is known of it so far, for headers, rows and the log.
export type RequestContext = {
  readonly call: Call
  readonly req: HttpRequest
  readonly res: HttpResponse
  known: Known | undefined
  // What was charged for it so far.
  booked: Nano
  // How its endpoint writes errors.
  readonly errorBody: ErrorWriter
  // Once the status has been sent, a failure can only be reported in band.
  endInBand: ((refusal: Refusal) => void) | undefined
}

export type ResponseNeeds = RateNeeds & {
  readonly headerPrefix: string
  readonly bodyBytesMax: number
  readonly refusedBodyBytesMax: number
  readonly refusedBodyWaitMs: number
  // While draining every response asks the caller to use a new connection.
  readonly closing: () => boolean
  readonly corsOrigins: readonly string[]
}

export function commonHeaders(ctx: RequestContext, code: RefusalCode | undefined, needs: ResponseNeeds): string[] {
  const caller = ctx.known?.caller
  const headers = rateHeaders(ctx.call, caller, code, needs)
  headers.push('X-Request-Id', ctx.call.requestId)
  const grace = caller?.secret.graceExpiresAt
  if (grace !== undefined && grace !== null) {
    headers.push('Deprecation', `@${Math.floor((grace - GRACE_MS) / 1000)}`, 'Sunset', new Date(grace).toUTCString())
  }
  if (needs.closing()) headers.push('Connection', 'close')
  if (needs.corsOrigins.length > 0) pushCors(headers, ctx.req, needs)
  return headers
}

export function costHeader(cost: Nano, needs: ResponseNeeds): [string, string] {
  return [`${needs.headerPrefix}Cost`, formatCredits(cost)]
}

// Appends to the headers: the caller must not use them afterwards.
export function sendJson(ctx: RequestContext, status: number, body: string, headers: string[]): void {
  headers.push('Content-Type', 'application/json; charset=utf-8', 'Content-Length', String(Buffer.byteLength(body)))
  ctx.res.writeHead(status, headers)
  ctx.res.end(body)
}

// A large body, in its pieces.
export function sendPieces(
  ctx: RequestContext,
  status: number,
  pieces: readonly Uint8Array[],
  headers: readonly string[],
): void {
  const length = pieces.reduce((sum, piece) => sum + piece.length, 0)
  ctx.res.writeHead(status, [...headers, ...JSON_TYPE, 'Content-Length', String(length)])
  for (const piece of pieces) ctx.res.write(piece)
  ctx.res.end()
}

const JSON_TYPE = ['Content-Type', 'application/json; charset=utf-8']

// Returns the status that the caller saw.
export function sendRefusal(
  ctx: RequestContext,
  refusal: Refusal,
  needs: ResponseNeeds,
  more: readonly string[] = [],
): number {
  const { res, req } = ctx
  if (res.headersSent || res.destroyed) {
    if (ctx.endInBand === undefined || res.destroyed || res.writableEnded) res.destroy()
    else ctx.endInBand(refusal)
    // Only a stream that has started ends in band.
    return ctx.endInBand === undefined ? refusal.status : 200
  }
  const body = JSON.stringify(ctx.errorBody(refusal, ctx.call.requestId))
  const headers = [
    ...commonHeaders(ctx, refusal.code, needs),
    ...costHeader(ctx.booked, needs),
    ...more,
    ...refusalHeaders(refusal),
  ]
  const isRead = 'body' in req || req.readableEnded
  if (isRead || (refusal.code !== 'request_timeout' && !mustClose(req, needs.bodyBytesMax))) {
    sendJson(ctx, refusal.status, body, headers)
    return refusal.status
  }

  headers.push('Content-Type', 'application/json; charset=utf-8', 'Content-Length', String(Buffer.byteLength(body)))
  if (!needs.closing()) headers.push('Connection', 'close')
  res.writeHead(refusal.status, headers)
  res.write(body)
  discard(req, needs, () => res.end())
  return refusal.status
}

// A response of which nothing is read for this long: the caller has left, whatever its socket reports. A slow reader is waited
// for, unless it is so slow that the kernel, which accepts more only when a good part of its own buffer is free, accepts nothing
// in all that time.
export function destroyUnlessRead(res: HttpResponse, ms: number): void {
  if (res.writableLength === 0) return
  let left = unread(res)
  let looks = 0
  const timer = setInterval(() => {
    const now = unread(res)
    looks = now < left ? 0 : looks + 1
    left = now
    if (looks >= LOOKS) res.destroy()
  }, ms / LOOKS)
  res.once('close', () => clearInterval(timer))
}

const LOOKS = 4

// What the caller has not taken of this response, and of those before it on the same connection. A large piece is in the socket's
// count until all of it is gone, so what the kernel has not taken of it is counted separately.
function unread(res: HttpResponse): number {
  const { socket } = res.req
  const { _handle: handle } = socket as unknown as { readonly _handle?: { readonly writeQueueSize?: number } | null }
  return res.writableLength + socket.writableLength + (handle?.writeQueueSize ?? 0)
}

export function refusalHeaders(refusal: Refusal): string[] {
  const headers: string[] = []
  const { retryAfter } = refusal.detail
  if (retryAfter !== undefined) {
    headers.push(
      'Retry-After',
      String(Math.max(1, Math.ceil(retryAfter))),
      'retry-after-ms',
      String(Math.max(1, Math.ceil(retryAfter * 1000))),
    )
  }
  for (const [name, value] of Object.entries(refusal.detail.headers ?? {})) headers.push(name, value)
  return headers
}

// The body of a refused request: a short one is discarded and the connection kept, a long or endless one ends it.
function mustClose(req: IncomingMessage, bodyBytesMax: number): boolean {
  const length = req.headers['content-length']
  if (req.headers['transfer-encoding'] !== undefined || Number(length ?? 0) > bodyBytesMax) return true
  // A body announced with Expect is not sent after a refusal.
  return req.headers.expect !== undefined
}

// Reads on for a moment, so that the caller sees the response before the connection closes.
function discard(req: IncomingMessage, needs: ResponseNeeds, done: () => void): void {
  let bytes = 0
  let over = false
  const finish = () => {
    if (over) return
    over = true
    clearTimeout(timer)
    done()
  }
  const timer = setTimeout(finish, needs.refusedBodyWaitMs)
  req.on('data', (piece: Buffer) => {
    bytes += piece.length
    if (bytes > needs.refusedBodyBytesMax) finish()
  })
  req.on('end', finish)
  req.on('close', finish)
  req.on('error', finish)
  req.resume()
}

function pushCors(headers: string[], req: HttpRequest, needs: ResponseNeeds): void {
  const { origin } = req.headers
  if (origin === undefined || !needs.corsOrigins.includes(origin)) return
  const branded = ['Provider', 'Cost', 'Output-Cap', 'Ignored-Fields'].map(name => needs.headerPrefix + name)
  headers.push('Access-Control-Allow-Origin', origin, 'Vary', 'Origin')
  headers.push('Access-Control-Expose-Headers', [...branded, ...EXPOSED].join(', '))
}

const EXPOSED = [
  'X-Request-Id',
  ...['RateLimit-Limit', 'RateLimit-Remaining', 'RateLimit-Reset', 'RateLimit-Policy'],
  ...['x-ratelimit-limit-requests', 'x-ratelimit-remaining-requests', 'x-ratelimit-reset-requests'],
  ...['Retry-After', 'retry-after-ms', 'x-should-retry', 'Deprecation', 'Sunset'],
]
