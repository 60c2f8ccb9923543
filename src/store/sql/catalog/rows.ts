// Reads and writes providers, models and credentials as SQL rows.
import {
  type Model,
  PROXY_CREDENTIAL,
  type Provider,
  readCost,
  readPriceSnapshot,
  type Target,
  type WrittenRates,
  writeCost,
} from '../../../domain/catalog.ts'
import { isKnownToReason } from '../../../domain/reasoning.ts'
import type {
  DeclaredModel,
  EncryptedCredential,
  ModelEntry,
  ProviderEntry,
  StoredCatalog,
} from '../../contract/catalog.ts'
import type { Page, Paged } from '../../contract/operator.ts'
import { conditions } from '../conditions.ts'
import { int, page, type Row, type Tx, text, textOrNull } from '../sql.ts'
import { readDisabledTargets } from './disabled-targets.ts'

const PROVIDER = 'id, spec, provisioned, active, version, created_at, entered'
const MODEL = 'id, spec, price, price_version, created_at, provisioned, active, version, entered'

// Sorted here and not by SQL, since engines order text differently.
export async function load(tx: Tx): Promise<StoredCatalog> {
  const providers = await tx.all('SELECT id, spec, provisioned FROM provider WHERE active = 1')
  const models = await tx.all('SELECT id, spec, price, price_version, created_at FROM model WHERE active = 1')
  const credentials = await tx.all(
    'SELECT c.provider_id, c.id, c.sealed FROM credential c JOIN provider p ON p.id = c.provider_id WHERE p.active = 1',
  )
  return {
    providers: providers.map(readProvider).sort(byId),
    models: models.map(readModel).sort(byId),
    credentials: credentials.map(readCredentialRow).sort(byId),
    disabledTargets: await readDisabledTargets(tx),
    provisioned: providers.filter(row => int(row.provisioned) === 1).map(row => text(row.id)),
    digest: textOrNull((await lastApplied(tx))?.digest),
    revision: await readRevision(tx),
  }
}

// The file in force.
export function lastApplied(tx: Tx): Promise<Row | undefined> {
  return tx.get('SELECT digest, turn FROM applied_file ORDER BY turn DESC LIMIT 1')
}

export async function readCredentials(tx: Tx): Promise<readonly EncryptedCredential[]> {
  return (await tx.all('SELECT provider_id, id, sealed FROM credential ORDER BY provider_id, id')).map(
    readCredentialRow,
  )
}

export async function readProviderById(tx: Tx, id: string): Promise<ProviderEntry | undefined> {
  const row = await tx.get(`SELECT ${PROVIDER} FROM provider WHERE id = $1`, [id])
  return row === undefined ? undefined : (await withCredentials(tx, [row]))[0]
}

export async function listProviders(tx: Tx, { limit, after }: Page): Promise<Paged<ProviderEntry>> {
  const rows = await pageOf(tx, PROVIDER, 'provider', { limit, after })
  return { data: await withCredentials(tx, rows.slice(0, limit)), hasMore: rows.length > limit }
}

export async function readModelById(tx: Tx, id: string): Promise<ModelEntry | undefined> {
  const row = await tx.get(`SELECT ${MODEL} FROM model WHERE id = $1`, [id])
  return row === undefined ? undefined : readModelEntry(row)
}

export async function listModels(tx: Tx, { limit, after }: Page): Promise<Paged<ModelEntry>> {
  return page(await pageOf(tx, MODEL, 'model', { limit, after }), limit, readModelEntry)
}

export function specOfProvider({ id: _id, ...rest }: Provider): string {
  return JSON.stringify(rest)
}

export function specOfModel(model: DeclaredModel): string {
  const { id: _id, prices: _prices, newPriceVersion: _version, ...rest } = model
  return JSON.stringify({ ...rest, targets: model.targets.map(writeTarget) })
}

function readProvider(row: Row): Provider {
  return { ...(JSON.parse(text(row.spec)) as Omit<Provider, 'id'>), id: text(row.id) }
}

export function readModel(row: Row): Model {
  const spec = JSON.parse(text(row.spec)) as Omit<Model, 'targets'> & { readonly targets: readonly WrittenTarget[] }
  const id = text(row.id)
  return {
    ...spec,
    // Rows written before this could be stated count as not stated.
    hiddenReasoning: spec.hiddenReasoning || (spec.hiddenReasoningStated !== true && isKnownToReason({ ...spec, id })),
    targets: spec.targets.map(readTarget),
    id,
    prices: readPriceSnapshot(text(row.price)),
    priceVersion: text(row.price_version),
    createdAt: int(row.created_at),
  }
}

function pageOf(tx: Tx, columns: string, table: string, { limit, after }: Page): Promise<readonly Row[]> {
  const asked = conditions()
  asked.add('id > ?', after)
  return tx.all(
    `SELECT ${columns} FROM ${table} ${asked.where()} ORDER BY id LIMIT ${asked.param(limit + 1)}`,
    asked.params,
  )
}

async function withCredentials(tx: Tx, rows: readonly Row[]): Promise<readonly ProviderEntry[]> {
  const entries: ProviderEntry[] = []
  for (const row of rows) {
    const credentials = await tx.all(
      'SELECT id, last4, created_at FROM credential WHERE provider_id = $1 AND id <> $2 ORDER BY created_at, id',
      [text(row.id), PROXY_CREDENTIAL],
    )
    entries.push({
      ...standingOf(row),
      provider: readProvider(row),
      credentials: credentials.map(each => ({
        id: text(each.id),
        last4: text(each.last4),
        createdAt: int(each.created_at),
      })),
    })
  }
  return entries
}

function readModelEntry(row: Row): ModelEntry {
  return { ...standingOf(row), model: readModel(row) }
}

function standingOf(row: Row) {
  return {
    provisioned: int(row.provisioned) === 1,
    active: int(row.active) === 1,
    version: int(row.version),
    entered: textOrNull(row.entered),
    createdAt: int(row.created_at),
  }
}

function readCredentialRow(row: Row): EncryptedCredential {
  return { providerId: text(row.provider_id), id: text(row.id), ciphertext: text(row.sealed) }
}

// JSON has no bigint.
type WrittenTarget = Omit<Target, 'cost'> & { readonly cost?: WrittenRates }

function writeTarget({ cost, ...rest }: Target): WrittenTarget {
  return cost === undefined ? rest : { ...rest, cost: writeCost(cost) }
}

function readTarget({ cost, ...rest }: WrittenTarget): Target {
  return cost === undefined ? rest : { ...rest, cost: readCost(cost) }
}

function byId(a: { readonly id: string }, b: { readonly id: string }): number {
  return a.id < b.id ? -1 : a.id > b.id ? 1 : 0
}

// The catalog's revision: every change increments it in its own transaction, so a node that has seen this number has seen the
// change.
export const CATALOG_REVISION = 'catalog_revision'

async function readRevision(tx: Tx): Promise<number> {
  return int((await tx.get('SELECT value FROM setting WHERE name = $1', [CATALOG_REVISION]))?.value)
}

export async function stepRevision(tx: Tx): Promise<void> {
  await tx.run(
    `INSERT INTO setting (name, value) VALUES ($1, '1')
     ON CONFLICT (name) DO UPDATE SET value = CAST(CAST(setting.value AS BIGINT) + 1 AS TEXT)`,
    [CATALOG_REVISION],
  )
}
