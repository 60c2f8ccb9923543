// The overview: activity in a span, by hour or day, top spenders and models, and accounts whose credits will not last.
import type { Nano } from '../../../domain/credits.ts'
import { DAY_MS, keyLabel } from '../../../domain/key.ts'
import { addDuration, bucketOf, type Durations, hourOf, percentileMs, STEP_MS } from '../../../domain/usage.ts'
import { zoneDay, zoneDayStart } from '../../../domain/zone-offsets.ts'
import type { LowBalance, Moment, Overview, OverviewSpan, Spending, UsageSpan } from '../../contract/operator.ts'
import { readKeyById } from '../key-rows.ts'
import { big, int, type Row, type Sql, type Tx, text } from '../sql.ts'
import { ROW_MS, TIMED } from './hour-columns.ts'
import { type Grain, inHours, type Part, partsOf, sourceOf, widened } from './parts.ts'
import {
  add,
  byCost,
  narrowSource,
  noSums,
  readSums,
  type Sums,
  series,
  spentByAccount,
  sumsOf,
  total,
} from './sums.ts'

const TOP_MAX = 10
const LOW_BALANCES_MAX = 20
const CREDIT: Nano = 1_000_000_000n
// The accounts with the highest recent spending.
const SPENDERS_MAX = 1000
const IDS_AT_ONCE = 50

export async function overviewOf(asked: OverviewSpan, sql: Sql): Promise<Overview> {
  const span = await inStep(await widened(asked, sql), sql)
  const grain = span.step === 'day' ? (span.offsets ?? 'day') : span.step
  const parts = span.step === 'minute' ? [{ of: 'row' as const, ...span }] : await partsOf(span, sql)
  const moments = await series({ from: span.from, to: span.to }, parts, grain, sql)
  const durations = await durationsBy(parts, grain, sql)
  const spending = await spendingOf(span, parts, sql)
  return {
    from: span.from,
    to: span.to,
    step: span.step,
    totals: momentOf(total(moments.values()), allOf(durations)),
    previous: await momentBefore(span, sql),
    series: unitsOf(span).map(({ unit, at }) => ({
      at,
      ...momentOf(moments.get(String(unit)) ?? noSums(), durations.get(unit)),
    })),
    models: topOf(spending, row => row.model),
    providers: topOf(spending, row => row.provider),
    keys: await withKeyNames(
      topOf(spending, row => row.keyId),
      sql,
    ),
    accounts: await withAccountNames(
      topOf(spending, row => row.accountId),
      sql,
    ),
    lowBalances: await lowBalances(sql),
  }
}

// Of an hour whose rows were dropped there are no minutes.
async function inStep(span: OverviewSpan, sql: Sql): Promise<OverviewSpan> {
  if (span.step !== 'minute') return span
  const dropped = await sql.get(
    'SELECT hour FROM usage_rolled WHERE dropped <> 0 AND hour >= $1 AND hour <= $2 LIMIT 1',
    [hourOf(span.from), hourOf(span.to)],
  )
  return dropped === undefined ? span : { ...span, step: 'hour' }
}

// The span of the same length before.
async function momentBefore({ from, to }: OverviewSpan, sql: Sql): Promise<Overview['previous']> {
  const span = await widened({ from: Math.max(0, from - (to - from)), to: from }, sql)
  const parts = await partsOf(span, sql)
  const sums = total((await series(span, parts, 'day', sql)).values())
  return { ...span, ...momentOf(sums, allOf(await durationsBy(parts, 'day', sql))) }
}

type Spent = Sums & {
  readonly keyId: string
  readonly accountId: string
  readonly model: string
  readonly provider: string
}

// One pass for all top lists: there are few combinations, and many rows of them.
async function spendingOf(span: UsageSpan, parts: readonly Part[], sql: Sql): Promise<readonly Spent[]> {
  const spent: Spent[] = []
  for (const part of parts) {
    const source = sourceOf(part, span, sql)
    narrowSource(span, source, sql)
    const rows = await sql.all(
      `SELECT account_id, key_id, ${source.dimension('model')} AS model_name, ${source.dimension('provider')} AS provider_name,
         ${sumsOf(source)} FROM ${source.table} ${source.asked.where()} GROUP BY 1, 2, 3, 4`,
      source.asked.params,
    )
    for (const row of rows) {
      const [model, provider] = [text(row.model_name), text(row.provider_name)]
      spent.push({ accountId: text(row.account_id), keyId: text(row.key_id), model, provider, ...readSums(row) })
    }
  }
  return spent
}

// Requests refused before a model or provider was chosen have no name, and are in no list.
function topOf(spent: readonly Spent[], nameOf: (row: Spent) => string): readonly Spending[] {
  const groups = new Map<string, Sums>()
  for (const row of spent) if (nameOf(row) !== '') add(groups, nameOf(row), row)
  const all = [...groups].map(([group, sums]) => ({ group, ...sums }))
  return all.sort(byCost).slice(0, TOP_MAX)
}

