// Sums over usage by one dimension: from the sums of days and hours, and from rows where there are none yet. Results of several
// parts of a span for one group are added up here.
import type { Nano } from '../../../domain/credits.ts'
import { ERROR_CAUSES, type ErrorCause } from '../../../domain/error-cause.ts'
import { DAY_MS } from '../../../domain/key.ts'
import { HOUR_MS } from '../../../domain/usage.ts'
import type { RowSpan, SummaryGroup, SummaryRow, UsageSpan } from '../../contract/operator.ts'
import { big, int, type Row, type Tx, text } from '../sql.ts'
import { type Dimension, ERROR_OUTCOMES } from './hour-columns.ts'
import { type Grain, inHours, inTotals, type Part, partsOf, type Source, sourceOf, widened } from './parts.ts'
import { addCodes, narrow } from './reach.ts'
import { addRowsOfKey, addRowsOfOwner } from './rows-of-key.ts'
import { tagGroup } from './tag-sums.ts'

export const GROUPS_MAX = 1000

const DIMENSION_OF: Readonly<Partial<Record<SummaryGroup, Dimension>>> = {
  model: 'model',
  provider: 'provider',
  key: 'key_id',
  account: 'account_id',
}

export type Sums = { -readonly [Name in keyof Omit<SummaryRow, 'group'>]: SummaryRow[Name] }

// Times newest first, everything else by cost, highest first.
export async function summarise(filter: UsageSpan, groupBy: SummaryGroup, sql: Tx): Promise<readonly SummaryRow[]> {
  return summaryOf(filter, await partsOf(await widened(filter, sql), sql), groupBy, sql)
}

// From rows alone, whatever sums there are.
export function summariseRows(filter: RowSpan, groupBy: SummaryGroup, sql: Tx): Promise<readonly SummaryRow[]> {
  return summaryOf(filter, [{ of: 'row', from: filter.from, to: filter.to }], groupBy, sql)
}

async function summaryOf(filter: RowSpan, parts: readonly Part[], groupBy: SummaryGroup, sql: Tx) {
  const grain = groupBy === 'day' || groupBy === 'hour' ? groupBy : undefined
  const groups =
    grain === undefined ? await sumsBy(filter, parts, groupBy, sql) : await series(filter, parts, grain, sql)
  const rows = [...groups].map(([group, sums]) => ({ group, ...sums }))
  rows.sort(grain === undefined ? byCost : (a, b) => Number(b.group) - Number(a.group))
  return rows
    .slice(0, GROUPS_MAX)
    .map(row => (grain === undefined ? row : { ...row, group: timeName(Number(row.group), grain) }))
}

// What each account spent in a span.
export async function spentByAccount(span: UsageSpan, sql: Tx): Promise<ReadonlyMap<string, Nano>> {
  const groups = await sumsBy(span, await partsOf(span, sql), 'account', sql)
  return new Map([...groups].map(([id, sums]) => [id, sums.cost]))
}

// What a key or an account spent in a span of whole hours.
export async function spentIn(span: UsageSpan, of: 'key' | 'account', sql: Tx): Promise<Nano> {
  const groups = await sumsBy(span, await partsOf(span, sql), of, sql)
  return total(groups.values()).cost
}

async function sumsBy(filter: RowSpan, parts: readonly Part[], groupBy: SummaryGroup, sql: Tx) {
  const groups = new Map<string, Sums>()
  for (const part of parts) {
    const source = sourceOf(part, filter, sql)
    for (const row of await groupsOf(filter, source, groupOf(groupBy, source, sql), sql)) {
      add(groups, text(row.grp), readSums(row))
    }
  }
  return groups
}

function groupOf(groupBy: SummaryGroup, source: Source, sql: Tx): string {
  const dimension = DIMENSION_OF[groupBy]
  return dimension === undefined ? tagGroup(groupBy.slice('tag:'.length), source, sql) : source.dimension(dimension)
}

// The newest groups, at most GROUPS_MAX of them in full; where there are more, also some that may be incomplete.
export async function series(filter: RowSpan, parts: readonly Part[], grain: Grain, sql: Tx) {
  const groups = new Map<string, Sums>()
  const inTime = isOfTimeAlone(filter) ? await inTotals(parts, sql) : parts
  for (const part of [...(grain === 'day' ? inTime : inHours(inTime))].reverse()) {
    if (groups.size > GROUPS_MAX) break
    const source = sourceOf(part, filter, sql)
    const newest = ` ORDER BY 1 DESC LIMIT ${GROUPS_MAX + 1}`
    for (const row of await groupsOf(filter, source, source.unit(grain), sql, newest)) {
      add(groups, text(row.grp), readSums(row))
    }
  }
  return groups
}

// Totals are not divided by the cause of a failure.
function isOfTimeAlone({ keyId, accountId, model, provider, tags, cause }: UsageSpan): boolean {
  return [keyId, accountId, model, provider, tags, cause].every(asked => asked === undefined)
}

