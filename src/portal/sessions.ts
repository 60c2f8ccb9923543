// Links to the customer portal and the sessions that they open. The cookie's secret stands for the account; the CSRF token is derived
// from it, so that every node can check it and none must store it. See docs/decisions/customer-portal.md.
import { createHash } from 'node:crypto'
import { type List, listOf, unknown, wrong } from '../admin/input.ts'
import { csrfTokenOf } from '../admin/sessions.ts'
import { SECRET_BYTES } from '../domain/key.ts'
import { idleExpiresAt } from '../domain/operator.ts'
import {
  PORTAL_LINK_SECONDS_MAX,
  PORTAL_PERMISSIONS,
  type PortalPermission,
  type PortalSession,
  RETURN_URL_MAX,
} from '../domain/portal.ts'
import { Refusal } from '../domain/refusal.ts'
import { isoTime } from '../domain/wire-time.ts'
import { encodeBase62 } from '../lib/base62.ts'
import { batcher } from '../lib/batcher.ts'
import { webUrl } from '../lib/web-url.ts'
import type { Actor, Page } from '../store/contract/operator.ts'
import type { Portal, PortalBearer, PortalEntrance } from '../store/contract/portal.ts'

export type PortalLinkInput = {
  readonly return_url?: string | null
  readonly permissions?: readonly PortalPermission[]
  // Seconds.
  readonly expires_in?: number
}

export type PortalLinkObject = { readonly url: string; readonly expires_at: string }

export type PortalSessionObject = {
  readonly object: 'portal_session'
  readonly id: string
  readonly account_id: string
  readonly permissions: readonly PortalPermission[]
  readonly return_url: string | null
  readonly address: string
  readonly created_at: string
  readonly last_used_at: string
  readonly expires_at: string
  readonly idle_expires_at: string
}

export type PortalSessionMethods = {
  // `origin`: of the link.
  createLink(accountId: string, input: PortalLinkInput, origin: string, actor: Actor): Promise<PortalLinkObject>
  list(accountId: string, page: Page): Promise<List<PortalSessionObject>>
  end(accountId: string, id: string, actor: Actor): Promise<void>
  // The secret of the new session, or why the link does not open one.
  open(token: string, address: string, oldSecret: string | undefined): Promise<OpenedPortal>
  bearers(secrets: readonly string[]): Promise<readonly (PortalBearer | undefined)[]>
  touch(id: string): Promise<number>
}

export type OpenedPortal = PortalEntrance & { readonly secret?: string }

export type PortalSessionNeeds = {
  readonly portal: Portal
  readonly portalLinksPerAccountMax: number
  readonly portalSessionsPerAccountMax: number
  newId(): string
  randomBytes(length: number): Uint8Array
}

const TOKEN = /^[0-9A-Za-z]{43}$/
const LOOKED_UP_AT_ONCE_MAX = 100
const UNKNOWN: OpenedPortal = { state: 'unknown', returnUrl: null }

export function portalSessionMethods(needs: PortalSessionNeeds): PortalSessionMethods {
  const { portal } = needs
  // A flood of invented tokens neither keeps the store busy nor delays others.
  const linkOf = batcher(portal.findLinks, LOOKED_UP_AT_ONCE_MAX)
  const newSecret = () => encodeBase62(needs.randomBytes(SECRET_BYTES))
  return {
    async createLink(accountId, input, origin, actor) {
      const token = newSecret()
      const link = {
        tokenHash: hashOf(token),
        accountId,
        permissions: PORTAL_PERMISSIONS.filter(each => (input.permissions ?? PORTAL_PERMISSIONS).includes(each)),
        returnUrl: readReturnUrl(input.return_url ?? null),
        validMs: (input.expires_in ?? PORTAL_LINK_SECONDS_MAX) * 1000,
      }
      const expiresAt = await portal.createLink(link, needs.portalLinksPerAccountMax, actor)
      if (expiresAt === undefined) throw unknown('account')
      if (expiresAt === 'suspended') throw new Refusal('conflict', { message: 'The account is suspended.' })
      return { url: `${origin}/portal/open/${token}`, expires_at: isoTime(expiresAt) }
    },

    async list(accountId, page) {
      const sessions = await portal.list(accountId, page)
      if (sessions === undefined) throw unknown('account')
      return listOf(sessions, portalSessionObject)
    },

    async end(accountId, id, actor) {
      if (!(await portal.end(accountId, id, actor))) throw unknown('portal session')
    },

    // Looked up before anything is written: a flood of invented tokens must not keep the writer busy.
    async open(token, address, oldSecret) {
      if (!TOKEN.test(token)) return UNKNOWN
      const tokenHash = hashOf(token)
      const found = (await linkOf(tokenHash)) ?? UNKNOWN
      if (found.state !== 'open') return found
      const secret = newSecret()
      const entrance = await portal.open(
        {
          id: `pses_${needs.newId().replaceAll('-', '')}`,
          tokenHash,
          secretHash: hashOf(secret),
          address,
          replaces: oldSecret === undefined ? undefined : hashOf(oldSecret),
        },
        needs.portalSessionsPerAccountMax,
      )
      return entrance.state === 'open' ? { ...entrance, secret } : entrance
    },

    bearers: secrets => portal.bearers(secrets.map(hashOf)),
    touch: portal.touch,
  }
}

// Only for the session's own browser.
export function ownPortalSession({ account, permissions, returnUrl, ...session }: PortalSession, secret: string) {
  return {
    object: 'portal_session' as const,
    account: { id: account.id, name: account.name },
    permissions,
    return_url: returnUrl,
    expires_at: isoTime(session.expiresAt),
    idle_expires_at: isoTime(idleExpiresAt(session)),
    csrf_token: csrfTokenOf(secret),
  }
}

function portalSessionObject(session: PortalSession): PortalSessionObject {
  return {
    object: 'portal_session',
    id: session.id,
    account_id: session.account.id,
    permissions: session.permissions,
    return_url: session.returnUrl,
    address: session.address,
    created_at: isoTime(session.createdAt),
    last_used_at: isoTime(session.usedAt),
    expires_at: isoTime(session.expiresAt),
    idle_expires_at: isoTime(idleExpiresAt(session)),
  }
}

// It becomes a link on our pages: only web addresses, without a user name or password.
function readReturnUrl(text: string | null): string | null {
  if (text === null) return null
  const url = text.length > RETURN_URL_MAX || /[\p{Cc}\s]/u.test(text) ? undefined : webUrl(text)
  if (url === undefined || url.href.length > RETURN_URL_MAX)
    throw wrong('return_url', `an http or https URL of at most ${RETURN_URL_MAX} characters`)
  return url.href
}

function hashOf(secret: string): string {
  return createHash('sha256').update(secret).digest('hex')
}