// One row for each hour or day, with all of its buckets in one text: returning each separately takes most of the time.
async function durationsBy(parts: readonly Part[], grain: Grain, sql: Sql): Promise<Map<number, Durations>> {
  const units = new Map<number, Durations>()
  for (const part of grain === 'day' ? parts : inHours(parts)) {
    const { statement, params } = timesOf(part, grain, sql)
    const rows = await sql.all(
      `SELECT unit, string_agg(took || ' ' || requests, ',') AS counts FROM (${statement}) t GROUP BY unit`,
      params,
    )
    for (const row of rows) {
      const durations = units.get(int(row.unit)) ?? new Map()
      units.set(int(row.unit), durations)
      for (const count of text(row.counts).split(',')) {
        const [took, requests] = count.split(' ').map(Number) as [number, number]
        addDuration(durations, part.of === 'row' ? bucketOf(took) : took, requests)
      }
    }
  }
  return units
}

function timesOf(part: Part, grain: Grain, sql: Tx) {
  const { table, unit, asked } = sourceOf(part, {}, sql)
  if (part.of === 'row') asked.add(TIMED)
  const statement =
    part.of === 'row'
      ? `SELECT ${unit(grain)} AS unit, ${ROW_MS} AS took, COUNT(*) AS requests FROM usage ${asked.where()} GROUP BY 1, 2`
      : `SELECT ${unit(grain)} AS unit, bucket AS took, requests FROM ${table}_ms ${asked.where()}`
  return { statement, params: asked.params }
}

function allOf(units: ReadonlyMap<number, Durations>): Durations {
  const all: Durations = new Map()
  for (const durations of units.values()) for (const [bucket, requests] of durations) addDuration(all, bucket, requests)
  return all
}

function momentOf(sums: Sums, durations: Durations = new Map()): Moment {
  return { ...sums, p50Ms: percentileMs(durations, 0.5), p95Ms: percentileMs(durations, 0.95) }
}

// With the time at which each begins, the first one not before the span.
function unitsOf({ from, to, step, offsets }: OverviewSpan): readonly { readonly unit: number; readonly at: number }[] {
  const zone = step === 'day' ? offsets : undefined
  const sizeMs = STEP_MS[step]
  const unitAt = (at: number) => (zone === undefined ? Math.floor(at / sizeMs) : zoneDay(at, zone))
  const startOf = (unit: number) => (zone === undefined ? unit * sizeMs : zoneDayStart(unit, zone))
  if (from >= to) return []
  const first = unitAt(from)
  return Array.from({ length: unitAt(to - 1) - first + 1 }, (_, i) => {
    return { unit: first + i, at: Math.max(startOf(first + i), from) }
  })
}

async function withKeyNames(top: readonly Spending[], sql: Sql): Promise<Overview['keys']> {
  const named: Overview['keys'][number][] = []
  for (const spending of top) {
    const key = await readKeyById(sql, spending.group)
    named.push({ ...spending, name: key?.name ?? '', label: key === undefined ? '' : keyLabel(key) })
  }
  return named
}

async function withAccountNames(top: readonly Spending[], sql: Sql): Promise<Overview['accounts']> {
  const names = new Map<string, string>()
  for (const row of await accountsOf(
    top.map(spending => spending.group),
    sql,
  ))
    names.set(text(row.id), text(row.name))
  return top.map(spending => ({ ...spending, name: names.get(spending.group) ?? '' }))
}

// Accounts that owe, and accounts that spent something within a day and have less than that left, or less than a credit: the
// greatest debts first, then those that will run out soonest.
async function lowBalances(sql: Sql): Promise<readonly LowBalance[]> {
  const owing = await sql.all(
    `SELECT id, name, available, owed FROM account_now WHERE owed > 0 AND status = 'active'
     ORDER BY owed DESC, id LIMIT ${LOW_BALANCES_MAX}`,
  )
  const low = owing.map(readBalance)
  if (low.length === LOW_BALANCES_MAX) return low
  const spent = [...(await spentByAccount({ from: sql.now() - DAY_MS, endpoint: 'all' }, sql))].filter(
    ([, cost]) => cost > 0n,
  )
  const spenders = new Map(spent.sort((a, b) => (a[1] > b[1] ? -1 : 1)).slice(0, SPENDERS_MAX))
  const short = (await accountsOf([...spenders.keys()], sql))
    .filter(row => row.status === 'active' && big(row.owed) === 0n)
    .map(row => ({ ...readBalance(row), spent: spenders.get(text(row.id)) ?? 0n }))
    .filter(account => account.available < account.spent || account.available < CREDIT)
    .sort((a, b) => (a.available * b.spent < b.available * a.spent ? -1 : 1))
  return [...low, ...short.map(({ spent: _, ...account }) => account)].slice(0, LOW_BALANCES_MAX)
}

async function accountsOf(ids: readonly string[], sql: Sql): Promise<readonly Row[]> {
  const rows: Row[] = []
  for (let i = 0; i < ids.length; i += IDS_AT_ONCE) {
    const chunk = ids.slice(i, i + IDS_AT_ONCE)
    // Always the same number: statements are cached by their text.
    const asked = Array.from({ length: IDS_AT_ONCE }, (_, j) => chunk[j] ?? null)
    const places = asked.map((_, j) => `$${j + 1}`)
    rows.push(
      ...(await sql.all(
        `SELECT id, name, status, available, owed FROM account_now WHERE id IN (${places.join(', ')})`,
        asked,
      )),
    )
  }
  return rows
}

function readBalance(row: Row): LowBalance {
  return { id: text(row.id), name: text(row.name), available: big(row.available), owed: big(row.owed) }
}
