// What all catalog changes share: the errors for what may not be changed, and the version that a change is based on.
import type { Credential, Model, Provider } from '../domain/catalog.ts'
import type { Factor } from '../domain/dollars.ts'
import type { Refusal } from '../domain/refusal.ts'
import type { CatalogStore, Stale } from '../store/contract/catalog.ts'
import type { Actor, Page } from '../store/contract/operator.ts'
import type { Document } from './catalog-wire.ts'
import { conflict, type List, versionMismatch, wrong } from './input.ts'

export type EnteredModel = Omit<Model, 'createdAt' | 'priceVersion'>

// Reads by the rules of the configuration file; throws a refusal that names the field.
export type CatalogReader = {
  provider(document: Document): Provider & { readonly credentials: readonly Credential[] }
  // Without a markup, that of the configuration file.
  model(document: Document, providers: ReadonlySet<string>, markup?: Factor): EnteredModel
}

// What can be done with an entry of either kind.
export type EntryMethods<Noun extends string, Entry> = {
  create(input: Document, actor: Actor): Promise<Entry>
  get(id: string): Promise<Entry>
  list(page: Page): Promise<List<Entry>>
  update(id: string, change: Document, ifMatch: string | undefined, actor: Actor): Promise<Entry>
  delete(id: string, ifMatch: string | undefined, actor: Actor): Promise<Deleted<Noun>>
}
export type Deleted<Noun extends string> = { readonly object: Noun; readonly id: string; readonly deleted: true }

export type CatalogNeeds = {
  readonly catalog: CatalogStore
  readonly reader: CatalogReader
  // A UUIDv7 with dashes.
  newId(): string
  readonly providersMax: number
  readonly modelsMax: number
  // Puts the saved catalog in force.
  refresh(): Promise<void>
}

// Whatever the result: when the commit's answer was lost, the change may exist.
export async function thenRefresh<T>({ refresh }: Pick<CatalogNeeds, 'refresh'>, change: Promise<T>): Promise<T> {
  try {
    return await change
  } finally {
    await refresh()
  }
}

export function staleness(noun: string, id: string, stale: Stale): Refusal {
  return stale === 'changed'
    ? versionMismatch(noun, id)
    : conflict(
        `The ${noun} ${id} is declared in the configuration file or was created at first start. To change it, edit the file and run "turnpike apply".`,
      )
}

// `status` is sent together with the document and is not part of it.
export function splitStatus({ status, ...document }: Document): { active: boolean | undefined; document: Document } {
  if (status !== undefined && status !== 'active' && status !== 'inactive') throw wrong('status', 'active or inactive')
  return { active: status === undefined ? undefined : status === 'active', document }
}

// A null field is removed, so that its default applies.
export function merged(entered: string | null, change: Document): Document {
  const before = entered === null ? {} : (JSON.parse(entered) as Document)
  return Object.fromEntries(Object.entries({ ...before, ...change }).filter(([, value]) => value !== null))
}
