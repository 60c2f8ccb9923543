// The catalog as requests see it: an immutable snapshot with look-ups, made once, at start.
import type { Model, Provider } from '../domain/catalog.ts'

export type Catalog = {
  // By id or alias.
  model(name: string): Model | undefined
  provider(id: string): Provider | undefined
  readonly models: readonly Model[]
}

export function catalogOf(stored: {
  readonly providers: readonly Provider[]
  readonly models: readonly Model[]
}): Catalog {
  const providers = new Map(stored.providers.map(provider => [provider.id, provider]))
  const usable = stored.models.filter(model => model.targets.some(target => providers.has(target.provider)))
  const byName = new Map<string, Model>()
  for (const model of usable) for (const alias of model.aliases) byName.set(alias, model)
  for (const model of usable) byName.set(model.id, model)
  return {
    model: name => byName.get(name),
    provider: id => providers.get(id),
    models: usable.toSorted((a, b) => (a.id < b.id ? -1 : 1)),
  }
}
