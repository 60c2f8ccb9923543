// What operators read: usage rows, their sums, and the trace of their own actions.
import { formatCredits } from '../domain/credits.ts'
import type { Endpoint, Outcome } from '../domain/usage.ts'
import { type OperatorUsageObject, operatorUsageObject } from '../domain/usage-wire.ts'
import { isoTime } from '../domain/wire-time.ts'
import type { Events, OperatorEvent, Page, SummaryGroup, SummaryRow, UsageReports } from '../store/contract-operator.ts'
import { type List, listOf, readTime, unknown } from './input.ts'

export type UsageQuery = {
  readonly from?: string
  readonly to?: string
  readonly key_id?: string
  readonly account_id?: string
  readonly model?: string
  readonly provider?: string
  readonly endpoint?: Endpoint | 'all'
  readonly outcome?: Outcome
}

export type SummaryObject = {
  readonly object: 'usage_summary'
  readonly group: string
  readonly requests: number
  readonly errors: number
  readonly prompt_tokens: number
  readonly completion_tokens: number
  readonly cost: string
}

export type EventObject = Omit<OperatorEvent, 'at'> & { readonly object: 'event'; readonly at: string }

export type ReportVerbs = {
  usage(query: UsageQuery, page: Page): Promise<List<OperatorUsageObject>>
  usageOf(requestId: string): Promise<OperatorUsageObject>
  summary(query: UsageQuery, groupBy: SummaryGroup): Promise<List<SummaryObject>>
  events(page: Page): Promise<List<EventObject>>
}

export function reportVerbs(needs: { readonly usage: UsageReports; readonly events: Events }): ReportVerbs {
  return {
    async usage(query, page) {
      return listOf(await needs.usage.list({ ...readQuery(query), ...page }), operatorUsageObject)
    },

    async usageOf(requestId) {
      const row = await needs.usage.get(requestId)
      if (row === undefined) throw unknown('request')
      return operatorUsageObject(row)
    },

    async summary(query, groupBy) {
      const rows = await needs.usage.summary(readQuery(query), groupBy)
      return { object: 'list', data: rows.map(summaryObject), has_more: false }
    },

    async events(page) {
      return listOf(await needs.events.list(page), event => ({
        ...event,
        object: 'event' as const,
        at: isoTime(event.at),
      }))
    },
  }
}

function readQuery(query: UsageQuery) {
  return {
    from: query.from === undefined ? undefined : readTime('from', query.from),
    to: query.to === undefined ? undefined : readTime('to', query.to),
    keyId: query.key_id,
    accountId: query.account_id,
    model: query.model,
    provider: query.provider,
    endpoint: query.endpoint,
    outcome: query.outcome,
  }
}

function summaryObject(row: SummaryRow): SummaryObject {
  return {
    object: 'usage_summary',
    group: row.group,
    requests: row.requests,
    errors: row.errors,
    prompt_tokens: row.promptTokens,
    completion_tokens: row.completionTokens,
    cost: formatCredits(row.cost),
  }
}
