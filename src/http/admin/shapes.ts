// The admin API's response objects as JSON Schema.
import { Type } from 'typebox'
import { ATTENTION_KINDS } from '../../admin/attention.ts'
import { BUDGET_ACTIONS, BUDGET_WINDOWS, BUDGETS_MAX, THRESHOLDS_MAX } from '../../domain/budget.ts'
import {
  ACCOUNT_STATES,
  ACCOUNT_STATUSES,
  ALLOWED_MODELS_MAX,
  CONCURRENT_LIMIT_MAX,
  DAILY_LIMIT_MAX,
  KEY_STATES,
  KEY_STATUS_FILTERS,
  KEY_STATUSES,
  RPM_LIMIT_MAX,
  SCOPES,
} from '../../domain/key.ts'
import { PORTAL_KEYS_MAX } from '../../domain/portal-key-limits.ts'
import { REASONS } from '../../domain/routing.ts'
import { TAG_NAME_PATTERN } from '../../domain/tags.ts'
import { ENDPOINTS, MODEL_NAME_MAX, OUTCOMES, ROW_STATES, USAGE_SOURCES } from '../../domain/usage.ts'
import { LEDGER_KINDS, OVERVIEW_STEPS, SUMMARY_GROUPS } from '../../store/contract/operator.ts'
import { RatesShape } from '../price-shapes.ts'

const CREDITS_PATTERN = '^-?\\d+(\\.\\d+)?$'
export const Credits = Type.String({
  description: 'Credits as a decimal string, at most nine decimals.',
  maxLength: 32,
  pattern: CREDITS_PATTERN,
})
// A date, or a time with its zone.
export const TIME_PATTERN = '^\\d{4}-\\d{2}-\\d{2}(T\\d{2}:\\d{2}(:\\d{2}(\\.\\d{1,9})?)?(Z|[+-]\\d{2}:\\d{2}))?$'
export const Time = Type.String({ description: 'ISO 8601', maxLength: 40, pattern: TIME_PATTERN })
const TAG_NAME = TAG_NAME_PATTERN.slice(1, -1)
export const TAG_FILTER_PATTERN = `^${TAG_NAME}:.+$`
export const GROUP_PATTERN = `^(${SUMMARY_GROUPS.join('|')}|tag:${TAG_NAME})$`
// Customers see one account, and providers are the operator's.
export const PORTAL_GROUPS = SUMMARY_GROUPS.filter(group => group !== 'account' && group !== 'provider')
export const PORTAL_GROUP_PATTERN = `^(${PORTAL_GROUPS.join('|')}|tag:${TAG_NAME})$`
// The description of a pattern in a refusal. Others are ids.
export const PATTERN_WORDS: Readonly<Record<string, string>> = {
  [CREDITS_PATTERN]: 'a decimal string with at most nine decimals, such as "10.00"',
  [TIME_PATTERN]: 'an ISO 8601 date, or a date and time with a time zone',
  [TAG_NAME_PATTERN]: '1 to 32 characters from a-z, 0-9, "_", "." and "-"',
  [GROUP_PATTERN]: `one of ${SUMMARY_GROUPS.join(', ')}, or a tag such as tag:team`,
  [PORTAL_GROUP_PATTERN]: `one of ${PORTAL_GROUPS.join(', ')}, or a tag such as tag:team`,
}
export const ScopeName = Type.Enum([...SCOPES])
const Status = Type.Enum([...KEY_STATUSES])
export const StatusFilter = Type.Enum([...KEY_STATUS_FILTERS], {
  description: '`stopped`: active, and a limit or budget of the key is reached.',
})
export const AccountStatusName = Type.Enum([...ACCOUNT_STATUSES])

export const nullable = <T extends Parameters<typeof Type.Union>[0][number]>(type: T) => Type.Union([type, Type.Null()])
const Version = Type.Integer({ minimum: 1, description: 'Increases with every change; send it as `If-Match`.' })
const Tokens = Type.Integer({ minimum: 0 })

