// What customers see, field by field, so that a new field for operators is hidden until it is listed here. Left out on purpose: what
// providers charge and the margin, attempts and routing, ids and words of providers, versions, thresholds of operators.
import type { AccountObject } from '../admin/accounts.ts'
import type { KeyObject } from '../admin/keys.ts'
import type { SummaryObject } from '../admin/reports.ts'
import { REFUSALS, type RefusalCode } from '../domain/refusal.ts'
import type { OperatorUsageObject } from '../domain/usage-wire.ts'

export const ACCOUNT_FIELDS = [
  'object',
  'id',
  'name',
  'status',
  'state',
  'balance',
  'spent',
  'spent_this_month',
  'portal_key_limits',
  'created_at',
] as const satisfies readonly (keyof AccountObject)[]

export const BUDGET_FIELDS = ['amount', 'window', 'action', 'spent', 'held', 'remaining', 'resets_at'] as const

export const KEY_FIELDS = [
  'object',
  'id',
  'name',
  'label',
  'status',
  'state',
  'account_id',
  'scopes',
  'ip_allowlist',
  'rpm_limit',
  'daily_limit',
  'credit_limit',
  'max_concurrent',
  'allowed_models',
  'tags',
  'spent',
  'spent_this_month',
  'created_at',
  'expires_at',
  'revoked_at',
  'last_used_at',
  'previous',
] as const satisfies readonly (keyof KeyObject)[]

// `provider` is also a header of every response under /v1.
export const USAGE_FIELDS = [
  'request_id',
  'client_request_id',
  'account_id',
  'key_id',
  'secret_last4',
  'endpoint',
  'model_requested',
  'model_served',
  'provider',
  'stream',
  'state',
  'outcome',
  'http_status',
  'error_code',
  'finish_reason',
  'prompt_tokens',
  'cached_tokens',
  'cache_write_tokens',
  'cache_write_1h_tokens',
  'image_tokens',
  'audio_tokens',
  'completion_tokens',
  'reasoning_tokens',
  'usage_source',
  'price_version',
  'price',
  'hold',
  'cost',
  'created_at',
  'first_byte_at',
  'finished_at',
  'client_ip',
  'requests',
  'tags',
] as const satisfies readonly (keyof OperatorUsageObject)[]

export const SUMMARY_FIELDS = [
  'object',
  'group',
  'requests',
  'errors',
  'prompt_tokens',
  'completion_tokens',
  'cost',
] as const satisfies readonly (keyof SummaryObject)[]

export type PortalAccount = ReturnType<typeof portalAccount>
export type PortalKey = ReturnType<typeof portalKey>
export type PortalUsage = ReturnType<typeof portalUsage>
export type PortalSummary = ReturnType<typeof portalSummary>

export function portalAccount(account: AccountObject) {
  return { ...picked(account, ACCOUNT_FIELDS), budgets: account.budgets.map(budget => picked(budget, BUDGET_FIELDS)) }
}

export function portalKey(key: KeyObject) {
  return { ...picked(key, KEY_FIELDS), budgets: key.budgets.map(budget => picked(budget, BUDGET_FIELDS)) }
}

export function portalUsage(row: OperatorUsageObject) {
  return { object: row.object, ...picked(row, USAGE_FIELDS), reason: reasonOf(row) }
}

export function portalSummary(row: SummaryObject) {
  return picked(row, SUMMARY_FIELDS)
}

// One sentence, or null if nothing went wrong. The words of a refusal are those that the caller got; the words of a provider are
// for operators, and the code's own sentence replaces them.
function reasonOf({ outcome, error_code: code, error_message: message }: OperatorUsageObject): string | null {
  if (outcome === 'refused' && message !== null && code !== 'upstream_rejected') return message
  if (code !== null && Object.hasOwn(REFUSALS, code)) return REFUSALS[code as RefusalCode].message
  switch (outcome) {
    case 'client_left':
      return 'The client disconnected before the response was complete.'
    case 'upstream_failed':
      return 'No provider could serve this request.'
    case 'upstream_broke':
      return 'The provider stopped before the response was complete.'
    case 'recovered':
      return 'The gateway was interrupted during this request; it was charged for what had been produced.'
    case 'refused':
      return 'The request was rejected.'
    default:
      return null
  }
}

function picked<T extends object, K extends keyof T>(value: T, names: readonly K[]): Pick<T, K> {
  return Object.fromEntries(names.map(name => [name, value[name]])) as Pick<T, K>
}
