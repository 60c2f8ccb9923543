// Why a request ended as it did, in one sentence, and where the operator can change that.
import { REFUSALS, type RefusalCode } from '../../../../src/domain/refusal.ts'
import type { OperatorUsageObject as UsageRow } from '../../../../src/domain/usage-wire.ts'
import { durationMs } from '../../components/usage/request-duration.ts'
import { amount, amountWithUnit } from '../../format/amounts.ts'
import { isZero } from '../../format/decimals.ts'
import { isolated, withoutControls } from '../../format/isolated.ts'
import { count, duration } from '../../format/numbers.ts'

export type Action = { readonly label: string; readonly href: string }

export type Explanation = {
  readonly tone: 'good' | 'refused' | 'failed' | 'neutral'
  readonly sentence: string
  readonly actions: readonly Action[]
}

type Explain = (row: UsageRow, detail: Detail) => readonly [sentence: string, ...actions: Action[]]
type Detail = Readonly<Record<string, unknown>>

export function explain(row: UsageRow): Explanation {
  if (row.error_code !== null) return explainError(row, row.error_code)
  if (row.outcome === null) return { tone: 'neutral', sentence: 'The request is still running.', actions: [] }
  return OUTCOME_SENTENCES[row.outcome](row)
}

function explainError(row: UsageRow, code: string): Explanation {
  const isKnown = code in REFUSALS
  const tone = row.outcome === 'refused' && !(isKnown && FAULTS.has(code)) ? 'refused' : 'failed'
  const words: Explain = isKnown ? ERRORS[code as RefusalCode] : said
  const [sentence, ...actions] = words(row, row.error_detail ?? {})
  return { tone, sentence: `${tone === 'refused' ? 'Refused' : 'Failed'}: ${sentence}`, actions }
}

// Not the caller's doing.
const FAULTS: ReadonlySet<string> = new Set<RefusalCode>([
  'provider_unavailable',
  'upstream_timeout',
  'all_providers_failed',
  'service_unavailable',
  'internal_error',
])

const editKey = (label: string, { key_id: id }: UsageRow): Action => ({ label, href: `/keys/${id}?open=edit` })
const editAccount = (label: string, { account_id: id }: UsageRow): Action => ({
  label,
  href: `/accounts/${id}?open=edit`,
})
const addCredits = ({ account_id: id }: UsageRow): Action => ({
  label: 'Add credits',
  href: `/accounts/${id}?open=credits`,
})
const openProvider: Action = { label: 'Open providers', href: '/providers' }
const openModel = ({ model_requested: model }: UsageRow): Action => ({
  label: 'Open models',
  href: `/models?q=${encodeURIComponent(model ?? '')}`,
})

// What the caller was told, where that is all there is to say.
const said: Explain = ({ error_message: message, error_code: code }) => [
  lowerFirst(
    withoutControls(
      message ?? (code !== null && code in REFUSALS ? REFUSALS[code as RefusalCode].message : `${code}.`),
    ),
  ),
]

const invalid: Explain = (row, detail) => {
  const [message] = said(row, detail)
  const { param } = detail
  return [`the request is not valid${typeof param === 'string' ? ` (${isolated(param)})` : ''}: ${message}`]
}

const providerFailed =
  (words: string): Explain =>
  (row, detail) => {
    const tried = [...new Set(row.attempts.map(({ provider }) => provider))]
    const by = tried.length === 0 ? '' : ` Tried: ${tried.join(', ')}.`
    const last = lastWords(row, detail)
    return [`${words}.${by}${last === undefined ? '' : ` ${stop(withoutControls(last))}`}`, openProvider]
  }

// What a provider said, rather than what the client was told.
function lastWords({ error_message: message, error_code: code }: UsageRow, { attempts }: Detail): string | undefined {
  const isOurs = message === REFUSALS[code as RefusalCode].message
  if (message !== null && !isOurs) return message
  return Array.isArray(attempts) ? errorOf(attempts.at(-1)) : undefined
}

