// What the file or the environment declares, in two forms: as it is stored, without resolved placeholders, and as it is used,
// with its credentials.
import { isDeepStrictEqual } from 'node:util'
import type { Config } from '../config/config.ts'
import { type Credential, isElsewhere, type Model, type Provider } from '../domain/catalog.ts'
import { AT_PAR, type Exchange } from '../domain/dollars.ts'
import type { DeclaredCatalog } from '../store/contract/catalog.ts'
import { missingPackages } from '../upstream/ai-sdk/models.ts'
import { demoCatalog } from './demo.ts'
import type { ProviderDeclaration } from './provider.ts'

export type Declared = {
  readonly catalog: DeclaredCatalog
  readonly digest: string | null
  readonly exchange: Exchange
  readonly creditsPerUsd: string | null
  // A stored provider with its placeholders resolved and its credentials. Undefined if they are not known: no provider of this
  // name is declared, or one with another address.
  resolveProvider(stored: Provider): ResolvedProvider | undefined
  // Undefined if it has a placeholder that is not declared here.
  resolveModel(stored: Model): Model | undefined
  // Empty for a provider that is not declared.
  credentialsOf(providerId: string): readonly Credential[]
}
type ResolvedProvider = { readonly provider: Provider; readonly credentials: readonly Credential[] }

export function declaredBy(config: Config, newId: () => string): Declared {
  const { providers, models, raw, digest, exchange, creditsPerUsd } = config.catalog ?? withoutFile(config, newId)
  const resolved = { providers: byId(providers.map(withoutCredentials)), models: byId(models) }
  const stored = { providers: byId(raw.providers), models: byId(raw.models) }
  const credentialsOf = (id: string) => providers.find(provider => provider.id === id)?.credentials ?? []
  return {
    catalog: {
      providers: raw.providers,
      models: raw.models.map(model => ({ ...model, newPriceVersion: newId() })),
    },
    digest,
    exchange,
    creditsPerUsd,
    resolveProvider(provider) {
      const declared = stored.providers.get(provider.id)
      if (declared === undefined || isElsewhere(declared, provider)) return undefined
      const whole = resolveFields(provider, declared, resolved.providers.get(provider.id) ?? {})
      return whole && { provider: whole, credentials: credentialsOf(provider.id) }
    },
    resolveModel: model => resolveFields(model, stored.models.get(model.id) ?? {}, resolved.models.get(model.id) ?? {}),
    credentialsOf,
  }
}

// Field by field: where the stored value equals the declared one, the resolved value is used. An unresolved placeholder is not
// usable.
function resolveFields<T extends object>(stored: T, declared: Partial<T>, resolved: Partial<T>): T | undefined {
  const fields = (Object.keys(stored) as (keyof T)[]).map(name => {
    const isDeclared = name in declared && isDeepStrictEqual(stored[name], declared[name])
    return isDeclared
      ? ([name, resolved[name]] as const)
      : ([name, stored[name], hasPlaceholder(stored[name])] as const)
  })
  return fields.some(([, , isLeft]) => isLeft) ? undefined : (Object.fromEntries(fields) as T)
}

function hasPlaceholder(value: unknown): boolean {
  if (typeof value === 'string') return /\$\{\w+\}/.test(value)
  return typeof value === 'object' && value !== null && Object.values(value).some(hasPlaceholder)
}

function byId<T extends { readonly id: string }>(list: readonly T[]): ReadonlyMap<string, T> {
  return new Map(list.map(one => [one.id, one]))
}

function withoutFile({ detected }: Config, newId: () => string) {
  const demo = demoCatalog(newId)
  // A key that was set for another program must not prevent the start.
  const callable = detected.providers.filter(provider => missingPackages([provider]) === undefined)
  const ids = new Set(callable.map(({ id }) => id))
  const providers = [...demo.providers.map(provider => ({ ...provider, credentials: [] })), ...callable]
  const models = [
    ...demo.models,
    ...detected.models.filter(({ targets }) => targets.every(({ provider }) => ids.has(provider))),
  ]
  const raw = { providers: providers.map(withoutCredentials), models }
  return { providers, models, raw, digest: null, exchange: AT_PAR, creditsPerUsd: null }
}

function withoutCredentials({ credentials: _, ...provider }: ProviderDeclaration): Provider {
  return provider
}
