// Binds a handler to an endpoint of the table: path, checks and status come from the table, so it cannot be wrong.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Static, TObject } from 'typebox'
import { type Actor, PAGE_DEFAULT, type Page } from '../../store/contract/operator.ts'
import { checkBody, checkQuery } from './check.ts'
import { type Endpoint, paramsOf, routeOf } from './endpoint-table.ts'
import type { Guard } from './guard.ts'

const STRANGERS_BYTES_MAX = 4096

export type Ask<E> = {
  readonly params: Readonly<Record<string, string>>
  readonly query: E extends { readonly query: infer Q extends TObject } ? Static<Q> : Record<string, never>
  readonly body: E extends { readonly body: infer B extends TObject } ? Static<B> : Record<string, never>
  readonly actor: Actor
  readonly request: FastifyRequest
  readonly reply: FastifyReply
}

// The handler's result is the body; a stream is sent unchanged.
export function serve<E extends Endpoint>(
  app: FastifyInstance,
  endpoint: E,
  handle: (ask: Ask<E>) => Promise<unknown>,
  needs: { readonly guard: Guard },
): void {
  const readQuery = checkQuery(endpoint.query)
  const readBody = checkBody(endpoint.body)
  app.route({
    method: endpoint.method,
    url: routeOf(endpoint),
    exposeHeadRoute: false,
    config: { access: endpoint.access },
    // The body of an unauthenticated caller is read only where the credentials are in it.
    ...(endpoint.access === 'open' ? { bodyLimit: STRANGERS_BYTES_MAX } : {}),
    async handler(request, reply) {
      const ask = {
        params: paramsOf(request.params),
        query: readQuery(request.query),
        body: readBody(request.body),
        // The caller of an open endpoint is not known yet; those handlers do not use it.
        get actor() {
          return needs.guard.whoOf(request).actor
        },
        request,
        reply,
      } as Ask<E>
      const answer = await handle(ask)
      return reply.code(endpoint.statuses[0] ?? 200).send(answer)
    },
  })
}

export function ifMatchOf({ headers }: FastifyRequest): string | undefined {
  return headers['if-match']
}

export function pageOf(query: Partial<Page>): Page {
  return { limit: query.limit ?? PAGE_DEFAULT, after: query.after }
}
