// Errors of the admin API and of the portal: every error, whatever raised it, in the standard shape, and bodies that are JSON objects only.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { errorBody, Refusal } from '../../domain/refusal.ts'
import { StoreUnavailable } from '../../store/contract/store.ts'
import { parseJsonObject } from '../json-body.ts'
import { type Endpoint, isAt } from './endpoint-table.ts'

export function replyRefusal(reply: FastifyReply, refusal: Refusal, requestId: string): FastifyReply {
  const { retryAfter, headers } = refusal.detail
  if (retryAfter !== undefined) {
    reply.header('retry-after', Math.ceil(retryAfter)).header('retry-after-ms', Math.ceil(retryAfter * 1000))
  }
  return reply
    .code(refusal.status)
    .headers(headers ?? {})
    .header('content-type', 'application/json; charset=utf-8')
    .send(errorBody(refusal, requestId))
}

export type OnBug = (error: unknown, requestId: string) => void

// Converts an error of Fastify, the store or an unexpected one to a refusal. The last two are logged.
export function refusalOfError(error: unknown, request: FastifyRequest, onBug: OnBug): Refusal {
  if (error instanceof Refusal) return error
  if (error instanceof StoreUnavailable) {
    onBug(error, request.id)
    return new Refusal('service_unavailable', { retryAfter: 1 })
  }
  if (hasLeft(error, request)) return new Refusal('malformed_request')
  const { code, statusCode } = error as { readonly code?: unknown; readonly statusCode?: unknown }
  if (code === 'FST_ERR_CTP_INVALID_MEDIA_TYPE') return new Refusal('unsupported_media_type')
  if (code === 'FST_ERR_CTP_BODY_TOO_LARGE') return new Refusal('request_too_large')
  if (typeof code === 'string' && code.startsWith('FST_ERR_') && statusCode === 400) {
    return new Refusal('malformed_request')
  }
  onBug(error, request.id)
  return new Refusal('internal_error')
}

// A caller that disconnected within its body: nobody reads the answer, and it is not an error of the gateway.
export function hasLeft(error: unknown, { raw }: FastifyRequest): boolean {
  return raw.destroyed && !raw.complete && (error as NodeJS.ErrnoException).code === 'ECONNRESET'
}

// No endpoint was found: a path that exists with other methods lists them.
export function nothingHere(request: FastifyRequest, endpoints: readonly Endpoint[]): Refusal {
  const path = request.url.split('?', 1)[0] ?? ''
  const methods = endpoints.filter(endpoint => isAt(endpoint, path)).map(({ method }) => method)
  if (methods.length === 0) return new Refusal('not_found')
  return new Refusal('method_not_allowed', { headers: { allow: [...new Set(methods)].join(', ') } })
}

// No body at all is an empty object: most operations need none.
export function takeJsonOnly(app: FastifyInstance, depthMax: number): void {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, async (_request: FastifyRequest, body: Buffer) =>
    body.length === 0 ? {} : parseJsonObject(body, depthMax),
  )
}