function errorOf(attempt: unknown): string | undefined {
  const error: unknown =
    typeof attempt === 'object' && attempt !== null && 'error' in attempt ? attempt.error : undefined
  return typeof error === 'string' ? error : undefined
}

// What the client was told. The words of a provider that failed are kept for operators; the client gets a message of the
// gateway, which is not kept.
export function clientMessage({
  error_code: code,
  error_message: message,
  error_detail: detail,
}: UsageRow): string | null {
  if (!PROVIDER_FAILURES.has(code ?? '')) return message
  const attempts: readonly unknown[] = Array.isArray(detail?.attempts) ? detail.attempts : []
  return attempts.some(attempt => errorOf(attempt) === message) ? null : message
}

const PROVIDER_FAILURES: ReadonlySet<string> = new Set<RefusalCode>([
  'provider_unavailable',
  'upstream_timeout',
  'all_providers_failed',
])

// A record, so that a new code in the domain is a type error here.
const ERRORS: Readonly<Record<RefusalCode, Explain>> = {
  malformed_request: invalid,
  request_timeout: said,
  expectation_failed: said,
  headers_too_large: said,
  duplicate_authorization: said,
  invalid_api_key: said,
  too_many_failures: said,
  ip_not_allowed: row => [
    `the IP allowlist of the key does not include ${row.client_ip}.`,
    editKey('Edit IP allowlist', row),
  ],
  account_suspended: row => ['the account is suspended.', editAccount('Reactivate account', row)],
  not_found: said,
  method_not_allowed: said,
  insufficient_scope: (row, { required_scope: scope }) => [
    typeof scope === 'string' ? `the key does not have the scope ${scope}.` : 'the key lacks a scope.',
    editKey('Edit scopes', row),
  ],
  rate_limit_exceeded: (row, { quota, limit }) =>
    limit === 'unpaid'
      ? ['too many requests with this key were refused for insufficient credits.', addCredits(row)]
      : [`the key’s limit of ${requests(quota)} per minute was reached.`, editKey('Raise limit', row)],
  daily_limit_exceeded: (row, { quota }) => [
    `the key’s limit of ${requests(quota)} per day was reached. It resets at midnight UTC.`,
    editKey('Raise limit', row),
  ],
  concurrency_exceeded: (row, { quota }) => [
    `the key’s limit of ${requests(quota, 'concurrent ')} was reached.`,
    editKey('Raise limit', row),
  ],
  unsupported_media_type: invalid,
  request_too_large: invalid,
  invalid_json: invalid,
  invalid_value: invalid,
  missing_field: invalid,
  unsupported_value: invalid,
  model_not_found: row => [
    `the model “${isolated(row.model_requested ?? '')}” does not exist or is not active.`,
    openModel(row),
  ],
  model_not_allowed: row => [
    `the key may not use the model “${isolated(row.model_requested ?? '')}”.`,
    editKey('Edit allowed models', row),
  ],
  context_length_exceeded: (row, detail) => [said(row, detail)[0], openModel(row)],
  insufficient_credits: insufficientCredits,
  budget_exceeded: budgetExceeded,
  credits_held: row => ['the remaining credits were held by requests that were still running.', addCredits(row)],
  upstream_rejected: row => [
    `${row.attempts.at(-1)?.provider ?? 'the provider'} rejected the request as invalid${
      row.error_message === null ? '.' : `: ${stop(withoutControls(row.error_message))}`
    }`,
    openModel(row),
  ],
  provider_unavailable: providerFailed('every provider of the model was rate limited, overloaded or down'),
  upstream_timeout: providerFailed('the provider did not respond in time'),
  all_providers_failed: providerFailed('no provider could serve the request'),
  service_unavailable: (row, detail) => [
    `the gateway could not serve the request: ${said(row, detail)[0]}`,
    { label: 'Open nodes', href: '/nodes' },
  ],
  internal_error: () => ['an internal error occurred. The log of the gateway has the request ID.'],
  csrf_failed: said,
  operator_is_viewer: said,
  portal_session_required: said,
  permission_missing: said,
  conflict: said,
  too_many_secrets: said,
  idempotency_mismatch: said,
}

