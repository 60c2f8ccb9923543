// Reports over the usage rows. Request ids sort by time, so a page or a time range is a range of the primary key.
import { DAY_MS } from '../../domain/key.ts'
import type { Considered } from '../../domain/routing.ts'
import type { Attempt, Endpoint, Outcome, RowState, UsageRow, UsageSource } from '../../domain/usage.ts'
import type { SummaryGroup, SummaryRow, UsageFilter, UsageReports } from '../contract-operator.ts'
import { type Conditions, conditions } from './conditions.ts'
import { big, bigOrNull, int, intOrNull, page, type Row, type Sql, text, textOrNull } from './sql.ts'
import { timePrefix } from './time-order.ts'

const USAGE_COLUMNS = `request_id, client_request_id, account_id, key_id, secret_last4, endpoint, model_requested,
  model_served, provider, attempts, routing, stream, state, outcome, http_status, error_code, finish_reason, prompt_tokens,
  cached_tokens, cache_write_tokens, completion_tokens, reasoning_tokens, usage_source, price_version, price, hold, cost,
  upstream_cost, created_at, first_byte_at, finished_at, client_ip, upstream_id`

const HOUR_MS = 3_600_000
// An id is made a little before or after its row's created_at is read; the exact time is then compared by itself.
const ID_SLACK_MS = 60_000
const GROUPS_MAX = 1000

const GROUP_BY: Readonly<Record<SummaryGroup, string>> = {
  day: `created_at / ${DAY_MS}`,
  hour: `created_at / ${HOUR_MS}`,
  model: "COALESCE(model_served, model_requested, '')",
  provider: "COALESCE(provider, '')",
  key: 'key_id',
  account: 'account_id',
}

export function sqlUsage(sql: Sql): UsageReports {
  return {
    async get(requestId, keyId) {
      const asked = conditions()
      asked.add('request_id = ?', requestId)
      asked.add('key_id = ?', keyId)
      const row = await sql.get(`SELECT ${USAGE_COLUMNS} FROM usage ${asked.where()}`, asked.params)
      return row === undefined ? undefined : readUsage(row)
    },

    async list(filter) {
      const end = await endOfLook(filter, sql)
      const asked = askedFor(filter)
      asked.add('request_id < ?', filter.after)
      asked.add('request_id >= ?', end)
      const rows = await sql.all(
        `SELECT ${USAGE_COLUMNS} FROM usage ${asked.where()} ORDER BY request_id DESC LIMIT ${asked.param(filter.limit + 1)}`,
        asked.params,
      )
      const { data, hasMore } = page(rows, filter.limit, readUsage)
      const next = hasMore ? data.at(-1)?.requestId : end
      return { data, hasMore: next !== undefined, next: next ?? null }
    },

    // Times newest first, everything else dearest first.
    async summary(filter, groupBy) {
      const asked = askedFor(filter)
      const byTime = groupBy === 'day' || groupBy === 'hour'
      const rows = await sql.all(
        `SELECT ${GROUP_BY[groupBy]} AS grp, COUNT(*) AS requests, SUM(prompt_tokens) AS prompt_tokens,
           SUM(CASE WHEN outcome IN ('refused', 'upstream_failed', 'upstream_broke') THEN 1 ELSE 0 END) AS errors,
           SUM(completion_tokens) AS completion_tokens, SUM(cost) AS cost
         FROM usage ${asked.where()} GROUP BY 1 ORDER BY ${byTime ? '1 DESC' : '6 DESC, 1'} LIMIT ${GROUPS_MAX}`,
        asked.params,
      )
      return rows.map(row => readSummary(row, groupBy))
    },
  }
}

// The oldest row that a page may look at, if there are more behind it: found in an index alone, without their rows.
async function endOfLook(filter: UsageFilter, sql: Sql): Promise<string | undefined> {
  if (filter.lookMax === undefined) return undefined
  const asked = inReach(filter)
  asked.add('request_id < ?', filter.after)
  const rows = await sql.all(
    `SELECT request_id FROM usage ${asked.where()} ORDER BY request_id DESC LIMIT 2 OFFSET ${asked.param(filter.lookMax - 1)}`,
    asked.params,
  )
  return rows.length === 2 ? text(rows[0]?.request_id) : undefined
}

