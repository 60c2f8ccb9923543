// Binds a handler to an endpoint of the table: path, checks and status come from the table, so it cannot be wrong.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Static, TObject } from 'typebox'
import { refusalOfFault } from '../../admin/input.ts'
import { PATTERN_WORDS as CATALOG_WORDS } from '../../catalog/schema.ts'
import { Refusal } from '../../domain/refusal.ts'
import { faultFinder } from '../../lib/schema-fault.ts'
import { type Actor, PAGE_DEFAULT, type Page, type Sorting } from '../../store/contract/operator.ts'
import { type Endpoint, paramsOf, routeOf } from './endpoint-table.ts'
import { PATTERN_WORDS } from './shapes.ts'

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
  needs: { readonly guard: { whoOf(request: FastifyRequest): { readonly actor: Actor } } },
): void {
  const readQuery = checkQuery(endpoint.query)
  const readBody = checkBody(endpoint.body)
  app.route({
    method: endpoint.method,
    url: routeOf(endpoint),
    exposeHeadRoute: false,
    config: { access: endpoint.access, permission: endpoint.permission },
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

// Names from A to Z, numbers and times from the highest.
export function sortingOf<By extends string>(query: {
  readonly sort?: By | undefined
  readonly order?: 'asc' | 'desc' | undefined
}): Sorting<By> | undefined {
  const { sort, order = sort === 'name' ? 'asc' : 'desc' } = query
  return sort === undefined ? undefined : { by: sort, isDescending: order === 'desc' }
}

// Validates input against its schema and names the wrong parameter. Each schema is compiled on first use: there are dozens, and a
// start should not wait for all of them.
function checkBody<T extends TObject>(schema: T | undefined): (body: unknown) => Static<T> {
  return checker(schema, body => body ?? {})
}

// A query is text: numbers are parsed where the schema has one, a list may have one value, and an empty value counts as absent.
// Control characters are refused: nothing stored contains one, and engines treat them differently.
function checkQuery<T extends TObject>(schema: T | undefined): (query: unknown) => Static<T> {
  const properties: Readonly<Record<string, { readonly type?: unknown }>> = schema?.properties ?? {}
  return checker(schema, query => {
    const given = Object.entries(query as Record<string, unknown>).filter(([, value]) => value !== '')
    const unprintable = given.find(([, value]) => /\p{Cc}/u.test(String(value)))
    if (unprintable !== undefined) {
      const [param] = unprintable
      throw new Refusal('invalid_value', { param, message: `${param} must not contain control characters.` })
    }
    return Object.fromEntries(
      given.map(([name, value]) => {
        if (properties[name]?.type === 'array') return [name, Array.isArray(value) ? value : [value]]
        const isNumber = properties[name]?.type === 'integer' && typeof value === 'string' && /^\d{1,9}$/.test(value)
        return [name, isNumber ? Number(value) : value]
      }),
    )
  })
}

// Without a schema no input is accepted, and a body is ignored.
function checker<T extends TObject>(schema: T | undefined, prepare: (value: unknown) => unknown) {
  if (schema === undefined) return () => ({}) as Static<T>
  const faultOf = faultFinder(
    schema,
    pattern => PATTERN_WORDS[pattern] ?? CATALOG_WORDS[pattern] ?? 'an id from this list',
  )
  return (input: unknown): Static<T> => {
    const value = prepare(input)
    const fault = faultOf(value)
    if (fault !== undefined) throw refusalOfFault(fault)
    return value as Static<T>
  }
}
