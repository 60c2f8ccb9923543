// The options that select usage records, and the periods that can be named instead of times.
import { systemClock } from '../../lib/clock.ts'
import { type Filters, filterQuery } from '../call-command.ts'
import { BadUsage, type Input, type Option } from '../command.ts'
import { readTag, spanMs } from '../document.ts'

export const FAILURES = ['upstream_failed', 'upstream_broke', 'refused']
// The last one is any of the failures.
const OUTCOMES = ['completed', 'client_left', ...FAILURES, 'recovered', 'failed']

const ENDPOINTS = [
  ...['all', 'chat.completions', 'messages', 'responses', 'embeddings', 'chat.completions.quote'],
  ...['messages.count_tokens', 'models', 'key.introspect', 'usage', 'unknown'],
]

const FILTERS: Filters = {
  from: { value: 'TIME', about: 'at or after this time, such as 2026-01-31 or 2026-01-31T12:00:00Z' },
  to: { value: 'TIME', about: 'before this time' },
  key: { value: 'KEY', about: 'only this key', query: 'key_id', names: 'key' },
  account: { value: 'ACCOUNT', about: 'only this account', query: 'account_id', names: 'account' },
  model: { value: 'ID', about: 'only this model' },
  provider: { value: 'ID', about: 'only this provider' },
  endpoint: {
    value: 'NAME',
    about: 'only this endpoint, or "all" (default: those that are billed)',
    values: ENDPOINTS,
  },
  tag: {
    value: 'NAME=VALUE',
    multiple: true,
    about: 'only requests with this tag; repeatable',
    written: text => readTag(text).join(':'),
  },
  outcome: {
    value: 'OUTCOME',
    about: 'completed, client_left, upstream_failed, upstream_broke, refused, recovered, or failed for any failure',
    values: OUTCOMES,
  },
  'error-code': {
    value: 'CODE',
    multiple: true,
    about: 'only failures with this code; repeatable',
    query: 'error_code',
  },
}

const PERIODS: Readonly<Record<string, Option>> = {
  since: { value: 'SPAN', about: 'the last 30m, 24h or 7d instead of --from' },
  today: { about: 'since midnight UTC' },
  'this-month': { about: 'since the first of this month, UTC' },
  'last-month': { about: 'the whole month before this one, UTC' },
}

export const USAGE_OPTIONS: Readonly<Record<string, Option>> = { ...FILTERS, ...PERIODS }

export function usageQuery(input: Input, now: number = systemClock.now()): URLSearchParams {
  const query = filterQuery(input, FILTERS)
  const named = Object.keys(PERIODS).filter(name => input.flag(name) || input.text(name) !== undefined)
  const [period] = named
  if (period === undefined) return query
  const isMixed = named.length > 1 || query.has('from') || (period === 'last-month' && query.has('to'))
  if (isMixed) throw new BadUsage('pass one period: --from and --to, --since, --today, --this-month or --last-month')
  const { from, to } = periodOf(period, input.text('since') ?? '', new Date(now))
  query.set('from', new Date(from).toISOString())
  if (to !== undefined) query.set('to', new Date(to).toISOString())
  return query
}

function periodOf(period: string, span: string, now: Date): { readonly from: number; readonly to?: number } {
  const [year, month] = [now.getUTCFullYear(), now.getUTCMonth()]
  if (period === 'today') return { from: Date.UTC(year, month, now.getUTCDate()) }
  if (period === 'this-month') return { from: Date.UTC(year, month) }
  if (period === 'last-month') return { from: Date.UTC(year, month - 1), to: Date.UTC(year, month) }
  const ms = spanMs(span)
  if (ms === undefined) throw new BadUsage('--since must be a span such as 30m, 24h or 7d')
  return { from: Math.max(0, now.getTime() - ms) }
}