const TagsShape = Type.Record(Type.String(), Type.String(), { description: 'Names with values.' })
const BUDGET = {
  amount: Credits,
  window: Type.Enum([...BUDGET_WINDOWS], {
    description:
      'Calendar windows in UTC; weeks begin on Monday. A cost counts in the window in which its request began.',
  }),
}
const BudgetActionName = Type.Enum([...BUDGET_ACTIONS], {
  description: '`block` refuses requests that could exceed the amount; `alert` only raises events.',
})
const Thresholds = Type.Array(Type.Integer({ minimum: 1, maximum: 100 }), {
  maxItems: THRESHOLDS_MAX,
  description: 'In percent of the amount: an event is raised when one is reached.',
})
export const BudgetInputs = Type.Array(
  Type.Object(
    { ...BUDGET, action: Type.Optional(BudgetActionName), thresholds: Type.Optional(Thresholds) },
    { additionalProperties: false },
  ),
  {
    maxItems: BUDGETS_MAX,
    description: 'Replaces all budgets. `action` is `block` and `thresholds` are 80 and 100 if absent.',
  },
)
export const BUDGET_STATE = {
  ...BUDGET,
  action: BudgetActionName,
  thresholds: Thresholds,
  spent: Credits,
  held: Credits,
  remaining: Credits,
  resets_at: nullable(Time),
}
const BUDGETED = { spent: Credits, spent_this_month: Credits, budgets: Type.Array(Type.Object(BUDGET_STATE)) }

const KEY = {
  object: Type.Literal('key'),
  id: Type.String(),
  name: Type.String(),
  label: Type.String({ description: 'Prefix and last four characters of the current secret.' }),
  status: Status,
  state: Type.Enum([...KEY_STATES], {
    description: 'The status, or what stops an active key: its credit or daily limit, or a budget, is used up.',
  }),
  account_id: Type.String(),
  scopes: Type.Array(ScopeName),
  ip_allowlist: Type.Array(Type.String()),
  rpm_limit: Type.Integer(),
  daily_limit: nullable(Type.Integer()),
  credit_limit: nullable(Credits),
  max_concurrent: Type.Integer(),
  allowed_models: Type.Array(Type.String(), { description: 'The only models that it may use. Empty: all.' }),
  tags: TagsShape,
  ...BUDGETED,
  version: Version,
  created_at: Time,
  expires_at: nullable(Time),
  revoked_at: nullable(Time),
  last_used_at: nullable(Time),
  previous: Type.Array(
    Type.Object({ last4: Type.String(), grace_expires_at: nullable(Time), last_used_at: nullable(Time) }),
  ),
}
export const KeyShape = Type.Object(KEY)
export const KeyWithSecretShape = Type.Object({
  ...KEY,
  secret: Type.String({ description: 'The secret, shown only once.' }),
})

const limitUpTo = (maximum: number, minimum = 1) => nullable(Type.Integer({ minimum, maximum }))
const KEY_LIMITS = {
  max_keys: limitUpTo(PORTAL_KEYS_MAX, 0),
  rpm_limit: limitUpTo(RPM_LIMIT_MAX),
  daily_limit: limitUpTo(DAILY_LIMIT_MAX),
  max_concurrent: limitUpTo(CONCURRENT_LIMIT_MAX),
  credit_limit: nullable(Credits),
  expires_in_days: limitUpTo(3650),
  allowed_models: Type.Array(Type.String({ minLength: 1, maxLength: MODEL_NAME_MAX }), {
    maxItems: ALLOWED_MODELS_MAX,
  }),
}
export const PortalKeyLimitsInput = Type.Partial(Type.Object(KEY_LIMITS), {
  additionalProperties: false,
  description:
    'The highest values of keys that customers create in the portal, and the number of active keys of the account. Replaces all limits; an absent one or `null` is no limit.',
})
const PortalKeyLimitsShape = Type.Object(KEY_LIMITS)

export const AccountShape = Type.Object({
  object: Type.Literal('account'),
  id: Type.String(),
  name: Type.String(),
  status: AccountStatusName,
  state: Type.Enum([...ACCOUNT_STATES], {
    description:
      'The status, or what stops all keys of an active account: no credits are left, or a budget is used up.',
  }),
  balance: Type.Object({ available: Credits, held: Credits, spent: Credits, owed: Credits }),
  ...BUDGETED,
  low_balance: nullable(Credits),
  contact_email: nullable(Type.String()),
  external_id: nullable(Type.String({ description: "Its id in the operator's own system." })),
  portal_key_limits: nullable(PortalKeyLimitsShape),
  version: Version,
  created_at: Time,
})