function insufficientCredits(row: UsageRow, detail: Detail): ReturnType<Explain> {
  const { limit, available, required, owed, affordable_max_tokens: tokens } = detail
  const needs = isAmount(required) ? ` The request may cost up to ${amount(required)}.` : ''
  const fits = typeof tokens === 'number' && tokens > 0 ? ` It fits with max_tokens of ${count(tokens)} or less.` : ''
  if (limit === 'key') {
    const left = isAmount(available) ? ` has ${amount(available)} left` : ' is used up'
    return [`the key’s credit limit${left}.${needs}${fits}`, editKey('Raise limit', row)]
  }
  if (isAmount(owed) && !isZero(owed)) {
    return [`the account is overdrawn by ${amountWithUnit(owed)}.`, addCredits(row)]
  }
  const has = isAmount(available) ? ` has ${amountWithUnit(available)} left` : ' does not have enough credits'
  return [`the account${has}.${needs}${fits}`, addCredits(row)]
}

function budgetExceeded(row: UsageRow, detail: Detail): ReturnType<Explain> {
  const { budget, window, amount: most, available, required, resets_at: resets } = detail
  const isAccount = budget === 'account'
  const per = window === 'total' ? 'in total' : `per ${window}`
  const size = isAmount(most) ? ` of ${amount(most)} ${per}` : ''
  const left = isAmount(available) && !isZero(available) ? ` has ${amount(available)} left` : ' is used up'
  const needs = isAmount(required) ? `, and the request may cost up to ${amount(required)}` : ''
  const until = typeof resets === 'string' ? ` It resets at ${resets.slice(0, 16).replace('T', ' ')} UTC.` : ''
  return [
    `the ${isAccount ? 'account' : 'key'}’s budget${size}${left}${needs}.${until}`,
    isAccount ? editAccount('Raise budget', row) : editKey('Raise budget', row),
  ]
}

type Outcome = NonNullable<UsageRow['outcome']>

const OUTCOME_SENTENCES: Readonly<Record<Outcome, (row: UsageRow) => Explanation>> = {
  completed(row) {
    const failed = row.attempts.filter(({ outcome }) => outcome !== 'answered').length
    const after = failed === 0 ? '' : ` after ${failed === 1 ? 'one failed attempt' : `${failed} failed attempts`}`
    const by = row.provider === null ? '' : ` by ${row.provider}`
    return plain('good', `Served${by} in ${duration(durationMs(row))}${after}, for ${credits(row)}.`)
  },
  client_left: row => plain('neutral', `The client disconnected before the end and was charged ${credits(row)}.`),
  upstream_failed: row => plain('failed', `Failed: no provider could serve the request. Charged ${credits(row)}.`),
  upstream_broke: row =>
    plain('failed', `Failed: the provider interrupted its response. The client was charged ${credits(row)}.`),
  refused: () => plain('refused', 'Refused. The reason was not stored.'),
  recovered: row =>
    plain('neutral', `The node stopped while it served the request; ${credits(row)} were charged for what was sent.`),
}

function plain(tone: Explanation['tone'], sentence: string): Explanation {
  return { tone, sentence, actions: [] }
}

function credits({ cost }: UsageRow): string {
  return isZero(cost) ? 'nothing' : amountWithUnit(cost)
}

function isAmount(value: unknown): value is string {
  return typeof value === 'string'
}

// "1 concurrent request", "300 requests"; without the number if the row does not have it.
function requests(value: unknown, kind = ''): string {
  return `${typeof value === 'number' ? `${count(value)} ` : ''}${kind}${value === 1 ? 'request' : 'requests'}`
}

function stop(text: string): string {
  return /[.!?]$/.test(text) ? text : `${text}.`
}

function lowerFirst(text: string): string {
  return /^[A-Z][a-z]/.test(text) ? text.charAt(0).toLowerCase() + text.slice(1) : text
}
