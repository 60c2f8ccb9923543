// Compares the gateway's own log with the usage rows: the cost in the line of each request must be the cost of its row.
import { DatabaseSync } from 'node:sqlite'
import { formatCredits, type Nano, parseCredits } from '../../domain/credits.ts'
import { HOUR_MS } from '../../domain/usage.ts'
import { systemClock } from '../../lib/clock.ts'
import { openPostgresSql, POSTGRES_BOUNDS } from '../postgres/sql.ts'
import { ID_SLACK_MS, timeOfId } from '../sql/time-order.ts'

export type LogReport = {
  // Lines of the log, those of requests that were compared, and those that could not be parsed.
  readonly lines: number
  readonly compared: number
  readonly unreadable: number
  // Requests whose rows retention has deleted.
  readonly expired: number
  readonly disagreeing: number
  readonly examples: readonly string[]
}

// The fields of a request's log line.
export type Told = {
  readonly id: string
  readonly cost: Nano
  readonly outcome: string
  // Whether the request had a valid key; only those have rows.
  readonly hasKey: boolean
}
type BookedRow = { readonly state: string; readonly cost: Nano }

// The rows to compare with, on either engine.
export type RowLookup = {
  // The end of the last hour whose rows were deleted; 0 if none were.
  droppedUntil(): Promise<number>
  rows(ids: readonly string[]): Promise<ReadonlyMap<string, BookedRow>>
}

const AT_ONCE = 500
const EXAMPLES_MAX = 100

const LAST_DROPPED = `SELECT COALESCE(MAX(hour) + 1, 0) * ${HOUR_MS} AS at FROM usage_rolled WHERE dropped > 0`

export async function auditLog(lines: AsyncIterable<string | undefined>, lookup: RowLookup): Promise<LogReport> {
  const count = { lines: 0, compared: 0, unreadable: 0, expired: 0, disagreeing: 0 }
  const examples: string[] = []
  const droppedUntil = await lookup.droppedUntil()
  let waiting: Told[] = []

  async function compare(): Promise<void> {
    const rows = await lookup.rows(waiting.map(({ id }) => id))
    for (const told of waiting) {
      const row = rows.get(told.id)
      const isExpired = row === undefined && (timeOfId(told.id) ?? Number.MAX_VALUE) < droppedUntil + ID_SLACK_MS
      count[isExpired ? 'expired' : 'compared'] += 1
      const problem = isExpired ? undefined : problemOf(told, row)
      if (problem === undefined) continue
      count.disagreeing += 1
      if (examples.length < EXAMPLES_MAX) examples.push(`${told.id}: ${problem}`)
    }
    waiting = []
  }

  for await (const line of lines) {
    if (line?.trim() === '') continue
    count.lines += 1
    const told = line === undefined ? 'unreadable' : readTold(line)
    if (told === 'unreadable') count.unreadable += 1
    else if (told !== 'other') waiting.push(told)
    if (waiting.length === AT_ONCE) await compare()
  }
  await compare()
  return { ...count, examples }
}

// `other`: a line about something else, or without the fields of a request.
function readTold(line: string): Told | 'other' | 'unreadable' {
  let said: Readonly<Record<string, unknown>>
  try {
    // A log collector may put a time or a name in front of the line.
    said = JSON.parse(line.slice(Math.max(line.indexOf('{'), 0))) as Readonly<Record<string, unknown>>
  } catch {
    return 'unreadable'
  }
  if (typeof said !== 'object' || said === null) return 'unreadable'
  if (said.msg !== 'request' || typeof said.id !== 'string' || said.cost === undefined) return 'other'
  const cost = typeof said.cost === 'string' ? parseCredits(said.cost) : undefined
  if (cost === undefined) return 'unreadable'
  return { id: said.id, cost, outcome: String(said.outcome), hasKey: said.key !== undefined }
}

// Refusals are written after the answer, and beyond a rate they share a row: such a request may have none of its own.
function problemOf(told: Told, row: BookedRow | undefined): string | undefined {
  if (row === undefined) {
    const needsRow = told.cost !== 0n || (told.hasKey && told.outcome !== 'refused')
    return needsRow ? `logged ${formatCredits(told.cost)}, row missing` : undefined
  }
  if (row.state === 'open') return `logged ${formatCredits(told.cost)}, row still open`
  if (row.cost === told.cost) return undefined
  return `logged ${formatCredits(told.cost)}, row has ${formatCredits(row.cost)}`
}

// Looks up the usage rows for a log comparison by request id, on either engine.
const FIELDS = 'request_id, state, cost'

export async function withSqliteRows<T>(path: string, use: (rows: RowLookup) => Promise<T>): Promise<T> {
  using db = new DatabaseSync(path, { readOnly: true, timeout: 5000, readBigInts: true })
  const one = db.prepare(`SELECT ${FIELDS} FROM usage WHERE request_id = ?`)
  return await use({
    droppedUntil: async () => Number(db.prepare(LAST_DROPPED).get()?.at),
    rows: async ids => byId(ids.map(id => one.get(id)).filter(row => row !== undefined)),
  })
}

export async function withPostgresRows<T>(url: string, use: (rows: RowLookup) => Promise<T>): Promise<T> {
  const sql = await openPostgresSql({ url, clock: systemClock, bounds: { ...POSTGRES_BOUNDS, connectionsMax: 1 } })
  try {
    return await use({
      droppedUntil: async () => Number((await sql.get(LAST_DROPPED))?.at),
      rows: async ids => {
        const places = ids.map((_, i) => `$${i + 1}`)
        return byId(
          ids.length === 0
            ? []
            : await sql.all(`SELECT ${FIELDS} FROM usage WHERE request_id IN (${places})`, [...ids]),
        )
      },
    })
  } finally {
    await sql.close()
  }
}

function byId(rows: readonly Readonly<Record<string, unknown>>[]): ReadonlyMap<string, BookedRow> {
  return new Map(rows.map(row => [String(row.request_id), { state: String(row.state), cost: row.cost as Nano }]))
}
