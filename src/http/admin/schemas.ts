// Every endpoint of the admin API with its input and responses: the endpoints validate by this table, and the OpenAPI document is
// made from it.
import { Type } from 'typebox'
import { EMAIL_MAX, EXTERNAL_ID_MAX, NAME_MAX, NOTE_MAX } from '../../admin/input.ts'
import { USAGE_SORTS } from '../../admin/reports.ts'
import { ERROR_CAUSES, FAILED } from '../../domain/error-cause.ts'
import {
  ALLOWED_MODELS_MAX,
  ALLOWLIST_ENTRIES_MAX,
  CONCURRENT_LIMIT_MAX,
  DAILY_LIMIT_MAX,
  RPM_LIMIT_MAX,
} from '../../domain/key.ts'
import { REFUSALS, type RefusalCode } from '../../domain/refusal.ts'
import { KEY_TAGS_MAX, TAG_FILTERS_MAX, TAG_NAME_PATTERN, TAG_VALUE_MAX } from '../../domain/tags.ts'
import { ENDPOINTS, MODEL_NAME_MAX, OUTCOMES } from '../../domain/usage.ts'
import {
  ACCOUNT_SORTS,
  KEY_SORTS,
  LEDGER_KINDS,
  OVERVIEW_STEPS,
  SUMMARY_GROUPS,
  type SummaryGroup,
} from '../../store/contract/operator.ts'
import { ACCESS } from './access-schemas.ts'
import { CATALOG } from './catalog-schemas.ts'
import {
  CHANGE,
  CREATE,
  type Endpoint,
  endpoint,
  Id,
  ifMatch,
  listOf,
  paging,
  READ,
  sortedListOf,
  sortedPaging,
  strict,
} from './endpoint-table.ts'
import { PORTAL_SESSIONS } from './portal-session-schemas.ts'
import {
  AccountShape,
  AccountStatusName,
  BudgetInputs,
  Credits,
  EventShape,
  GROUP_PATTERN,
  KeyShape,
  KeyWithSecretShape,
  LedgerEntryShape,
  NodeShape,
  OperatorUsageShape,
  OverviewShape,
  PortalKeyLimitsInput,
  ScopeName,
  SearchResultShape,
  StatusFilter,
  SummaryShape,
  Time,
} from './shapes.ts'
import { WEBHOOKS } from './webhook-schemas.ts'

export const Name = Type.String({ minLength: 1, maxLength: NAME_MAX })
export const Search = Type.Optional(
  Type.String({ description: 'Part of the name or id; for keys also the last four characters.', maxLength: NAME_MAX }),
)

const ExactName = Type.Optional(Type.String({ description: 'Exactly this name.', minLength: 1, maxLength: NAME_MAX }))

export const controls = {
  scopes: Type.Optional(Type.Array(ScopeName, { maxItems: 16 })),
  ip_allowlist: Type.Optional(
    Type.Array(Type.String({ minLength: 1, maxLength: 64 }), { maxItems: ALLOWLIST_ENTRIES_MAX }),
  ),
  rpm_limit: Type.Optional(Type.Integer({ minimum: 1, maximum: RPM_LIMIT_MAX })),
  daily_limit: Type.Optional(Type.Union([Type.Integer({ minimum: 1, maximum: DAILY_LIMIT_MAX }), Type.Null()])),
  credit_limit: Type.Optional(Type.Union([Credits, Type.Null()])),
  max_concurrent: Type.Optional(Type.Integer({ minimum: 1, maximum: CONCURRENT_LIMIT_MAX })),
  expires_at: Type.Optional(Type.Union([Time, Type.Null()])),
  allowed_models: Type.Optional(
    Type.Array(Type.String({ minLength: 1, maxLength: MODEL_NAME_MAX }), {
      maxItems: ALLOWED_MODELS_MAX,
      description: 'Ids or aliases of models, or patterns in which `*` stands for any text. Empty: all models.',
    }),
  ),
  tags: Type.Optional(
    Type.Record(Type.String({ pattern: TAG_NAME_PATTERN }), Type.String({ minLength: 1 }), {
      maxProperties: KEY_TAGS_MAX,
      additionalProperties: false,
      description: `Names of lower-case letters, digits, \`_\`, \`.\` and \`-\`, with values of up to ${TAG_VALUE_MAX} characters.`,
    }),
  ),
  budgets: Type.Optional(BudgetInputs),
}

