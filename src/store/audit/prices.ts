// Compares the price on a usage row with the table of all prices that models ever had.
import { priceSnapshot, readPriceSnapshot } from '../../domain/catalog.ts'
import type { Prices } from '../../domain/credits.ts'
import type { AuditCounts, Pass, PassRow } from './tally.ts'

export type PriceBook = {
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
export function checkPrice(row: PassRow, { versions, write }: PriceBook, counts: AuditCounts): void {
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