function groupsOf(filter: RowSpan, source: Source, group: string, sql: Tx, order = ''): Promise<readonly Row[]> {
  narrowSource(filter, source, sql)
  return sql.all(
    `SELECT ${group} AS grp, ${sumsOf(source, filter.cause)} FROM ${source.table} ${source.asked.where()} GROUP BY 1${order}`,
    source.asked.params,
  )
}

// Of requests with one cause of failure, only those are counted; the others of the same sum have neither tokens nor costs, since
// failures that may have them are summed by their cause.
export function sumsOf({ summand, dimension }: Source, cause?: ErrorCause): string {
  const requests = summand(cause === undefined ? 'requests' : `${cause}_errors`)
  return `SUM(${requests}) AS requests, SUM(${summand('prompt_tokens')}) AS prompt_tokens,
    SUM(CASE WHEN ${dimension('outcome')} IN ${ERROR_OUTCOMES} THEN ${requests} ELSE 0 END) AS errors,
    SUM(${summand('completion_tokens')}) AS completion_tokens, SUM(${summand('cost')}) AS cost,
    SUM(${summand('upstream_cost')}) AS upstream_sum, SUM(${summand('requests_without_upstream_cost')}) AS unknown_requests,
    SUM(${summand('cost_without_upstream_cost')}) AS unknown_cost, SUM(${summand('failovers')}) AS failovers,
    ${ERROR_CAUSES.map(each => `SUM(${(cause ?? each) === each ? summand(`${each}_errors`) : 0}) AS ${each}_errors`).join(', ')}`
}

// Chats unless the endpoint says otherwise.
export function narrowSource(filter: RowSpan, { asked, dimension, summand, ids }: Source, sql: Tx): void {
  if (ids !== undefined && filter.errorCodes !== undefined) addRowsOfOwner(asked, filter, sql)
  else if (ids !== undefined) addRowsOfKey(asked, filter.keyId, ids, sql)
  addCodes(asked, filter.errorCodes)
  narrow(asked, filter, {
    model: `${dimension('model')} = ?`,
    provider: `${dimension('provider')} = ?`,
    cause: `${summand(`${filter.cause ?? 'caller'}_errors`)} > 0`,
    tags: 'certainly',
  })
}

export function add(groups: Map<string, Sums>, group: string, more: Sums): void {
  const sums = groups.get(group) ?? noSums()
  groups.set(group, total([sums, more]))
}

export function total(all: Iterable<Sums>): Sums {
  const sum = noSums()
  for (const each of all) {
    sum.requests += each.requests
    sum.errors += each.errors
    sum.promptTokens += each.promptTokens
    sum.completionTokens += each.completionTokens
    sum.cost += each.cost
    sum.upstreamCost += each.upstreamCost
    sum.requestsWithoutUpstreamCost += each.requestsWithoutUpstreamCost
    sum.costWithoutUpstreamCost += each.costWithoutUpstreamCost
    sum.failovers += each.failovers
    sum.errorsByCause = byCause(cause => sum.errorsByCause[cause] + each.errorsByCause[cause])
  }
  return sum
}

export function noSums(): Sums {
  return {
    requests: 0,
    errors: 0,
    promptTokens: 0,
    completionTokens: 0,
    cost: 0n,
    upstreamCost: 0n,
    requestsWithoutUpstreamCost: 0,
    costWithoutUpstreamCost: 0n,
    failovers: 0,
    errorsByCause: NO_ERRORS,
  }
}

const NO_ERRORS = byCause(() => 0)

function byCause(numberOf: (cause: ErrorCause) => number): Sums['errorsByCause'] {
  return Object.fromEntries(ERROR_CAUSES.map(cause => [cause, numberOf(cause)])) as Sums['errorsByCause']
}

export function readSums(row: Row): Sums {
  return {
    requests: int(row.requests),
    errors: int(row.errors),
    promptTokens: int(row.prompt_tokens),
    completionTokens: int(row.completion_tokens),
    cost: big(row.cost),
    upstreamCost: big(row.upstream_sum),
    requestsWithoutUpstreamCost: int(row.unknown_requests),
    costWithoutUpstreamCost: big(row.unknown_cost),
    failovers: int(row.failovers),
    errorsByCause: byCause(cause => int(row[`${cause}_errors`])),
  }
}

export function byCost(a: SummaryRow, b: SummaryRow): number {
  if (a.cost !== b.cost) return a.cost > b.cost ? -1 : 1
  if (a.requests !== b.requests) return b.requests - a.requests
  return a.group < b.group ? -1 : 1
}

function timeName(unit: number, grain: 'hour' | 'day'): string {
  if (grain === 'day') return new Date(unit * DAY_MS).toISOString().slice(0, 10)
  return `${new Date(unit * HOUR_MS).toISOString().slice(0, 13)}:00:00Z`
}
