// Admin operations on models. A price is multiplied with the factors of the configuration file only when it is saved: a change of
// anything else leaves it unchanged.

import type { Refusal } from '../domain/refusal.ts'
import type { ModelEntry, ModelSave, Unsaved } from '../store/contract/catalog.ts'
import type { Actor, Page } from '../store/contract/operator.ts'
import { type CatalogNeeds, type EntryMethods, merged, splitStatus, staleness, thenRefresh } from './catalog-input.ts'
import { type ModelObject, modelObject } from './catalog-wire.ts'
import { conflict, listOf, readIfMatch, unknown, wrong } from './input.ts'

export type ModelMethods = EntryMethods<'model', ModelObject>

export function modelMethods(needs: CatalogNeeds): ModelMethods {
  const { catalog, reader, newId } = needs

  async function save(one: ModelSave, actor: Actor): Promise<ModelObject> {
    const saved = await thenRefresh(needs, catalog.saveModels([one], needs.modelsMax, actor))
    if ('refused' in saved) throw refusalOf(saved)
    const [entry] = saved
    return modelObject(found(entry))
  }

  return {
    async create(input, actor) {
      const { active = true, document } = splitStatus(input)
      const model = reader.model(document, await providerIds(needs))
      const entered = JSON.stringify(document)
      return save({ model: { ...model, newPriceVersion: newId() }, entered, active, basedOn: null }, actor)
    },

    async get(id) {
      return modelObject(found(await catalog.model(id)))
    },

    async list(page) {
      return listOf(await catalog.models(page), modelObject)
    },

    async update(id, change, ifMatch, actor) {
      const before = found(await catalog.model(id))
      if (before.provisioned) throw staleness('model', id, 'provisioned')
      const basedOn = readIfMatch(ifMatch) ?? before.version
      const { active = before.active, document: given } = splitStatus(change)
      if (given.id !== undefined && given.id !== id) throw wrong('id', 'the current id; ids cannot be changed')
      const document = merged(before.entered, given)
      const read = reader.model(document, await providerIds(needs))
      const model = {
        ...read,
        // The factors may have changed since these were saved.
        ...('pricing' in given ? {} : { prices: before.model.prices }),
        ...('targets' in given ? {} : { targets: before.model.targets }),
        newPriceVersion: newId(),
      }
      return save({ model, entered: JSON.stringify(document), active, basedOn }, actor)
    },

    async delete(id, ifMatch, actor) {
      const done = await thenRefresh(needs, catalog.deleteModel(id, readIfMatch(ifMatch), actor))
      if (done === undefined) throw unknown('model')
      if (done !== 'deleted') throw staleness('model', id, done)
      return { object: 'model', id, deleted: true }
    },
  }
}

// Of the file and of operators alike.
export async function providerIds({ catalog }: Pick<CatalogNeeds, 'catalog'>): Promise<ReadonlySet<string>> {
  const ids = new Set<string>()
  for await (const { provider } of everyEntry(
    page => catalog.providers(page),
    each => each.provider.id,
  )) {
    ids.add(provider.id)
  }
  return ids
}

const PAGE = 500

export async function* everyEntry<T>(
  read: (page: Page) => Promise<{ readonly data: readonly T[]; readonly hasMore: boolean }>,
  idOf: (entry: T) => string,
): AsyncGenerator<T> {
  for (let after: string | undefined; ; ) {
    const { data, hasMore } = await read({ limit: PAGE, after })
    yield* data
    const last = data.at(-1)
    if (!hasMore || last === undefined) return
    after = idOf(last)
  }
}

export function refusalOf({ id, refused, which }: Unsaved): Refusal {
  switch (refused) {
    case 'exists':
      return conflict(`A model ${id} already exists.`, 'id')
    case 'name':
      return conflict(`${which} is already the id or an alias of another model.`, which === id ? 'id' : 'aliases')
    case 'provider':
      return conflict(`The provider ${which} no longer exists.`, 'targets')
    case 'too_many':
      return conflict('The maximum number of models is reached.')
    case 'unknown':
      return unknown('model')
    default:
      return staleness('model', id, refused)
  }
}

function found(entry: ModelEntry | undefined): ModelEntry {
  if (entry === undefined) throw unknown('model')
  return entry
}