const ExternalId = Type.String({ minLength: 1, maxLength: EXTERNAL_ID_MAX, pattern: '^[!-~]+$' })

const accountSettings = {
  budgets: Type.Optional(BudgetInputs),
  low_balance: Type.Optional(
    Type.Union([Credits, Type.Null()], { description: 'An event is raised when less is available. `null`: never.' }),
  ),
  contact_email: Type.Optional(Type.Union([Type.String({ maxLength: EMAIL_MAX }), Type.Null()])),
  external_id: Type.Optional(
    Type.Union([ExternalId, Type.Null()], { description: "Its id in the operator's own system. Need not be unique." }),
  ),
  portal_key_limits: Type.Optional(Type.Union([PortalKeyLimitsInput, Type.Null()])),
}

export const usageFilter = {
  from: Type.Optional(Time),
  to: Type.Optional(Time),
  key_id: Type.Optional(Id),
  account_id: Type.Optional(Id),
  model: Type.Optional(Type.String({ maxLength: MODEL_NAME_MAX })),
  provider: Type.Optional(Type.String({ maxLength: 200 })),
  endpoint: Type.Optional(Type.Enum([...ENDPOINTS, 'all'])),
  outcome: Type.Optional(
    Type.Enum([...OUTCOMES, FAILED], { description: '`failed`: refused, upstream_failed or upstream_broke.' }),
  ),
  cause: Type.Optional(
    Type.Enum([...ERROR_CAUSES], { description: 'Only requests that failed, and whose doing it was.' }),
  ),
  tag: Type.Optional(
    Type.Array(Type.String({ maxLength: 200 }), {
      maxItems: TAG_FILTERS_MAX,
      description: 'Only requests with this tag, such as `team:search`. Repeatable; all must match.',
    }),
  ),
}

// Those that a row can have.
const ROW_CODES = (Object.keys(REFUSALS) as RefusalCode[]).filter(code => REFUSALS[code].row !== 'none')

const rowFilter = {
  ...usageFilter,
  error_code: Type.Optional(
    Type.Array(Type.Enum(ROW_CODES), {
      maxItems: ROW_CODES.length,
      description: 'Only requests that failed with this code. Repeatable; any may match.',
    }),
  ),
}

// By time, by a dimension, or by the values of a tag.
const GroupBy = Type.Unsafe<SummaryGroup>(
  Type.String({ pattern: GROUP_PATTERN, description: `${SUMMARY_GROUPS.join(', ')}, or a tag such as \`tag:team\`.` }),
)

// Without `sort` newest first.
const sortedBy = <Name extends string>(names: readonly Name[], usual: string) => ({
  sort: Type.Optional(Type.Enum([...names], { description: `Instead of newest first. ${usual}` })),
  order: Type.Optional(Type.Enum(['asc', 'desc'], { description: 'The direction of `sort`.' })),
})

export const UsageFormat = Type.Enum(['json', 'csv'], {
  description: 'Instead of the `Accept` header, which links in a browser cannot set.',
})

