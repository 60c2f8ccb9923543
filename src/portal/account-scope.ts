// The portal's only way to data: everything that a session reads or changes goes through this function, which adds its account. An
// id of another account is unknown here.
import type { AccountMethods } from '../admin/accounts.ts'
import { type List, unknown } from '../admin/input.ts'
import type { KeyMethods, KeyObject } from '../admin/keys.ts'
import type { ReportMethods, UsageQuery } from '../admin/reports.ts'
import type { KeyStatusFilter } from '../domain/key.ts'
import { Refusal } from '../domain/refusal.ts'
import { type FairQueue, QueueFull } from '../lib/fair-queue.ts'
import type { Actor, Page, SummaryGroup } from '../store/contract/operator.ts'
import type { CreateKey, NewKeyInput } from './new-key.ts'
import {
  type PortalAccount,
  type PortalKey,
  type PortalSummary,
  type PortalUsage,
  portalAccount,
  portalKey,
  portalSummary,
  portalUsage,
} from './objects.ts'

export type PortalUsageQuery = Omit<UsageQuery, 'account_id' | 'provider'>
export type PortalKeyQuery = { readonly status?: KeyStatusFilter; readonly q?: string }
type WithSecret = PortalKey & { readonly secret: string }

export type AccountScope = {
  account(): Promise<PortalAccount>
  keys(query: PortalKeyQuery, page: Page): Promise<List<PortalKey>>
  key(id: string): Promise<PortalKey>
  createKey(input: NewKeyInput, actor: Actor): Promise<WithSecret>
  rotateKey(id: string, actor: Actor): Promise<WithSecret>
  endGrace(id: string, last4: string | undefined, actor: Actor): Promise<PortalKey>
  revokeKey(id: string, abortStreams: boolean, actor: Actor): Promise<PortalKey>
  usage(query: PortalUsageQuery, page: Page): Promise<List<PortalUsage>>
  usageOf(requestId: string): Promise<PortalUsage>
  summary(query: PortalUsageQuery, groupBy: SummaryGroup): Promise<List<PortalSummary>>
}

export type ScopeNeeds = {
  readonly accounts: Pick<AccountMethods, 'get'>
  readonly keys: Pick<KeyMethods, 'get' | 'list' | 'rotate' | 'endGrace' | 'revoke'>
  readonly reports: Pick<ReportMethods, 'usage' | 'usageOf' | 'summary'>
  readonly createKey: CreateKey
  // Lists and reports are read a few at a time, account by account.
  readonly reading: FairQueue<unknown>
}

// Of one key, its first one included. Old secrets are kept, and each rotation raises events.
const SECRETS_PER_DAY_MAX = 24

export function accountScope(accountId: string, needs: ScopeNeeds): AccountScope {
  const { accounts, keys, reports } = needs

  // A key never changes its account.
  async function own(id: string): Promise<KeyObject> {
    const key = await keys.get(id)
    if (key.account_id !== accountId) throw unknown('key')
    return key
  }

  async function read<T>(job: () => Promise<T>): Promise<T> {
    return (await needs.reading.run(accountId, job).catch(refuseIfFull)) as T
  }

  return {
    account: async () => portalAccount(await accounts.get(accountId)),

    keys: (query, page) => read(async () => mapped(await keys.list({ ...query, ...page, accountId }), portalKey)),
    key: async id => portalKey(await own(id)),
    createKey: async (input, actor) => withSecret(await needs.createKey(accountId, input, actor)),
    rotateKey: async (id, actor) => withSecret(await keys.rotate((await own(id)).id, actor, SECRETS_PER_DAY_MAX)),
    endGrace: async (id, last4, actor) => portalKey(await keys.endGrace((await own(id)).id, last4, actor)),
    revokeKey: async (id, abort, actor) => portalKey(await keys.revoke((await own(id)).id, abort, actor)),

    usage: (query, page) =>
      read(async () => mapped(await reports.usage({ ...query, account_id: accountId }, page), portalUsage)),
    async usageOf(requestId) {
      const row = await reports.usageOf(requestId)
      if (row.account_id !== accountId) throw unknown('request')
      return portalUsage(row)
    },
    summary: (query, groupBy) =>
      read(async () => mapped(await reports.summary({ ...query, account_id: accountId }, groupBy), portalSummary)),
  }
}

function withSecret({ secret, ...key }: KeyObject & { readonly secret: string }): WithSecret {
  return { ...portalKey(key), secret }
}

function mapped<T, U>(list: List<T>, write: (item: T) => U): List<U> {
  return { ...list, data: list.data.map(write) }
}

function refuseIfFull(error: unknown): never {
  if (!(error instanceof QueueFull)) throw error
  if (error.of === 'all') throw new Refusal('service_unavailable', { retryAfter: 1 })
  const message = 'Too many lists and reports of this account are running; try again when one has finished.'
  throw new Refusal('concurrency_exceeded', { retryAfter: 1, message })
}
