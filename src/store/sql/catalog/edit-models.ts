// Operators' changes of models: several saved together or none, each based on a version, no name twice.
import { priceSnapshot } from '../../../domain/catalog.ts'
import type { DeclaredModel, ModelEntry, ModelSave, Stale, Unsaved } from '../../contract/catalog.ts'
import type { Actor } from '../../contract/operator.ts'
import { appendEvent } from '../events.ts'
import { int, type Row, type Sql, type Tx, text } from '../sql.ts'
import { changedFields, priceChange, writeModel } from './changes.ts'
import { readModelById, specOfModel, stepRevision } from './rows.ts'

export async function saveModels(
  sql: Sql,
  saves: readonly ModelSave[],
  max: number,
  actor: Actor,
): Promise<readonly ModelEntry[] | Unsaved> {
  try {
    return await sql.transaction(async tx => {
      const names = await namesOf(tx)
      const saved: ModelEntry[] = []
      for (const save of saves) {
        if (save.basedOn === null && names.size >= max) throw new Refused(save.model.id, 'too_many')
        saved.push(await saveModel(tx, save, names, actor))
        names.set(save.model.id, save.model.aliases)
      }
      await stepRevision(tx)
      return saved
    }, 'catalog')
  } catch (error) {
    if (error instanceof Refused) return error.why
    throw error
  }
}

// Rolls back what was saved before it.
class Refused extends Error {
  readonly why: Unsaved
  constructor(id: string, refused: Unsaved['refused'], which = id) {
    super(refused)
    this.why = { id, refused, which }
  }
}

async function saveModel(tx: Tx, save: ModelSave, names: Names, actor: Actor): Promise<ModelEntry> {
  const { model, basedOn } = save
  const stored = await tx.get(
    'SELECT spec, price, price_version, provisioned, active, version FROM model WHERE id = $1',
    [model.id],
  )
  const stale = basedOn === null ? whyNotNew(stored) : whyNotChanged(stored, basedOn)
  if (stale !== undefined) throw new Refused(model.id, stale)
  for (const target of model.targets) {
    const provider = await tx.get('SELECT provisioned, active FROM provider WHERE id = $1', [target.provider])
    if (provider === undefined) throw new Refused(model.id, 'provider', target.provider)
  }
  const twice = nameOfAnother(model, names)
  if (twice !== undefined) throw new Refused(model.id, 'name', twice)

  const owned = { provisioned: false, active: save.active, entered: save.entered }
  if (!(await writeModel(tx, model, stored, owned))) throw new Refused(model.id, 'changed')
  await appendEvent(tx, actor, basedOn === null ? 'model.create' : 'model.update', model.id, detailOf(save, stored))
  return (await readModelById(tx, model.id))!
}

export async function deleteModel(
  tx: Tx,
  id: string,
  basedOn: number | undefined,
  actor: Actor,
): Promise<'deleted' | Stale | undefined> {
  const stored = await tx.get('SELECT provisioned, active, version FROM model WHERE id = $1', [id])
  if (stored === undefined) return undefined
  if (int(stored.provisioned) === 1 && int(stored.active) === 1) return 'provisioned'
  if (basedOn !== undefined && int(stored.version) !== basedOn) return 'changed'
  const deleted = await tx.run('DELETE FROM model WHERE id = $1 AND version = $2', [id, int(stored.version)])
  if (deleted === 0) return 'changed'
  await appendEvent(tx, actor, 'model.delete', id)
  return 'deleted'
}

// What a file no longer declares may be taken over.
function whyNotNew(stored: Row | undefined): 'exists' | undefined {
  const isFree = stored === undefined || (int(stored.provisioned) === 1 && int(stored.active) === 0)
  return isFree ? undefined : 'exists'
}

function whyNotChanged(stored: Row | undefined, basedOn: number): Stale | 'unknown' | undefined {
  if (stored === undefined) return 'unknown'
  if (int(stored.provisioned) === 1) return 'provisioned'
  return int(stored.version) === basedOn ? undefined : 'changed'
}

// Aliases by the id of their model, for all that are or may become active.
type Names = Map<string, readonly string[]>

async function namesOf(tx: Tx): Promise<Names> {
  const rows = await tx.all('SELECT id, spec FROM model WHERE active = 1 OR provisioned = 0')
  return new Map(rows.map(row => [text(row.id), (JSON.parse(text(row.spec)) as DeclaredModel).aliases]))
}

function nameOfAnother({ id, aliases }: DeclaredModel, names: Names): string | undefined {
  const own = [id, ...aliases]
  for (const [other, others] of names) {
    if (other === id) continue
    const twice = own.find(name => name === other || others.includes(name))
    if (twice !== undefined) return twice
  }
  return undefined
}

function detailOf({ model, active }: ModelSave, stored: Row | undefined): Readonly<Record<string, unknown>> {
  const price = priceChange(model, stored)
  if (stored === undefined) return { price: JSON.parse(priceSnapshot(model.prices)) }
  const fields = [
    ...changedFields(text(stored.spec), specOfModel(model)),
    ...((int(stored.active) === 1) === active ? [] : ['status']),
  ]
  return { fields, ...(price === null ? {} : { price }) }
}
