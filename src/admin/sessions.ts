// Admin operations on sessions: a token opens one, and its secret then stands for the token. The CSRF token is derived from the
// secret, so that every node can check it and none must store it. See docs/decisions/dashboard-and-sessions.md.
import { createHash, createHmac, timingSafeEqual } from 'node:crypto'
import { SECRET_BYTES } from '../domain/key.ts'
import { idleExpiresAt, type Operator, type Session } from '../domain/operator.ts'
import { isoTime } from '../domain/wire-time.ts'
import { encodeBase62 } from '../lib/base62.ts'
import type { Actor, Page, Sessions } from '../store/contract/operator.ts'
import { type List, listOf, unknown } from './input.ts'

export type SessionObject = {
  readonly object: 'session'
  readonly id: string
  readonly operator: Pick<Operator, 'id' | 'name' | 'role'>
  readonly address: string
  readonly created_at: string
  readonly last_used_at: string
  readonly expires_at: string
  readonly idle_expires_at: string
}
// Only for the session's own browser.
export type OwnSession = SessionObject & { readonly csrf_token: string }

export type Opened = { readonly session: OwnSession; readonly secret: string }

export type SessionMethods = {
  // Undefined: the token is not valid.
  open(token: string, address: string, oldSecret: string | undefined): Promise<Opened | undefined>
  list(page: Page): Promise<List<SessionObject>>
  end(id: string, actor: Actor): Promise<void>
}

export type SessionNeeds = {
  readonly sessions: Sessions
  readonly sessionsPerOperatorMax: number
  newId(): string
  randomBytes(length: number): Uint8Array
}

export function sessionMethods(needs: SessionNeeds): SessionMethods {
  const { sessions } = needs
  return {
    async open(token, address, oldSecret) {
      const secret = encodeBase62(needs.randomBytes(SECRET_BYTES))
      const session = await sessions.open(
        {
          id: `ses_${needs.newId().replaceAll('-', '')}`,
          secretHash: hashOf(secret),
          tokenHash: hashOf(token),
          address,
          replaces: oldSecret === undefined ? undefined : hashOf(oldSecret),
        },
        needs.sessionsPerOperatorMax,
      )
      return session === undefined ? undefined : { session: ownSession(session, secret), secret }
    },

    async list(page) {
      return listOf(await sessions.list(page), sessionObject)
    },

    async end(id, actor) {
      if (!(await sessions.end(id, actor))) throw unknown('session')
    },
  }
}

export function ownSession(session: Session, secret: string): OwnSession {
  return { ...sessionObject(session), csrf_token: csrfTokenOf(secret) }
}

// The store's parameters for these secrets.
export function sessionsOf(sessions: Sessions) {
  return (secrets: readonly string[]): Promise<readonly (Session | undefined)[]> =>
    sessions.bearers(secrets.map(hashOf))
}

export function isCsrfToken(given: string, secret: string): boolean {
  return timingSafeEqual(digest(given), digest(csrfTokenOf(secret)))
}

export function csrfTokenOf(secret: string): string {
  return createHmac('sha256', secret).update('csrf').digest('base64url')
}

function sessionObject(session: Session): SessionObject {
  return {
    object: 'session',
    id: session.id,
    operator: session.operator,
    address: session.address,
    created_at: isoTime(session.createdAt),
    last_used_at: isoTime(session.usedAt),
    expires_at: isoTime(session.expiresAt),
    idle_expires_at: isoTime(idleExpiresAt(session)),
  }
}

function hashOf(secret: string): string {
  return digest(secret).toString('hex')
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}
