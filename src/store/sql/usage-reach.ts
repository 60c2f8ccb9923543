// Where a list of usage has to look: the sums of days and hours say where rows of a filter are, so that a filter which finds
// little does not read everything else. Ranges of ids come newest first and do not overlap.
import { DAY_MS } from '../../domain/key.ts'
import { HOUR_MS } from '../../domain/usage-hours.ts'
import type { UsageFilter } from '../contract-operator.ts'
import { int, type Sql, text } from './sql.ts'
import { timeOfId, timePrefix } from './time-order.ts'
import { ID_SLACK_MS } from './time-range.ts'
import { type Part, partsOf, type Span, sourceOf } from './usage-parts.ts'

export type IdRange = { readonly from?: string | undefined; readonly to?: string | undefined }

export async function* reachOf(filter: UsageFilter, sql: Sql): AsyncGenerator<IdRange> {
  let end = filter.after
  for await (const { from, to } of spansOf(filter, sql)) {
    // Ids lie a little beside the time of their rows, so that the ranges of two hours would overlap.
    const first = from === undefined ? undefined : timePrefix(from - ID_SLACK_MS)
    const last = to === undefined ? undefined : timePrefix(to + ID_SLACK_MS)
    const range = { from: first, to: end === undefined || (last !== undefined && last < end) ? last : end }
    if (range.from !== undefined && range.to !== undefined && range.from >= range.to) continue
    yield range
    end = range.from
  }
}

async function* spansOf(filter: UsageFilter, sql: Sql): AsyncGenerator<Span> {
  const parts = await partsOf({ from: await oldest(filter, sql), to: newest(filter) }, sql)
  for (const part of [...parts].reverse()) {
    if (part.of === 'row') yield part
    else if (part.of === 'hour') yield* unitsWith(filter, part, sql)
    else for await (const day of unitsWith(filter, part, sql)) yield* unitsWith(filter, { ...day, of: 'hour' }, sql)
  }
}

// Sums remain of rows that were dropped: there is nothing to be found in them.
async function oldest({ from }: UsageFilter, sql: Sql): Promise<number | undefined> {
  const row = await sql.get('SELECT request_id FROM usage ORDER BY request_id LIMIT 1')
  const first = row === undefined ? undefined : timeOfId(text(row.request_id))
  return first === undefined || (from !== undefined && from > first) ? from : first - ID_SLACK_MS
}

function newest({ to, after }: UsageFilter): number | undefined {
  const before = after === undefined ? undefined : timeOfId(after)
  if (before === undefined) return to
  return to !== undefined && to < before ? to : before + ID_SLACK_MS
}

const UNITS_AT_ONCE = 48

// Hours or days that hold rows of the filter. A model that was not known is nowhere in the sums by its name.
async function* unitsWith(filter: UsageFilter, part: Part, sql: Sql): AsyncGenerator<Span> {
  const size = part.of === 'day' ? DAY_MS : HOUR_MS
  for (let to = part.to; ; ) {
    const { table, asked } = sourceOf({ ...part, to })
    asked.add('key_id = ?', filter.keyId)
    asked.add('account_id = ?', filter.accountId)
    asked.add(`(model = ? OR (model = '' AND outcome = 'refused'))`, filter.model)
    asked.add('provider = ?', filter.provider)
    asked.add('outcome = ?', filter.outcome)
    if (filter.endpoint !== 'all') asked.add('endpoint = ?', filter.endpoint ?? 'chat.completions')
    const rows = await sql.all(
      `SELECT ${part.of} AS unit FROM ${table} ${asked.where()} GROUP BY 1 ORDER BY 1 DESC LIMIT ${UNITS_AT_ONCE}`,
      asked.params,
    )
    for (const row of rows) yield { from: int(row.unit) * size, to: (int(row.unit) + 1) * size }
    if (rows.length < UNITS_AT_ONCE) return
    to = int(rows.at(-1)?.unit) * size
  }
}