export const SearchResultShape = Type.Object({
  object: Type.Literal('search_result'),
  type: Type.Enum(['account', 'key', 'model', 'request']),
  id: Type.String(),
  name: Type.String(),
  detail: nullable(Type.String({ description: 'What tells it from others of the same name.' })),
})

export const LedgerEntryShape = Type.Object({
  object: Type.Literal('ledger_entry'),
  id: Type.String(),
  account_id: Type.String(),
  kind: Type.Enum([...LEDGER_KINDS]),
  amount: Credits,
  balance: nullable(
    Type.String({
      description:
        'After this entry: the available and held credits, less what is owed. `null` where one was just made.',
    }),
  ),
  request_id: nullable(Type.String()),
  note: nullable(Type.String()),
  created_at: Time,
  from: nullable(Time),
  to: nullable(Time),
  requests: nullable(
    Type.Integer({ minimum: 0, description: 'Of a charge: the number of requests of that day, charged or not.' }),
  ),
  errors: nullable(
    Type.Integer({ minimum: 0, description: 'Of a charge: how many of these requests failed or were refused.' }),
  ),
})

export const ConsideredShape = Type.Object({
  model: Type.String({ description: 'Catalog id of the model.' }),
  provider: nullable(Type.String()),
  position: nullable(Type.Integer({ minimum: 0, description: 'Starts at 0; null if it was not a candidate.' })),
  reason: Type.Enum([...REASONS]),
})

export const UsageShape = Type.Object({
  object: Type.Literal('usage'),
  request_id: Type.String(),
  client_request_id: nullable(Type.String()),
  account_id: Type.String(),
  key_id: Type.String(),
  secret_last4: Type.String(),
  endpoint: Type.Enum([...ENDPOINTS]),
  model_requested: nullable(Type.String()),
  model_served: nullable(Type.String()),
  provider: nullable(Type.String()),
  attempts: Type.Array(
    Type.Object({
      provider: Type.String(),
      model: Type.String(),
      outcome: Type.String(),
      status: nullable(Type.Integer()),
      ms: Type.Number(),
    }),
  ),
  stream: Type.Boolean(),
  state: Type.Enum([...ROW_STATES]),
  outcome: nullable(Type.Enum([...OUTCOMES])),
  http_status: nullable(Type.Integer()),
  error_code: nullable(Type.String()),
  finish_reason: nullable(Type.String()),
  prompt_tokens: Tokens,
  cached_tokens: Tokens,
  cache_write_tokens: Tokens,
  cache_write_1h_tokens: Tokens,
  image_tokens: Tokens,
  audio_tokens: Tokens,
  completion_tokens: Tokens,
  reasoning_tokens: Tokens,
  usage_source: Type.Enum([...USAGE_SOURCES]),
  price_version: nullable(Type.String()),
  price: nullable(RatesShape),
  hold: Credits,
  cost: Credits,
  upstream_cost: nullable(Credits),
  created_at: Time,
  first_byte_at: nullable(Time),
  finished_at: nullable(Time),
  client_ip: Type.String(),
  upstream_id: nullable(Type.String()),
  requests: Type.Integer({ minimum: 1 }),
  tags: TagsShape,
})

export const OperatorUsageShape = Type.Object({
  ...UsageShape.properties,
  routing: Type.Array(ConsideredShape, { description: 'The candidates, their order and the reason for each.' }),
  error_message: nullable(
    Type.String({ description: "Why it was refused or failed: the refusal's message, or the provider's own words." }),
  ),
  error_detail: nullable(
    Type.Object(
      {},
      {
        additionalProperties: true,
        description: 'The figures of a refusal, such as its limit; of a failure, the error of each attempt.',
      },
    ),
  ),
})

