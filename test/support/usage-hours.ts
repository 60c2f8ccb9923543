// Sums usage rows directly, row by row, for comparison with stored sums; and a history of requests whose times the test
// sets.
import { causeOf } from '../../src/domain/error-cause.ts'
import { Refusal } from '../../src/domain/refusal.ts'
import { refusedFields } from '../../src/domain/refused-row.ts'
import { HOUR_MS, type UsageRow } from '../../src/domain/usage.ts'
import type { RowSpan, SummaryGroup, SummaryRow } from '../../src/store/contract/operator.ts'
import type { ReservationRequest, Store } from '../../src/store/contract/store.ts'
import { rollUp } from '../../src/store/roll-up.ts'
import { idAt } from '../../src/store/sql/time-order.ts'
import { bill, type Fixture } from './billing-stores.ts'
import type { Repositories } from './engines.ts'

export const SOME_HOUR = Math.floor(Date.UTC(2026, 2, 3, 22) / HOUR_MS)

// A request at that time, as a gateway would reserve it.
export function askAt(fixture: Fixture, at: number, change: Partial<ReservationRequest> = {}): ReservationRequest {
  const requestId = idAt(at)
  fixture.clearDaysAtEnd()
  const ask = fixture.ask(requestId, change)
  return { ...ask, facts: { ...ask.facts, requestId, createdAt: at } }
}

// A refusal is written in the background; a later awaited write is committed with it or after it.
export async function noteAt(fixture: Fixture, at: number, requests = 1): Promise<void> {
  const { facts } = askAt(fixture, at)
  fixture.store.billing.logRefusal({ facts, ...refusedFields(new Refusal('rate_limit_exceeded')), requests })
  await fixture.store.billing.settle(bill('nobody', {}))
}

export async function rollUpAll(store: Store, overForMs = 0): Promise<number> {
  let rolled = 0
  for (let more = true; more; ) {
    const step = await store.maintenance.rollUp(overForMs)
    rolled += step.rolled
    more = step.more
  }
  return rolled
}

// The same on repositories without a store.
export async function rollAll({ hours }: Repositories, overForMs = 0): Promise<void> {
  for (let more = true; more; ) more = (await rollUp(overForMs, { read: hours, write: hours })).more
}

export async function allRows(store: Pick<Store, 'usage'>): Promise<readonly UsageRow[]> {
  const rows: UsageRow[] = []
  for (let after: string | undefined, more = true; more; ) {
    const page = await store.usage.list({ limit: 1000, after, endpoint: 'all' })
    rows.push(...page.data)
    after = page.data.at(-1)?.requestId
    more = page.hasMore
  }
  return rows
}

const ERRORS = ['refused', 'upstream_failed', 'upstream_broke']

function groupOf(row: UsageRow, groupBy: SummaryGroup): string {
  if (groupBy === 'day') return new Date(row.createdAt).toISOString().slice(0, 10)
  if (groupBy === 'hour') return `${new Date(row.createdAt).toISOString().slice(0, 13)}:00:00Z`
  if (groupBy === 'model') {
    return row.errorCode === 'model_not_found' ? '' : (row.modelServed ?? row.modelRequested ?? '')
  }
  if (groupBy === 'provider') return row.provider ?? ''
  return groupBy === 'key' ? row.keyId : row.accountId
}

export function sumUp(rows: readonly UsageRow[], groupBy: SummaryGroup): readonly SummaryRow[] {
  const groups = new Map<string, UsageRow[]>()
  for (const row of rows) {
    const group = groupOf(row, groupBy)
    const of = groups.get(group) ?? []
    of.push(row)
    groups.set(group, of)
  }
  return [...groups].map(([group, of]) => ({
    group,
    requests: requestsOf(of),
    errors: requestsOf(of.filter(row => ERRORS.includes(row.outcome ?? ''))),
    promptTokens: of.reduce((sum, row) => sum + row.tokens.prompt, 0),
    completionTokens: of.reduce((sum, row) => sum + row.tokens.completion, 0),
    cost: of.reduce((sum, row) => sum + row.cost, 0n),
    upstreamCost: of.reduce((sum, row) => sum + (row.upstreamCost ?? 0n), 0n),
    requestsWithoutUpstreamCost: requestsOf(of.filter(isUncosted)),
    costWithoutUpstreamCost: of.filter(isUncosted).reduce((sum, row) => sum + row.cost, 0n),
    failovers: requestsOf(of.filter(row => row.attempts.length > 1)),
    errorsByCause: {
      caller: requestsOf(of.filter(row => causeOf(row.outcome, row.errorCode) === 'caller')),
      limits: requestsOf(of.filter(row => causeOf(row.outcome, row.errorCode) === 'limits')),
      money: requestsOf(of.filter(row => causeOf(row.outcome, row.errorCode) === 'money')),
      provider: requestsOf(of.filter(row => causeOf(row.outcome, row.errorCode) === 'provider')),
    },
  }))
}

function isUncosted({ provider, upstreamCost }: UsageRow): boolean {
  return provider !== null && upstreamCost === null
}

// A row may stand for several refusals.
function requestsOf(rows: readonly UsageRow[]): number {
  return rows.reduce((sum, row) => sum + row.requests, 0)
}

export function byGroup(rows: readonly SummaryRow[]): readonly SummaryRow[] {
  return [...rows].sort((a, b) => (a.group < b.group ? -1 : 1))
}

// In sums an unknown model has no name; a list still finds its rows.
export function fits(row: UsageRow, filter: RowSpan, models: 'known' | 'all' = 'all'): boolean {
  const model = row.modelServed ?? row.modelRequested
  return (
    (filter.keyId === undefined || row.keyId === filter.keyId) &&
    (filter.accountId === undefined || row.accountId === filter.accountId) &&
    (filter.provider === undefined || row.provider === filter.provider) &&
    (filter.outcome === undefined || isOutcome(row, filter.outcome)) &&
    (filter.cause === undefined || causeOf(row.outcome, row.errorCode) === filter.cause) &&
    (filter.errorCodes === undefined || filter.errorCodes.includes(row.errorCode ?? '')) &&
    (filter.model === undefined ||
      (model === filter.model && (models === 'all' || row.errorCode !== 'model_not_found'))) &&
    (filter.endpoint === 'all' || row.endpoint === (filter.endpoint ?? 'chat.completions')) &&
    row.createdAt >= (filter.from ?? 0) &&
    row.createdAt < (filter.to ?? Number.POSITIVE_INFINITY)
  )
}

function isOutcome(row: UsageRow, outcome: NonNullable<RowSpan['outcome']>): boolean {
  return outcome === 'failed' ? causeOf(row.outcome, row.errorCode) !== undefined : row.outcome === outcome
}
