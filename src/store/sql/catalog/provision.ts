// Makes the catalog what a configuration file declares, in one transaction, and reports the changes. See
// docs/decisions/catalog-ownership.md.
import { priceSnapshot } from '../../../domain/catalog.ts'
import type {
  CatalogChange,
  CatalogStore,
  DeclaredCatalog,
  DeclaredModel,
  NameClash,
  Provisioned,
  ProvisionOrder,
} from '../../contract/catalog.ts'
import { appendEvent } from '../events.ts'
import { int, type Row, type Sql, type Tx, text } from '../sql.ts'
import { changedFields, priceChange, writeModel } from './changes.ts'
import { lastApplied, specOfModel, specOfProvider, stepRevision } from './rows.ts'

export function provisioning(sql: Sql): CatalogStore['provision'] {
  return async (declared, order) => {
    try {
      return await sql.transaction(async tx => {
        const done = await provision(tx, declared, order)
        if (order.dryRun || (order.clashes === 'refuse' && done.clashes.length > 0)) throw new OnlyAsked(done)
        return done
      }, 'catalog')
    } catch (error) {
      if (error instanceof OnlyAsked) return error.answer
      throw error
    }
  }
}

// Rolls the transaction back: a dry run, or a refused one, does everything and keeps nothing.
class OnlyAsked extends Error {
  readonly answer: Provisioned
  constructor(answer: Provisioned) {
    super('a dry run')
    this.answer = answer
  }
}

async function provision(tx: Tx, declared: DeclaredCatalog, order: ProvisionOrder): Promise<Provisioned> {
  const turn = order.digest === null ? 'has' : await takeTurn(tx, order.digest, order.evenSuperseded)
  if (turn === 'superseded') return { superseded: true, changes: [], clashes: [] }
  const providers = await provisionProviders(tx, declared)
  const models = await provisionModels(tx, declared)
  const changes = [...providers, ...models.changes]
  if (changes.length > 0) {
    const changed = changes.map(({ what, id, change }) => `${what} ${id} ${change}`)
    await appendEvent(tx, order.actor, 'catalog.provision', 'catalog', { changed })
  }
  // Another file may bring other credentials, which are not stored.
  if (changes.length > 0 || turn === 'takes') await stepRevision(tx)
  return { superseded: false, changes, clashes: models.clashes }
}

// Whether the file may be applied. One that was applied before another one is superseded.
type Turn = 'has' | 'takes' | 'superseded'

async function takeTurn(tx: Tx, digest: string, evenSuperseded: boolean): Promise<Turn> {
  const last = await lastApplied(tx)
  if (last !== undefined && text(last.digest) === digest) return 'has'
  const before = await tx.get('SELECT turn FROM applied_file WHERE digest = $1', [digest])
  if (before !== undefined && !evenSuperseded) return 'superseded'
  await tx.run(
    `INSERT INTO applied_file (digest, turn, applied_at) VALUES ($1, $2, $3)
     ON CONFLICT (digest) DO UPDATE SET turn = excluded.turn, applied_at = excluded.applied_at`,
    [digest, int(last?.turn) + 1, tx.now()],
  )
  return 'takes'
}

async function provisionProviders(tx: Tx, { providers }: DeclaredCatalog): Promise<readonly CatalogChange[]> {
  const before = await rowsById(tx, 'SELECT id, spec, provisioned, active, version FROM provider')
  const changes: CatalogChange[] = []
  for (const provider of providers) {
    const { id } = provider
    const spec = specOfProvider(provider)
    const stored = before.get(id)
    if (stands(stored, { spec })) continue
    changes.push({ what: 'provider', id, ...howItChanges(stored, spec), price: null })
    const written = await tx.run(
      `INSERT INTO provider (id, spec, provisioned, active, created_at) VALUES ($1, $2, 1, 1, $3)
       ON CONFLICT (id) DO UPDATE SET spec = excluded.spec, provisioned = 1, active = 1, entered = NULL,
         version = provider.version + 1 WHERE provider.version = $4`,
      [id, spec, tx.now(), int(stored?.version)],
    )
    if (written === 0) throw changedMeanwhile('provider', id)
    // The file brings its own; what an operator entered for a provider of this name was meant for another one.
    await tx.run('DELETE FROM credential WHERE provider_id = $1', [id])
  }
  for (const id of goneFrom(before, providers)) {
    changes.push({ what: 'provider', id, change: 'removed', fields: [], price: null })
    await letGo(tx, 'provider', before.get(id)!)
  }
  return changes
}