const SPENDING = {
  requests: Type.Integer(),
  errors: Type.Integer(),
  errors_by_cause: Type.Object(
    {
      caller: Type.Integer({ minimum: 0, description: 'Invalid requests, unknown models, missing permissions.' }),
      limits: Type.Integer({ minimum: 0, description: 'Rate limits, daily limits and concurrency limits.' }),
      money: Type.Integer({ minimum: 0, description: 'Credits or a budget did not suffice.' }),
      provider: Type.Integer({ minimum: 0, description: 'Failures and timeouts of providers.' }),
    },
    { description: 'Errors that are in none of these are errors of the gateway.' },
  ),
  prompt_tokens: Tokens,
  completion_tokens: Tokens,
  cost: Credits,
  upstream_cost: Type.Union([Credits, Type.Null()], {
    description: 'What providers charged, as far as targets state it. Null if it is unknown for all requests.',
  }),
  margin: Type.Union([Credits, Type.Null()], {
    description: 'Cost less upstream cost, of the requests whose upstream cost is known.',
  }),
  requests_without_upstream_cost: Type.Integer({
    minimum: 0,
    description: 'Requests that a provider served and whose upstream cost is unknown: not part of the margin.',
  }),
  failovers: Type.Integer({ minimum: 0, description: 'Requests that needed more than one attempt.' }),
}

export const SummaryShape = Type.Object({
  object: Type.Literal('usage_summary'),
  group: Type.String(),
  ...SPENDING,
})

const Milliseconds = nullable(Type.Integer({ minimum: 0 }))
const MOMENT = { ...SPENDING, p50_ms: Milliseconds, p95_ms: Milliseconds }
const Named = Type.Object({ id: Type.String(), ...SPENDING })

const EffectiveTime = Type.String({
  maxLength: 40,
  description: 'ISO 8601. Rounded to the hour where only hourly sums are left.',
})

export const OverviewShape = Type.Object({
  object: Type.Literal('overview'),
  from: EffectiveTime,
  to: EffectiveTime,
  step: Type.Enum([...OVERVIEW_STEPS], { description: 'Hours where the rows of single minutes are gone.' }),
  time_zone: Type.String({
    description: 'Of the days: the requested one, or UTC where its days do not begin with a full hour of UTC.',
  }),
  totals: Type.Object(MOMENT),
  previous: Type.Object(
    { from: EffectiveTime, to: EffectiveTime, ...MOMENT },
    { description: 'The span of the same length before.' },
  ),
  series: Type.Array(Type.Object({ at: Time, ...MOMENT })),
  top: Type.Object({
    models: Type.Array(Named),
    keys: Type.Array(Type.Object({ id: Type.String(), name: Type.String(), label: Type.String(), ...SPENDING })),
    providers: Type.Array(Named),
    accounts: Type.Array(Type.Object({ id: Type.String(), name: Type.String(), ...SPENDING })),
  }),
  attention: Type.Array(
    Type.Object({
      kind: Type.Enum([...ATTENTION_KINDS]),
      severity: Type.Enum(['error', 'warning']),
      id: nullable(Type.String({ description: 'Id of the provider, key, account or webhook.' })),
      name: Type.String(),
      message: Type.String({ description: 'A sentence that begins with the name.' }),
    }),
    {
      description: 'What an operator should look at, most urgent first. Providers are those of the node that answers.',
    },
  ),
  low_balances: Type.Array(Type.Object({ id: Type.String(), name: Type.String(), available: Credits, owed: Credits })),
})

export const EventShape = Type.Object({
  object: Type.Literal('event'),
  id: Type.String(),
  at: Time,
  actor: Type.String({
    description: 'The name of the operator at that time, or `portal:` and the account for a customer.',
  }),
  actor_id: nullable(
    Type.String({
      description: 'The id of the operator or portal session; null if there was none or it was not recorded.',
    }),
  ),
  address: Type.String(),
  action: Type.String(),
  subject: Type.String(),
  detail: nullable(Type.String()),
})

export const NodeShape = Type.Object({
  object: Type.Literal('node'),
  id: Type.String(),
  name: Type.String(),
  version: Type.String(),
  started_at: Time,
  renewed_at: Time,
  state: Type.Enum(['alive', 'silent']),
  self: Type.Boolean({ description: 'Whether this node served the response.' }),
  requests_in_flight: Type.Integer({ minimum: 0 }),
})
