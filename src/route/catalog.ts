// The catalog as requests see it: an immutable snapshot with lookups, and the one in force.
import type { Credential, Model, Provider } from '../domain/catalog.ts'
import { MODEL_NAME_MAX } from '../domain/usage.ts'
import { lru } from '../lib/lru.ts'
import { starPattern } from '../lib/star-pattern.ts'

export type Catalog = {
  // By id or alias, then by an alias with stars: the longest that matches, of equally long ones the first in the alphabet.
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
  for (const model of usable) for (const alias of model.aliases) if (!alias.includes('*')) byName.set(alias, model)
  for (const model of usable) byName.set(model.id, model)
  return {
    model: withPatterns(byName, usable),
    provider: id => providers.get(id),
    credentials: id => credentials.get(id) ?? NONE,
    providers: stored.providers,
    models: usable.toSorted((a, b) => (a.id < b.id ? -1 : 1)),
  }
}

// An id costs one look. What patterns give is remembered for as many names as there are clients with names of their own.
function withPatterns(byName: ReadonlyMap<string, Model>, models: readonly Model[]): Catalog['model'] {
  const patterns = models
    .flatMap(model => model.aliases.filter(alias => alias.includes('*')).map(alias => ({ alias, model })))
    .sort((a, b) => b.alias.length - a.alias.length || (a.alias < b.alias ? -1 : 1))
    .map(({ alias, model }) => ({ model, matches: starPattern(alias) }))
  if (patterns.length === 0) return name => byName.get(name)

  const known = lru<string, Model | null>(NAMES_REMEMBERED_MAX)
  return name => {
    const exact = byName.get(name)
    if (exact !== undefined || name.length > MODEL_NAME_MAX) return exact
    let found = known.get(name)
    if (found === undefined) {
      found = patterns.find(({ matches }) => matches(name))?.model ?? null
      known.set(name, found)
    }
    return found ?? undefined
  }
}

const NAMES_REMEMBERED_MAX = 1000

const NONE: readonly Credential[] = []
