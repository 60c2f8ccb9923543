// Authenticates calls of the admin API: an operator's token, or a session cookie and, for a change, its CSRF token. Viewers may
// read everything and change nothing.
import { createHash } from 'node:crypto'
import type { FastifyRequest } from 'fastify'
import { isCsrfToken } from '../../admin/sessions.ts'
import type { Operator, Session } from '../../domain/operator.ts'
import { Refusal } from '../../domain/refusal.ts'
import { batcher } from '../../lib/batcher.ts'
import type { Clock } from '../../lib/clock.ts'
import type { Actor } from '../../store/contract/operator.ts'
import { bearerOf } from '../bearer-token.ts'
import type { Endpoint } from './endpoint-table.ts'
import { failures, noToken } from './failures.ts'
import { sessionSecretOf } from './session-cookie.ts'

export type Who = {
  readonly actor: Actor
  readonly role: Operator['role']
  // The session, if it was not a token.
  readonly session: { readonly session: Session; readonly secret: string } | undefined
}

export type Guard = {
  // Throws the refusal, or stores the operator on the request.
  check(request: FastifyRequest): Promise<void>
  // For a token in a body: throws the refusal unless it is valid.
  checkToken(token: string, request: FastifyRequest): Promise<void>
  whoOf(request: FastifyRequest): Who
  // For pages that are open to everyone and show operators more. Without credentials nothing is looked up; a caller
  // that is not recognised, also because the store is unavailable, is not an operator.
  isOperator(request: FastifyRequest): Promise<boolean>
}

export type GuardNeeds = {
  readonly clock: Clock
  // By the SHA-256 of each whole token, in order. Read at every call, so that removed access ends at once, on every node.
  operatorsOf(tokenHashes: readonly string[]): Promise<readonly (Operator | undefined)[]>
  sessionsOf(secrets: readonly string[]): Promise<readonly (Session | undefined)[]>
  // A person used it; returns when that was.
  touchSession(id: string): Promise<number>
  // The client's address by the trusted proxy rules; throws a refusal if it is unknown.
  addressOf(request: FastifyRequest): string
}

const LOOKED_UP_AT_ONCE_MAX = 100
// A use is stored at most this often; a session may end that much before its full idle time.
const SESSION_USE_NOTED_EVERY_MS = 30_000

export function adminGuard(needs: GuardNeeds): Guard {
  const known = new WeakMap<FastifyRequest, Who>()
  const failed = failures(needs.clock)
  // A flood of unknown tokens neither keeps the store busy nor delays others.
  const operatorOf = batcher(needs.operatorsOf, LOOKED_UP_AT_ONCE_MAX)
  const sessionOf = batcher(needs.sessionsOf, LOOKED_UP_AT_ONCE_MAX)

  // Found by its hash and not compared, so that timing reveals nothing about it; a malformed token is hashed and looked up like
  // any other.
  async function byToken(token: string, address: string): Promise<Operator> {
    const since = needs.clock.monotonic()
    const operator = await operatorOf(createHash('sha256').update(token).digest('hex'))
    return operator ?? failed.answer(address, since)
  }

  async function bySession(secret: string): Promise<Session> {
    const session = await sessionOf(secret)
    if (session === undefined) throw noToken()
    return session
  }

  // Background requests of a page must not keep an unattended session alive. A read passes even while the store cannot record the
  // use.
  async function noteUse(session: Session, request: FastifyRequest): Promise<Session> {
    if (request.headers['x-background'] !== undefined) return session
    if (session.usedAt > needs.clock.now() - SESSION_USE_NOTED_EVERY_MS) return session
    const touched = needs.touchSession(session.id)
    return { ...session, usedAt: await (readsOnly(request) ? touched.catch(() => session.usedAt) : touched) }
  }

  async function find(request: FastifyRequest): Promise<Who> {
    const given = request.raw.headersDistinct.authorization ?? []
    if (given.length > 1) throw new Refusal('duplicate_authorization')
    const address = needs.addressOf(request)
    if (given[0] !== undefined) {
      const { id, name, role } = await byToken(bearerOf(given[0]), address)
      return { actor: { id, name, address }, role, session: undefined }
    }
    const secret = sessionSecretOf(request)
    if (secret === undefined) throw noToken()
    const session = await noteUse(await bySession(secret), request)
    const { id, name, role } = session.operator
    return { actor: { id, name, address }, role, session: { session, secret } }
  }

  return {
    async check(request) {
      const who = await find(request)
      if (!readsOnly(request)) {
        if (who.session !== undefined) checkCsrf(request, who.session.secret)
        if (who.role === 'viewer' && accessOf(request) !== 'viewer') throw new Refusal('operator_is_viewer')
      }
      known.set(request, who)
    },

    async checkToken(token, request) {
      await byToken(token, needs.addressOf(request))
    },

    async isOperator(request) {
      if (request.headers.authorization === undefined && sessionSecretOf(request) === undefined) return false
      return find(request).then(
        () => true,
        () => false,
      )
    },

    whoOf(request) {
      const who = known.get(request)
      if (who === undefined) throw new Error('an admin endpoint was called without authentication')
      return who
    },
  }
}

export function accessOf(request: FastifyRequest): Endpoint['access'] {
  return (request.routeOptions.config as { readonly access?: Endpoint['access'] } | undefined)?.access
}

function readsOnly({ method }: FastifyRequest): boolean {
  return method === 'GET' || method === 'HEAD'
}

function checkCsrf({ headers }: FastifyRequest, secret: string): void {
  const given = headers['x-csrf-token']
  if (typeof given !== 'string' || !isCsrfToken(given, secret)) throw new Refusal('csrf_failed')
}