function readUsage(row: Row): UsageRow {
  return {
    requestId: text(row.request_id),
    clientRequestId: textOrNull(row.client_request_id),
    accountId: text(row.account_id),
    keyId: text(row.key_id),
    secretLast4: text(row.secret_last4),
    endpoint: text(row.endpoint) as Endpoint,
    clientIp: text(row.client_ip),
    createdAt: int(row.created_at),
    modelRequested: textOrNull(row.model_requested),
    modelServed: textOrNull(row.model_served),
    provider: textOrNull(row.provider),
    attempts: row.attempts === null ? [] : (JSON.parse(text(row.attempts)) as Attempt[]),
    routing: row.routing === null ? [] : (JSON.parse(text(row.routing)) as Considered[]),
    stream: int(row.stream) !== 0,
    state: text(row.state) as RowState,
    outcome: textOrNull(row.outcome) as Outcome | null,
    httpStatus: intOrNull(row.http_status),
    errorCode: textOrNull(row.error_code),
    finishReason: textOrNull(row.finish_reason),
    tokens: {
      prompt: int(row.prompt_tokens),
      cached: int(row.cached_tokens),
      cacheWrite: int(row.cache_write_tokens),
      completion: int(row.completion_tokens),
      reasoning: int(row.reasoning_tokens),
    },
    usageSource: text(row.usage_source) as UsageSource,
    priceVersion: textOrNull(row.price_version),
    price: textOrNull(row.price),
    hold: big(row.hold),
    cost: big(row.cost),
    upstreamCost: bigOrNull(row.upstream_cost),
    firstByteAt: intOrNull(row.first_byte_at),
    finishedAt: intOrNull(row.finished_at),
    upstreamId: textOrNull(row.upstream_id),
  }
}

// From `from` on and before `to`; chat rows unless the endpoint says otherwise.
function askedFor(filter: Omit<UsageFilter, 'limit' | 'after'>): Conditions {
  const asked = inReach(filter)
  asked.add('account_id = ?', filter.accountId)
  asked.add('created_at >= ?', filter.from)
  asked.add('created_at < ?', filter.to)
  asked.add('(model_served = ? OR (model_served IS NULL AND model_requested = ?))', filter.model, filter.model)
  asked.add('provider = ?', filter.provider)
  asked.add('outcome = ?', filter.outcome)
  if (filter.endpoint !== 'all') asked.add('endpoint = ?', filter.endpoint ?? 'chat.completions')
  return asked
}

// What an index finds by itself: a key, and a range of ids.
function inReach(filter: Omit<UsageFilter, 'limit' | 'after'>): Conditions {
  const asked = conditions()
  asked.add('key_id = ?', filter.keyId)
  asked.add('request_id >= ?', filter.from === undefined ? undefined : timePrefix(filter.from - ID_SLACK_MS))
  asked.add('request_id < ?', filter.to === undefined ? undefined : timePrefix(filter.to + ID_SLACK_MS))
  return asked
}

function readSummary(row: Row, groupBy: SummaryGroup): SummaryRow {
  return {
    group: groupName(row.grp, groupBy),
    requests: int(row.requests),
    errors: int(row.errors),
    promptTokens: int(row.prompt_tokens),
    completionTokens: int(row.completion_tokens),
    cost: big(row.cost),
  }
}

function groupName(value: Row[string] | undefined, groupBy: SummaryGroup): string {
  if (groupBy === 'day') return new Date(int(value) * DAY_MS).toISOString().slice(0, 10)
  if (groupBy === 'hour') return `${new Date(int(value) * HOUR_MS).toISOString().slice(0, 13)}:00:00Z`
  return text(value)
}
