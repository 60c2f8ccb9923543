// Usage rows and their sums for operators.

import type { ErrorCause, FAILED } from '../domain/error-cause.ts'
import type { TargetsView } from '../domain/routing.ts'
import { readTagFilter } from '../domain/tags.ts'
import type { Endpoint, Outcome } from '../domain/usage.ts'
import { type OperatorUsageObject, operatorUsageObject } from '../domain/usage-wire.ts'
import type { Clock } from '../lib/clock.ts'
import type {
  CostFault,
  Page,
  RowSpan,
  SortedPage,
  SummaryGroup,
  SummaryRow,
  TagPair,
  UsageReports,
} from '../store/contract/operator.ts'
import { type AttentionFacts, type AttentionObject, attentionOf } from './attention.ts'
import { type List, listOf, readRange, type SortedList, sortedListOf, unknown, wrong } from './input.ts'
import {
  type OverviewObject,
  type OverviewQuery,
  overviewObject,
  readOverviewSpan,
  type SpendingObject,
  spendingObject,
} from './overview.ts'

export type UsageQuery = {
  readonly from?: string
  readonly to?: string
  readonly key_id?: string
  readonly account_id?: string
  readonly model?: string
  readonly provider?: string
  readonly endpoint?: Endpoint | 'all'
  readonly outcome?: Outcome | typeof FAILED
  readonly cause?: ErrorCause
  readonly tag?: readonly string[]
}

// The codes of failures, any of them.
export type UsageRowQuery = UsageQuery & { readonly error_code?: readonly string[] }

export const USAGE_SORTS = ['time', 'cost'] as const
export type UsageListQuery = UsageRowQuery & { readonly sort?: (typeof USAGE_SORTS)[number] }

export type SummaryObject = SpendingObject & { readonly object: 'usage_summary'; readonly group: string }

export type ReportMethods = {
  usage(query: UsageListQuery, page: Page): Promise<SortedList<OperatorUsageObject>>
  // For an export: one page after the other.
  usagePages(query: UsageListQuery): (page: Page) => Promise<List<OperatorUsageObject>>
  usageOf(requestId: string): Promise<OperatorUsageObject>
  summary(query: UsageRowQuery, groupBy: SummaryGroup): Promise<List<SummaryObject>>
  overview(query: OverviewQuery): Promise<OverviewObject & { readonly attention: readonly AttentionObject[] }>
}

export type ReportNeeds = {
  readonly usage: UsageReports
  readonly clock: Pick<Clock, 'now'>
  readonly standing: Standing
  // A report that no sums help with reads at most this many rows.
  readonly reportRowsMax: number
}

// What needs attention whatever the span.
export type Standing = {
  targets(): TargetsView
  others(): Promise<Pick<AttentionFacts, 'nearLimits' | 'webhooks'>>
}

export function reportMethods(needs: ReportNeeds): ReportMethods {
  const usage: ReportMethods['usage'] = async (query, page) => {
    const filter = { ...readQuery(query), errorCodes: query.error_code, ...page }
    if (query.sort === 'cost')
      return sortedListOf(sorted(await needs.usage.listByCost(filter, needs.reportRowsMax), needs), operatorUsageObject)
    // By time the id alone is the place.
    const after = page.after?.split('~')[0]
    return listOf(await needs.usage.list({ ...filter, after }), operatorUsageObject)
  }

  return {
    usage,
    usagePages(query) {
      if (query.sort !== 'cost') return page => usage(query, page)
      const filter = { ...readQuery(query), errorCodes: query.error_code }
      return pagesByCost(filter, needs)
    },

    async usageOf(requestId) {
      const row = await needs.usage.get(requestId)
      if (row === undefined) throw unknown('request')
      return operatorUsageObject(row)
    },

    async summary(query, groupBy) {
      const filter = { ...readQuery(query), errorCodes: query.error_code }
      const rows =
        filter.errorCodes === undefined
          ? await needs.usage.summary(filter, groupBy)
          : await needs.usage.summaryOfRows(filter, groupBy, needs.reportRowsMax)
      if (rows === 'too_many') throw tooMany('can be summed by error code', needs)
      return { object: 'list', data: rows.map(summaryObject), has_more: false }
    },

    async overview(query) {
      const { zone, ...span } = readOverviewSpan(query, needs.clock.now())
      const overview = await needs.usage.overview(span)
      const { standing } = needs
      const others = await standing.others()
      const facts = { overview, targets: standing.targets(), ...others, now: needs.clock.now() }
      return { ...overviewObject(zone, overview), attention: attentionOf(facts) }
    },
  }
}

// Ids are sorted many at a time, since each time all rows of the range are read; an export by pages would read them for each page.
// A row whose cost changes meanwhile is not listed twice; it is left out if its cost rises above the place, or if it is deleted.
function pagesByCost(filter: RowSpan, needs: ReportNeeds): (page: Page) => Promise<List<OperatorUsageObject>> {
  const listed = new Set<string>()
  let waiting: readonly string[] = []
  let next: string | null | undefined

  async function readIds(after: string | undefined): Promise<void> {
    const page = { limit: SORTED_AT_ONCE, after: next ?? after }
    const found = sorted(await needs.usage.idsByCost({ ...filter, ...page }, needs.reportRowsMax), needs)
    waiting = found.data.filter(id => !listed.has(id))
    for (const id of waiting) listed.add(id)
    next = found.next ?? null
  }

  return async ({ limit, after }) => {
    for (;;) {
      if (waiting.length === 0 && next !== null) await readIds(after)
      const rows = await needs.usage.byIds(waiting.slice(0, limit))
      waiting = waiting.slice(limit)
      const hasMore = waiting.length > 0 || next !== null
      if (rows.length > 0 || !hasMore) return listOf({ data: rows, hasMore }, operatorUsageObject)
    }
  }
}

const SORTED_AT_ONCE = 10_000

function sorted<T>(found: SortedPage<T> | CostFault, needs: ReportNeeds): SortedPage<T> {
  if (found === 'too_many') throw tooMany('can be sorted by cost', needs)
  if (found === 'unknown_after') throw wrong('after', 'the id of a request that exists')
  return found
}

function readQuery(query: UsageQuery) {
  return {
    ...readRange(query),
    keyId: query.key_id,
    accountId: query.account_id,
    model: query.model,
    provider: query.provider,
    endpoint: query.endpoint,
    outcome: query.outcome,
    cause: query.cause,
    tags: query.tag?.map(readTag),
  }
}

function tooMany(what: string, { reportRowsMax }: ReportNeeds) {
  return wrong('from', `a shorter range, one key or one account: at most ${reportRowsMax} requests ${what}`)
}

function readTag(text: string): TagPair {
  const tag = readTagFilter(text)
  if (tag === undefined) throw wrong('tag', 'a tag such as team:search')
  return tag
}

function summaryObject(row: SummaryRow): SummaryObject {
  return { object: 'usage_summary', group: row.group, ...spendingObject(row) }
}
