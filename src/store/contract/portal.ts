// What every store guarantees for the customer portal: links that open one session each, and sessions of one account. Sessions are
// read for every request, so that one that ended on one node is gone on all. The store sees only hashes of tokens and secrets.
import type { PortalPermission, PortalSession } from '../../domain/portal.ts'
import type { Actor, Page, Paged } from './operator.ts'

export type Portal = {
  // Undefined: unknown account. Beyond `max` unused links of an account the oldest no longer work. Returns when it expires.
  createLink(input: NewPortalLink, max: number, actor: Actor): Promise<number | 'suspended' | undefined>
  // In order: whether each link would open a session. Uses nothing.
  findLinks(tokenHashes: readonly string[]): Promise<readonly PortalEntrance[]>
  // Of any number of calls with one token, on any node, one opens a session and returns `open`. Beyond `max` sessions of an account
  // those that have ended are removed, then the oldest.
  open(input: NewPortalSession, max: number): Promise<PortalEntrance>
  // In order; undefined: unknown. `ended`: also idle for too long.
  bearers(secretHashes: readonly string[]): Promise<readonly (PortalBearer | undefined)[]>
  // A person used it just now. Returns when that was.
  touch(id: string): Promise<number>
  // The open sessions of an account; undefined if there is none with this id.
  list(accountId: string, page: Page): Promise<Paged<PortalSession> | undefined>
  end(accountId: string, id: string, actor: Actor): Promise<boolean>
  // Stores the ends of links and sessions that have passed, so that a clock that jumps back revives nothing.
  markEnds(): Promise<void>
}

export type NewPortalLink = {
  readonly tokenHash: string
  readonly accountId: string
  readonly permissions: readonly PortalPermission[]
  readonly returnUrl: string | null
  readonly validMs: number
}

// `returnUrl` is known of any link, also of one that no longer works.
export type PortalEntrance = {
  readonly state: 'open' | 'used' | 'expired' | 'suspended' | 'unknown'
  readonly returnUrl: string | null
}

export type NewPortalSession = {
  readonly id: string
  readonly tokenHash: string
  readonly secretHash: string
  readonly address: string
  // The session of the same browser that this one replaces, by the hash of its secret.
  readonly replaces: string | undefined
}

export type PortalBearer = { readonly session: PortalSession; readonly state: 'open' | 'ended' | 'suspended' }
