// The catalog in SQL: specs as JSON, prices as the snapshot text that rows bear, and every price there ever was.
import {
  type Model,
  type Provider,
  priceSnapshot,
  readCost,
  readPriceSnapshot,
  type Target,
  type WrittenRates,
  writeCost,
} from '../../domain/catalog.ts'
import type { CatalogStore, DeclaredCatalog, DeclaredModel, StoredCatalog } from '../contract-operator.ts'
import { appendEvent, SYSTEM } from './events.ts'
import { int, type Row, type Sql, type Tx, text } from './sql.ts'

export function sqlCatalog(sql: Sql): CatalogStore {
  return {
    provision: declared =>
      sql.transaction(async tx => {
        const changed = [...(await provisionProviders(tx, declared)), ...(await provisionModels(tx, declared))]
        if (changed.length > 0) await appendEvent(tx, SYSTEM, 'catalog.provision', 'catalog', { changed })
        return load(tx)
      }),
    load: () => load(sql),
  }
}

// Sorted here and not by SQL, since engines differ in how they order text.
async function load(tx: Tx): Promise<StoredCatalog> {
  const providers = await tx.all('SELECT id, spec FROM provider WHERE active = 1')
  const models = await tx.all('SELECT id, spec, price, price_version, created_at FROM model WHERE active = 1')
  return { providers: providers.map(readProvider).sort(byId), models: models.map(readModel).sort(byId) }
}

async function provisionProviders(tx: Tx, { providers }: DeclaredCatalog): Promise<readonly string[]> {
  const before = await rowsById(tx, 'SELECT id, spec, provisioned, active FROM provider')
  const changed: string[] = []
  for (const { id, ...rest } of providers) {
    const spec = JSON.stringify(rest)
    if (stands(before.get(id), { spec })) continue
    changed.push(`provider ${id}`)
    await tx.run(
      `INSERT INTO provider (id, spec, provisioned, active) VALUES ($1, $2, 1, 1)
       ON CONFLICT (id) DO UPDATE SET spec = excluded.spec, provisioned = 1, active = 1`,
      [id, spec],
    )
  }
  for (const id of goneFrom(before, providers)) {
    changed.push(`provider ${id} gone`)
    await tx.run('UPDATE provider SET active = 0 WHERE id = $1', [id])
  }
  return changed
}

async function provisionModels(tx: Tx, { models }: DeclaredCatalog): Promise<readonly string[]> {
  const before = await rowsById(tx, 'SELECT id, spec, price, price_version, provisioned, active FROM model')
  const changed: string[] = []
  for (const model of models) {
    const stored = before.get(model.id)
    const spec = specOf(model)
    const price = priceSnapshot(model.prices)
    if (stands(stored, { spec, price })) continue
    changed.push(`model ${model.id}`)
    const samePrice = stored !== undefined && text(stored.price) === price
    const version = samePrice ? text(stored.price_version) : model.newPriceVersion
    await tx.run(
      `INSERT INTO model (id, spec, price, price_version, created_at, provisioned, active)
       VALUES ($1, $2, $3, $4, $5, 1, 1) ON CONFLICT (id) DO UPDATE SET spec = excluded.spec, price = excluded.price,
         price_version = excluded.price_version, provisioned = 1, active = 1`,
      [model.id, spec, price, version, tx.now()],
    )
    if (samePrice) continue
    await tx.run('INSERT INTO price (model_id, version, price, created_at) VALUES ($1, $2, $3, $4)', [
      model.id,
      version,
      price,
      tx.now(),
    ])
  }
  for (const id of goneFrom(before, models)) {
    changed.push(`model ${id} gone`)
    await tx.run('UPDATE model SET active = 0 WHERE id = $1', [id])
  }
  return changed
}

async function rowsById(tx: Tx, statement: string): Promise<ReadonlyMap<string, Row>> {
  return new Map((await tx.all(statement)).map(row => [text(row.id), row]))
}

// Whether the row already says all this, provisioned and active.
function stands(row: Row | undefined, wanted: Readonly<Record<string, string>>): boolean {
  if (row === undefined || int(row.provisioned) !== 1 || int(row.active) !== 1) return false
  return Object.entries(wanted).every(([column, value]) => text(row[column]) === value)
}

// What a file declared before and no longer does. What operators added themselves is not the file's to end.
function goneFrom(before: ReadonlyMap<string, Row>, declared: readonly { readonly id: string }[]): readonly string[] {
  const still = new Set(declared.map(({ id }) => id))
  return [...before.values()]
    .filter(row => int(row.provisioned) === 1 && int(row.active) === 1 && !still.has(text(row.id)))
    .map(row => text(row.id))
}

function specOf(model: DeclaredModel): string {
  const { id: _id, prices: _prices, newPriceVersion: _version, ...rest } = model
  return JSON.stringify({ ...rest, targets: model.targets.map(writeTarget) })
}

// JSON knows no bigint.
type WrittenTarget = Omit<Target, 'cost'> & { readonly cost?: WrittenRates }

function writeTarget({ cost, ...rest }: Target): WrittenTarget {
  return cost === undefined ? rest : { ...rest, cost: writeCost(cost) }
}

function readTarget({ cost, ...rest }: WrittenTarget): Target {
  return cost === undefined ? rest : { ...rest, cost: readCost(cost) }
}

function readProvider(row: Row): Provider {
  return { ...(JSON.parse(text(row.spec)) as Omit<Provider, 'id'>), id: text(row.id) }
}

function readModel(row: Row): Model {
  const spec = JSON.parse(text(row.spec)) as Omit<Model, 'targets'> & { readonly targets: readonly WrittenTarget[] }
  return {
    ...spec,
    targets: spec.targets.map(readTarget),
    id: text(row.id),
    prices: readPriceSnapshot(text(row.price)),
    priceVersion: text(row.price_version),
    createdAt: int(row.created_at),
  }
}

function byId(a: { readonly id: string }, b: { readonly id: string }): number {
  return a.id < b.id ? -1 : a.id > b.id ? 1 : 0
}