export const ADMIN = {
  createKey: endpoint('POST', '/keys', 'Create a key; its secret is shown only once', CREATE, KeyWithSecretShape, {
    body: Type.Object({ name: Name, account_id: Type.Optional(Id), ...controls }, strict),
  }),
  createPlaygroundKey: endpoint(
    'POST',
    '/keys/playground',
    'Create a short-lived key for the playground',
    CREATE,
    KeyWithSecretShape,
    { body: Type.Object({ account_id: Type.Optional(Id) }, strict) },
  ),
  listKeys: endpoint('GET', '/keys', 'List keys, newest first or sorted', READ, sortedListOf(KeyShape), {
    query: Type.Object(
      {
        status: Type.Optional(StatusFilter),
        account_id: Type.Optional(Id),
        name: ExactName,
        last4: Type.Optional(
          Type.String({ description: 'The last four characters of a secret.', minLength: 4, maxLength: 4 }),
        ),
        q: Search,
        ...sortedBy(KEY_SORTS, 'Names ascend unless `order` says otherwise, the others descend.'),
        ...sortedPaging('key'),
      },
      strict,
    ),
  }),
  getKey: endpoint('GET', '/keys/{id}', 'Read a key', READ, KeyShape, {}),
  updateKey: endpoint('PATCH', '/keys/{id}', 'Update a key; takes effect with the next request', CHANGE, KeyShape, {
    ...ifMatch,
    body: Type.Object({ name: Type.Optional(Name), ...controls }, strict),
  }),
  rotateKey: endpoint('POST', '/keys/{id}/rotate', 'Rotate a key', CHANGE, KeyWithSecretShape, {
    body: Type.Object({}, strict),
  }),
  endGrace: endpoint('POST', '/keys/{id}/end-grace', 'End the grace period of old secrets', CHANGE, KeyShape, {
    body: Type.Object({ last4: Type.Optional(Type.String({ minLength: 4, maxLength: 4 })) }, strict),
  }),
  resetDay: endpoint('POST', '/keys/{id}/reset-day', 'Reset the daily request count of a key', CHANGE, KeyShape, {
    body: Type.Object({}, strict),
  }),
  revokeKey: endpoint('POST', '/keys/{id}/revoke', 'Revoke a key permanently', CHANGE, KeyShape, {
    body: Type.Object({ abort_streams: Type.Optional(Type.Boolean()) }, strict),
  }),
  createAccount: endpoint('POST', '/accounts', 'Create an account', CREATE, AccountShape, {
    body: Type.Object({ name: Name, ...accountSettings }, strict),
  }),
  listAccounts: endpoint(
    'GET',
    '/accounts',
    'List accounts, newest first or sorted',
    READ,
    sortedListOf(AccountShape),
    {
      query: Type.Object(
        {
          status: Type.Optional(AccountStatusName),
          name: ExactName,
          external_id: Type.Optional(
            Type.String({
              minLength: 1,
              maxLength: EXTERNAL_ID_MAX,
              description: 'Only accounts with exactly this external id.',
            }),
          ),
          q: Search,
          ...sortedBy(
            ACCOUNT_SORTS,
            '`available` is less what is owed. Names ascend unless `order` says otherwise, the others descend.',
          ),
          ...sortedPaging('account'),
        },
        strict,
      ),
    },
  ),
  getAccount: endpoint('GET', '/accounts/{id}', 'Read an account', READ, AccountShape, {}),
  updateAccount: endpoint('PATCH', '/accounts/{id}', 'Update, suspend or reactivate an account', CHANGE, AccountShape, {
    ...ifMatch,
    body: Type.Object(
      { name: Type.Optional(Name), status: Type.Optional(AccountStatusName), ...accountSettings },
      strict,
    ),
  }),
  addCredits: endpoint(
    'POST',
    '/accounts/{id}/credits',
    'Add credits, or deduct them with a negative amount',
    [201, 400, 401, 403, 404, 409, 413, 415, 422, 429, 503],
    LedgerEntryShape,
    {
      headers: Type.Object({ 'idempotency-key': Type.String({ minLength: 1, maxLength: 255, pattern: '^[ -~]+$' }) }),
      body: Type.Object(
        {
          amount: Credits,
          note: Type.Optional(Type.Union([Type.String({ maxLength: NOTE_MAX }), Type.Null()])),
        },
        strict,
      ),
    },
  ),
  listLedger: endpoint(
    'GET',
    '/accounts/{id}/ledger',
    'List the ledger of an account, newest first, as JSON or CSV',
    READ,
    listOf(LedgerEntryShape),
    {
      query: Type.Object(
        {
          kind: Type.Optional(Type.Enum([...LEDGER_KINDS], { description: 'Only entries of this kind.' })),
          from: Type.Optional(Time),
          to: Type.Optional(Time),
          ...paging('ledger entry'),
          format: Type.Optional(UsageFormat),
        },
        strict,
      ),
    },
  ),
  listUsage: endpoint(
    'GET',
    '/usage',
    'List usage rows, newest or most expensive first, as JSON or CSV',
    READ,
    sortedListOf(OperatorUsageShape),
    {
      query: Type.Object(
        {
          ...rowFilter,
          sort: Type.Optional(
            Type.Enum([...USAGE_SORTS], {
              description:
                'By time, newest first (default), or by cost, highest first. By cost the range, or that of the key or account, may have at most 100,000 rows.',
            }),
          ),
          format: Type.Optional(UsageFormat),
          ...sortedPaging('request'),
        },
        strict,
      ),
    },
  ),
  summariseUsage: endpoint(
    'GET',
    '/usage/summary',
    'Summarize usage rows, as JSON or CSV; by error code at most 100,000 of the range, key or account',
    READ,
    listOf(SummaryShape),
    {
      query: Type.Object({ ...rowFilter, group_by: GroupBy, format: Type.Optional(UsageFormat) }, strict),
    },
  ),
  overview: endpoint(
    'GET',
    '/overview',
    'Read the overview: what needs attention, totals, series and top spenders',
    READ,
    OverviewShape,
    {
      query: Type.Object(
        {
          from: Type.Optional(Time),
          to: Type.Optional(Time),
          step: Type.Optional(Type.Enum([...OVERVIEW_STEPS], { description: 'Minutes of at most three hours.' })),
          time_zone: Type.Optional(
            Type.String({
              maxLength: 64,
              description: 'An IANA time zone, whose days the step `day` has; UTC if absent.',
            }),
          ),
        },
        strict,
      ),
    },
  ),
  getUsage: endpoint('GET', '/usage/{request_id}', 'Read a usage row', READ, OperatorUsageShape, {}),
  listEvents: endpoint('GET', '/events', 'List the audit log, newest first', READ, listOf(EventShape), {
    query: Type.Object(
      {
        actor: Type.Optional(Type.String({ description: "The operator's name.", maxLength: NAME_MAX })),
        action: Type.Optional(
          Type.String({
            description: 'An action such as `key.revoke`, or `key` for all actions on keys.',
            maxLength: NAME_MAX,
          }),
        ),
        subject: Type.Optional(Type.String({ description: 'Id of the affected object.', maxLength: NAME_MAX })),
        from: Type.Optional(Time),
        to: Type.Optional(Time),
        ...paging('event'),
      },
      strict,
    ),
  }),
  search: endpoint(
    'GET',
    '/search',
    'Find accounts, keys, models and a request by a part of their names',
    READ,
    listOf(SearchResultShape),
    {
      query: Type.Object(
        {
          q: Type.String({
            minLength: 1,
            maxLength: NAME_MAX,
            description:
              'Part of a name, e-mail address or id, the last four characters of a secret, or a request id. At most six results of each type; the middle of a name is looked for in the newest 20,000 accounts and keys.',
          }),
        },
        strict,
      ),
    },
  ),
  listNodes: endpoint('GET', '/nodes', 'List the nodes that share the database', READ, listOf(NodeShape), {
    query: Type.Object({}, strict),
  }),
  ...PORTAL_SESSIONS,
  ...WEBHOOKS,
  ...CATALOG,
  ...ACCESS,
} satisfies Record<string, Endpoint>

export const ADMIN_ENDPOINTS: readonly Endpoint[] = Object.values(ADMIN)
