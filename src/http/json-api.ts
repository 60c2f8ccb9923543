// An API for people behind a login as one Fastify plugin: authentication first, then paths, then bodies, then the operation.
// Every error has the standard shape.
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { Refusal } from '../domain/refusal.ts'
import { nothingHere, type OnBug, refusalOfError, replyRefusal, takeJsonOnly } from './admin/answers.ts'
import type { Endpoint } from './admin/endpoint-table.ts'

export type JsonApi = {
  readonly prefix: string
  readonly endpoints: readonly Endpoint[]
  // Throws the refusal. Called before any body is read.
  check(request: FastifyRequest): Promise<void>
  // The listener is open before the valid tokens are known.
  hasBegun(): boolean
  readonly jsonDepthMax: number
  readonly onBug: OnBug
}

// The server must make `request.id` a UUIDv7 (`genReqId`): it is sent as X-Request-Id.
export function jsonApi(app: FastifyInstance, api: JsonApi, serveAll: (scope: FastifyInstance) => void): void {
  app.register(
    async scope => {
      scope.setErrorHandler((error, request, reply) =>
        replyRefusal(reply, refusalOfError(error, request, api.onBug), request.id),
      )
      scope.setNotFoundHandler(async request => {
        throw nothingHere(request, api.endpoints)
      })
      takeJsonOnly(scope, api.jsonDepthMax)

      // Answers may contain a secret, so no cache may store them.
      scope.addHook('onRequest', async (request, reply) => {
        reply.headers({
          'x-request-id': request.id,
          'cache-control': 'no-store',
        })
        if (!api.hasBegun()) throw stillStarting()
        await api.check(request)
        if (request.is404) throw nothingHere(request, api.endpoints)
        if (request.headers['content-encoding'] !== undefined) throw new Refusal('unsupported_media_type')
      })
      scope.addHook('preParsing', async (request, reply) => {
        if (request.headers.expect !== undefined) reply.raw.writeContinue()
      })
      serveAll(scope)
    },
    { prefix: api.prefix },
  )
}

// A caller with a valid token must not be told that it is wrong, nor must their address be counted.
function stillStarting(): Refusal {
  return new Refusal('service_unavailable', { retryAfter: 1, message: 'The gateway is still starting.' })
}
