// The long pass over the usage rows: checks every row and collects the sums that balances are compared with.
import { priceSnapshot, readPriceSnapshot } from '../../domain/catalog.ts'
import { costOf, type Nano, type Prices } from '../../domain/credits.ts'
import { isBilled, OUTCOMES } from '../../domain/usage.ts'
import { readTokens } from '../billing/usage-binders.ts'
import { select, TOKEN_COLUMNS, type UsageColumnName } from '../billing/usage-columns.ts'
import { type AuditCounts, accountSums, keySums, type Pass, type PassRow, type Sums } from './counts.ts'
import { checkHours, findInHour, type HourBook, isInSums } from './hours.ts'
import { findInWindows, type WindowBook } from './windows.ts'

type RowTotals = {
  readonly sums: Sums
  readonly hours: HourBook
  readonly prices: PriceBook
  readonly windows: WindowBook
}

const CHECKED: readonly UsageColumnName[] = [
  ...(['request_id', 'account_id', 'key_id', 'endpoint', 'state', 'outcome', 'error_code'] as const),
  ...([
    'created_at',
    'finished_at',
    'model_requested',
    'model_served',
    'provider',
    'attempts',
    'requests',
    'tags',
  ] as const),
  ...(['hold', 'cost', 'upstream_cost', 'price_version', 'price'] as const),
  ...TOKEN_COLUMNS,
  ...(['cache_write_1h_tokens', 'image_tokens', 'audio_tokens'] as const),
]

export function rowPass({ sums, hours, prices, windows }: RowTotals, counts: AuditCounts): Pass {
  return {
    statement: `SELECT ${select(CHECKED, 'u')},
        k.account_id AS key_account
      FROM usage u LEFT JOIN api_key k ON k.id = u.key_id`,
    look(row) {
      const id = String(row.request_id)
      const cost = row.cost as Nano
      findInHour(hours, row, counts)
      if (!isInSums(hours, Number(row.created_at))) addUp(row, id, sums, windows)
      counts.checked('I2', 'I5', 'I8', 'I9', 'I10', 'I12')
      if (row.key_account !== row.account_id) counts.broken('I2', `${id}: its key belongs to another account`)
      if (!stateFits(row)) counts.broken('I5', `${id}: ${row.state}, ${row.outcome ?? 'no outcome'}`)
      if (cost < 0n) counts.broken('I8', `${id}: costs ${cost}`)
      if (cost !== 0n && !mayCost(row)) counts.broken('I10', `${id}: ${row.endpoint}, ${row.outcome}, costs ${cost}`)
      if (!costRecomputes(row, prices.read)) counts.broken('I12', `${id}: costs ${cost}`)
      if (row.state === 'open') counts.broken('I9', `${id}: open`)
      if (row.price === null && row.hold !== 0n) counts.broken('I4', `${id}: holds ${row.hold} without a price`)
      checkPrice(row, prices, counts)
    },
    end: () => checkHours(hours, counts),
  }
}

function addUp(row: PassRow, id: string, sums: Sums, windows: WindowBook): void {
  const account = accountSums(sums, String(row.account_id))
  const key = keySums(sums, String(row.key_id))
  const cost = row.cost as Nano
  const hold = row.hold as Nano
  account.cost += cost
  key.cost += cost
  if (row.state === 'open') {
    account.held += hold
    key.held += hold
  }
  // A late correction comes after its hold was released, perhaps to others: then all of it may exceed the limit.
  const overshoot = sums.corrections.has(id) ? cost : cost > hold ? cost - hold : 0n
  key.overshoot += overshoot
  findInWindows(windows, row, { cost, held: row.state === 'open' ? hold : 0n, overshoot })
}

function stateFits(row: PassRow): boolean {
  if (row.state === 'open') return row.outcome === null && row.finished_at === null && row.cost === 0n
  if (row.finished_at === null) return false
  if (row.state === 'recovered') return row.outcome === 'recovered'
  return row.state === 'settled' && row.outcome !== 'recovered' && OUTCOMES.some(outcome => outcome === row.outcome)
}

function mayCost(row: PassRow): boolean {
  return isBilled(row.endpoint) && row.outcome !== 'refused' && row.outcome !== 'upstream_failed'
}

// A row without output and charge needs no price; all others must match to the last nano-credit.
function costRecomputes(row: PassRow, pricesOf: (snapshot: unknown) => Prices | undefined): boolean {
  const tokens = readTokens(row)
  const counts = Object.values(tokens)
  if (row.cost === 0n && (counts.every(count => count === 0) || !mayCost(row))) return true
  if (counts.some(count => count < 0) || tokens.reasoning > tokens.completion) return false
  const { cached, cacheWrite, image, audio } = tokens
  if (cached + cacheWrite + image + audio > tokens.prompt || tokens.cacheWrite1h > cacheWrite) return false
  const prices = pricesOf(row.price)
  return prices !== undefined && costOf(tokens, prices) === row.cost
}

// Compares the price on a usage row with the table of all prices that models ever had.
type PriceBook = {
  // By version, then by model: the price in today's notation. Normally a version belongs to one model.
  readonly versions: Map<string, Map<string, string | undefined>>
  // Undefined for a snapshot that cannot be parsed.
  read(snapshot: unknown): Prices | undefined
  // Snapshots are compared by value: an older version may have used another notation.
  write(snapshot: unknown): string | undefined
}

export function newPriceBook(): PriceBook {
  const read = remembering(readSnapshot)
  const write = remembering(snapshot => {
    const prices = read(snapshot)
    return prices && priceSnapshot(prices)
  })
  return { versions: new Map(), read, write }
}

export function pricePass({ versions, write }: PriceBook): Pass {
  return {
    statement: 'SELECT model_id, version, price FROM price',
    look({ model_id: model, version, price }) {
      const models = versions.get(String(version)) ?? new Map<string, string | undefined>()
      versions.set(String(version), models.set(String(model), write(price)))
    },
  }
}

// A row without a serving target has the price of one of the models that might have served.
function checkPrice(row: PassRow, { versions, write }: PriceBook, counts: AuditCounts): void {
  if (row.price_version === null && row.price === null) return
  counts.checked('prices')
  const models = versions.get(String(row.price_version))
  const id = String(row.request_id)
  if (models === undefined || (row.model_served !== null && !models.has(String(row.model_served)))) {
    counts.broken('prices', `${id}: ${row.model_served ?? 'its model'} never had price version ${row.price_version}`)
    return
  }
  const price = write(row.price)
  const listed = row.model_served === null ? [...models.values()] : [models.get(String(row.model_served))]
  if (price === undefined || !listed.includes(price))
    counts.broken('prices', `${id}: its price differs from version ${row.price_version}`)
}

// Millions of rows share a handful of snapshots; the last few are cached.
const REMEMBERED_MAX = 1000

function remembering<T>(make: (snapshot: unknown) => T): (snapshot: unknown) => T {
  const known = new Map<unknown, T>()
  return snapshot => {
    if (!known.has(snapshot)) {
      if (known.size >= REMEMBERED_MAX) known.clear()
      known.set(snapshot, make(snapshot))
    }
    return known.get(snapshot) as T
  }
}

function readSnapshot(snapshot: unknown): Prices | undefined {
  try {
    return readPriceSnapshot(String(snapshot))
  } catch {
    return undefined
  }
}
