// The catalog as requests see it: an immutable snapshot with lookups, and the one in force.
import type { Credential, Model, Provider } from '../domain/catalog.ts'

export type Catalog = {
  // By id or alias.
  model(name: string): Model | undefined
  provider(id: string): Provider | undefined
  // The credentials for calling it; none if it needs none.
  credentials(providerId: string): readonly Credential[]
  readonly models: readonly Model[]
  readonly providers: readonly Provider[]
}

// The catalog in force. A request keeps the one that it began with.
export type LiveCatalog = { current(): Catalog; replace(next: Catalog): void }

export type Credentials = ReadonlyMap<string, readonly Credential[]>

export function liveCatalog(first: Catalog): LiveCatalog {
  let catalog = first
  return {
    current: () => catalog,
    replace(next) {
      catalog = next
    },
  }
}

export function catalogOf(
  stored: { readonly providers: readonly Provider[]; readonly models: readonly Model[] },
  credentials: Credentials,
): Catalog {
  const providers = new Map(stored.providers.map(provider => [provider.id, provider]))
  const usable = stored.models.filter(model => model.targets.some(target => providers.has(target.provider)))
  const byName = new Map<string, Model>()
  for (const model of usable) for (const alias of model.aliases) byName.set(alias, model)
  for (const model of usable) byName.set(model.id, model)
  return {
    model: name => byName.get(name),
    provider: id => providers.get(id),
    credentials: id => credentials.get(id) ?? NONE,
    providers: stored.providers,
    models: usable.toSorted((a, b) => (a.id < b.id ? -1 : 1)),
  }
}

const NONE: readonly Credential[] = []
