// Authenticates calls of the customer portal: a session cookie and, for a change, its CSRF token; then the permission of the
// endpoint. The cookie has a name and a path of its own, and its secret is looked up among portal sessions only.
import type { CookieSerializeOptions } from '@fastify/cookie'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { SESSION_MS } from '../../domain/operator.ts'
import { type PortalPermission, type PortalSession, portalActorName } from '../../domain/portal.ts'
import { Refusal } from '../../domain/refusal.ts'
import { batcher } from '../../lib/batcher.ts'
import type { Clock } from '../../lib/clock.ts'
import { lru } from '../../lib/lru.ts'
import { type Bucket, fullBucket, take, waitSeconds } from '../../lib/token-bucket.ts'
import type { PortalSessionMethods } from '../../portal/sessions.ts'
import type { Actor } from '../../store/contract/operator.ts'
import { checkCsrf, noteUse, readsOnly } from '../session-use.ts'

export type PortalCaller = { readonly actor: Actor; readonly session: PortalSession; readonly secret: string }

export type PortalGuard = {
  // Throws the refusal, or stores the session on the request.
  check(request: FastifyRequest): Promise<void>
  // During a long answer: throws once the session is no longer valid.
  checkAgain(request: FastifyRequest): Promise<void>
  whoOf(request: FastifyRequest): PortalCaller
}

export type PortalGuardNeeds = {
  readonly clock: Clock
  readonly sessions: Pick<PortalSessionMethods, 'bearers' | 'touch'>
  readonly portalChangesPerMinute: number
  addressOf(request: FastifyRequest): string
}

const LOOKED_UP_AT_ONCE_MAX = 100
const ACCOUNTS_MAX = 10_000

export function portalGuard(needs: PortalGuardNeeds): PortalGuard {
  const known = new WeakMap<FastifyRequest, PortalCaller>()
  // A flood of invented cookies neither keeps the store busy nor delays others.
  const bearerOf = batcher(needs.sessions.bearers, LOOKED_UP_AT_ONCE_MAX)
  const changes = lru<string, Bucket>(ACCOUNTS_MAX)

  async function sessionOf(secret: string | undefined): Promise<PortalSession> {
    const bearer = secret === undefined ? undefined : await bearerOf(secret)
    if (bearer === undefined) throw new Refusal('portal_session_required')
    const { session, state } = bearer
    const metadata = { return_url: session.returnUrl }
    if (state === 'suspended')
      throw new Refusal('account_suspended', {
        message: 'This account is suspended. Contact the operator of this service.',
        metadata,
      })
    if (state === 'ended') throw new Refusal('portal_session_required', { metadata })
    return session
  }

  function countChange(accountId: string): void {
    const now = needs.clock.monotonic()
    const limit = needs.portalChangesPerMinute
    const bucket = changes.get(accountId) ?? fullBucket(limit, now)
    changes.set(accountId, bucket)
    if (take(bucket, limit, now)) return
    throw new Refusal('rate_limit_exceeded', {
      retryAfter: waitSeconds(bucket),
      message: 'Too many changes of this account in a minute. Try again later.',
    })
  }

  return {
    async check(request) {
      const secret = portalSecretOf(request)
      const found = await sessionOf(secret)
      const isChange = !readsOnly(request)
      if (isChange) checkCsrf(request, secret ?? '')
      const { permission } = request.routeOptions.config as { readonly permission?: PortalPermission }
      if (permission !== undefined && !found.permissions.includes(permission)) {
        throw new Refusal('permission_missing', { metadata: { permission } })
      }
      // The change that needs no permission is to sign out, which is always possible.
      if (isChange && permission !== undefined) countChange(found.account.id)
      const session = await noteUse(found, request, { clock: needs.clock, touch: needs.sessions.touch })
      const { id, account } = session
      const actor = { id, name: portalActorName(account.id), address: needs.addressOf(request) }
      known.set(request, { actor, session, secret: secret ?? '' })
    },

    async checkAgain(request) {
      await noteUse(await sessionOf(portalSecretOf(request)), request, {
        clock: needs.clock,
        touch: needs.sessions.touch,
      })
    },

    whoOf(request) {
      const who = known.get(request)
      if (who === undefined) throw new Error('a portal endpoint was called without authentication')
      return who
    },
  }
}

const NAME = 'turnpike_portal'
const SECRET = /^[0-9A-Za-z]{43}$/

export function portalSecretOf({ cookies }: FastifyRequest): string | undefined {
  const secret = cookies[NAME] ?? ''
  return SECRET.test(secret) ? secret : undefined
}

export function setPortalCookie(reply: FastifyReply, secret: string, secure: boolean): void {
  reply.setCookie(NAME, secret, { ...ATTRIBUTES, maxAge: SESSION_MS / 1000, secure })
}

export function clearPortalCookie(reply: FastifyReply, secure: boolean): void {
  reply.setCookie(NAME, '', { ...ATTRIBUTES, maxAge: 0, secure })
}

// Lax: the first page is reached from another site.
const ATTRIBUTES: CookieSerializeOptions = { path: '/portal', httpOnly: true, sameSite: 'lax' }
