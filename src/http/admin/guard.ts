// Authenticates calls of the admin API: an operator's token, or a session cookie and, for a change, its CSRF token. Viewers may
// read everything and change nothing.
import { createHash, timingSafeEqual } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import fastifyCookie, { type CookieSerializeOptions } from '@fastify/cookie'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { type Operator, SESSION_MS, type Session } from '../../domain/operator.ts'
import { Refusal } from '../../domain/refusal.ts'
import { batcher } from '../../lib/batcher.ts'
import type { Clock } from '../../lib/clock.ts'
import { addressBlock, parseAddress } from '../../lib/ip-address.ts'
import { lru } from '../../lib/lru.ts'
import type { Actor } from '../../store/contract/operator.ts'
import { checkCsrf, noteUse, readsOnly } from '../session-use.ts'
import type { Endpoint } from './endpoint-table.ts'

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
  // During a long answer: throws once the token or session is no longer valid.
  checkAgain(request: FastifyRequest): Promise<void>
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
    const session = await noteUse(await bySession(secret), request, { clock: needs.clock, touch: needs.touchSession })
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

    async checkAgain(request) {
      await find(request)
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

// Wrong tokens: each is answered after the same time, whatever was wrong with it, and counted by address. A valid token never has
// to wait.
const WINDOW_MS = 60_000
const FAILURES_MAX = 20
const ADDRESSES_MAX = 10_000
const DELAY_MS = 250
// Beyond this many at once a failure is answered without delay: the delay must not become a way to fill memory.
const DELAYED_MAX = 64

type Failures = {
  // For a token that was looked up since then; throws after the delay.
  answer(address: string, since: number): Promise<never>
}

function failures(clock: Clock): Failures {
  const counts = lru<string, { readonly since: number; readonly count: number }>(ADDRESSES_MAX)
  let delayed = 0

  // How many seconds this address has to wait, if it has exceeded its allowance.
  function count(address: string): number {
    const block = blockOf(address)
    const now = clock.monotonic()
    const before = counts.get(block)
    const fresh = before === undefined || now - before.since >= WINDOW_MS
    const entry = fresh ? { since: now, count: 1 } : { since: before.since, count: before.count + 1 }
    counts.set(block, entry)
    return entry.count > FAILURES_MAX ? (entry.since + WINDOW_MS - now) / 1000 : 0
  }

  async function delayUntil(at: number): Promise<void> {
    if (delayed >= DELAYED_MAX) return
    delayed++
    await sleep(at - clock.monotonic())
    delayed--
  }

  return {
    async answer(address, since) {
      const waitSeconds = count(address)
      await delayUntil(since + DELAY_MS)
      if (waitSeconds > 0) throw new Refusal('too_many_failures', { retryAfter: waitSeconds })
      throw noToken()
    },
  }
}

export function noToken(): Refusal {
  return new Refusal('invalid_api_key', {
    message: 'Invalid or missing admin token. Send it as "Authorization: Bearer <token>", or sign in.',
    headers: { 'www-authenticate': 'Bearer' },
  })
}

function blockOf(address: string): string {
  const parsed = parseAddress(address)
  return parsed === undefined ? address : addressBlock(parsed)
}

// The cookie of a session: read from what a browser sends, and written so that scripts and other sites never have it.
const NAME = 'turnpike_session'
const SECRET = /^[0-9A-Za-z]{43}$/

// Adds the cookies of requests and replies; every listener that recognises operators needs it.
export function sessionCookies(app: FastifyInstance): void {
  app.register(fastifyCookie)
}

export function sessionSecretOf({ cookies }: FastifyRequest): string | undefined {
  const secret = cookies[NAME] ?? ''
  return SECRET.test(secret) ? secret : undefined
}

export function setSessionCookie(reply: FastifyReply, secret: string, secure: boolean): void {
  reply.setCookie(NAME, secret, { ...ATTRIBUTES, maxAge: SESSION_MS / 1000, secure })
}

export function clearSessionCookie(reply: FastifyReply, secure: boolean): void {
  reply.setCookie(NAME, '', { ...ATTRIBUTES, maxAge: 0, secure })
}

const ATTRIBUTES: CookieSerializeOptions = { path: '/', httpOnly: true, sameSite: 'strict' }

// Whether a request has a bearer token with a known hash.

// Hashes are compared and not tokens, so that timing reveals neither length nor content.
export function bearsToken(authorization: string | undefined, wanted: Buffer): boolean {
  const token = bearerOf(authorization ?? '')
  return token !== '' && timingSafeEqual(tokenHash(token), wanted)
}

// The token, or undefined if there is none.
function bearerOf(authorization: string): string {
  return /^Bearer +([\x21-\x7e]{1,1024})$/i.exec(authorization)?.[1] ?? ''
}

export function tokenHash(token: string): Buffer {
  return createHash('sha256').update(token).digest()
}