async function provisionModels(tx: Tx, declared: DeclaredCatalog): Promise<Pick<Provisioned, 'changes' | 'clashes'>> {
  const before = await rowsById(tx, 'SELECT id, spec, price, price_version, provisioned, active, version FROM model')
  const { models, clashes } = withFreeNames(declared.models, before)
  const changes: CatalogChange[] = []
  for (const model of models) {
    const stored = before.get(model.id)
    if (stands(stored, { spec: specOfModel(model), price: priceSnapshot(model.prices) })) continue
    changes.push(modelChange(model, stored))
    const written = await writeModel(tx, model, stored, { provisioned: true, active: true, entered: null })
    if (!written) throw changedMeanwhile('model', model.id)
  }
  for (const id of goneFrom(before, models)) {
    changes.push({ what: 'model', id, change: 'removed', fields: [], price: null })
    await letGo(tx, 'model', before.get(id)!)
  }
  return { changes, clashes }
}

async function letGo(tx: Tx, table: CatalogChange['what'], { id, version }: Row): Promise<void> {
  const gone = `UPDATE ${table} SET active = 0, version = version + 1 WHERE id = $1 AND version = $2`
  if ((await tx.run(gone, [text(id), int(version)])) === 0) throw changedMeanwhile(table, text(id))
}

// Rolls everything back: the rows have changed since they were read.
function changedMeanwhile(what: CatalogChange['what'], id: string): Error {
  return new Error(`the ${what} ${id} was changed while the file was applied; apply it again`)
}

function modelChange(model: DeclaredModel, stored: Row | undefined): CatalogChange {
  const how = howItChanges(stored, specOfModel(model))
  const price = priceChange(model, how.change === 'added' ? undefined : stored)
  const fields = price === null || how.change === 'added' ? how.fields : [...how.fields, 'pricing']
  return { what: 'model', id: model.id, change: how.change, fields, price }
}

function howItChanges(stored: Row | undefined, spec: string): Pick<CatalogChange, 'change' | 'fields'> {
  if (stored === undefined || int(stored.active) === 0) return { change: 'added', fields: [] }
  const taken = int(stored.provisioned) === 1 ? [] : ['provisioned']
  return { change: 'changed', fields: [...taken, ...changedFields(text(stored.spec), spec)] }
}

async function rowsById(tx: Tx, statement: string): Promise<ReadonlyMap<string, Row>> {
  return new Map((await tx.all(statement)).map(row => [text(row.id), row]))
}

// Whether the row already has this content, provisioned and active.
function stands(row: Row | undefined, wanted: Readonly<Record<string, string>>): boolean {
  if (row === undefined || int(row.provisioned) !== 1 || int(row.active) !== 1) return false
  return Object.entries(wanted).every(([column, value]) => text(row[column]) === value)
}

// Entries that a file declared before and no longer does. What operators added is not the file's to end.
function goneFrom(before: ReadonlyMap<string, Row>, declared: readonly { readonly id: string }[]): readonly string[] {
  const still = new Set(declared.map(({ id }) => id))
  return [...before.values()]
    .filter(row => int(row.provisioned) === 1 && int(row.active) === 1 && !still.has(text(row.id)))
    .map(row => text(row.id))
}

// Names that a file declares for its models and that operators' models already have. A name belongs to one model: the operator's
// keeps it, since it is being called.
type FreeNames = { readonly models: readonly DeclaredModel[]; readonly clashes: readonly NameClash[] }

// The declared models without taken names: a taken alias is removed, a model whose id is taken is left out. A model declared
// under the operator's own id is not a conflict: the file takes it over.
function withFreeNames(models: readonly DeclaredModel[], stored: ReadonlyMap<string, Row>): FreeNames {
  const declared = new Set(models.map(({ id }) => id))
  const owners = new Map<string, string>()
  for (const [id, row] of stored) {
    if (int(row.provisioned) === 1 || declared.has(id)) continue
    const { aliases } = JSON.parse(text(row.spec)) as DeclaredModel
    for (const name of [id, ...aliases]) owners.set(name, id)
  }
  const isFree = (name: string) => !owners.has(name)
  return {
    models: models
      .filter(({ id }) => isFree(id))
      .map(model => (model.aliases.every(isFree) ? model : { ...model, aliases: model.aliases.filter(isFree) })),
    clashes: models.flatMap(({ id, aliases }) =>
      [id, ...aliases].flatMap(name => (isFree(name) ? [] : [{ model: id, name, owner: owners.get(name) ?? '' }])),
    ),
  }
}
