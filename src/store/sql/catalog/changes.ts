// What a catalog change writes and reports: a model with its price, and the fields that differ.
import { isDeepStrictEqual } from 'node:util'
import { priceSnapshot, type WrittenRates } from '../../../domain/catalog.ts'
import { snakeCase } from '../../../lib/text.ts'
import type { CatalogChange, DeclaredModel } from '../../contract/catalog.ts'
import { int, type Row, type Tx, text } from '../sql.ts'
import { specOfModel } from './rows.ts'

export type Owned = { readonly provisioned: boolean; readonly active: boolean; readonly entered: string | null }

// An unchanged price keeps its version; a changed one is added to the price history. False, and nothing is written, if the row
// has changed since it was read.
export async function writeModel(
  tx: Tx,
  model: DeclaredModel,
  stored: Row | undefined,
  owned: Owned,
): Promise<boolean> {
  const price = priceSnapshot(model.prices)
  const isSamePrice = stored !== undefined && text(stored.price) === price
  const version = isSamePrice ? text(stored.price_version) : model.newPriceVersion
  const { provisioned, active, entered } = owned
  const written = await tx.run(
    `INSERT INTO model (id, spec, price, price_version, created_at, provisioned, active, entered)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT (id) DO UPDATE SET spec = excluded.spec,
       price = excluded.price, price_version = excluded.price_version, provisioned = excluded.provisioned,
       active = excluded.active, entered = excluded.entered, version = model.version + 1 WHERE model.version = $9`,
    [
      ...[model.id, specOfModel(model), price, version, tx.now(), provisioned ? 1 : 0, active ? 1 : 0, entered],
      int(stored?.version),
    ],
  )
  if (written === 0) return false
  if (isSamePrice) return true
  await tx.run('INSERT INTO price (model_id, version, price, created_at) VALUES ($1, $2, $3, $4)', [
    model.id,
    version,
    price,
    tx.now(),
  ])
  return true
}

export function priceChange(model: DeclaredModel, stored: Row | undefined): CatalogChange['price'] {
  const after = priceSnapshot(model.prices)
  if (stored !== undefined && text(stored.price) === after) return null
  const before = stored === undefined ? null : (JSON.parse(text(stored.price)) as WrittenRates)
  return { before, after: JSON.parse(after) as WrittenRates }
}

// Names of the fields in which two specs differ, as in the configuration file.
export function changedFields(before: string, after: string): readonly string[] {
  const old = JSON.parse(before) as Record<string, unknown>
  const next = JSON.parse(after) as Record<string, unknown>
  return [...new Set([...Object.keys(old), ...Object.keys(next)])]
    .filter(name => !isDeepStrictEqual(old[name], next[name]))
    .map(snakeCase)
}
