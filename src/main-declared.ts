// What file or environment declares, in the two forms that are needed: as it is stored, without anything that a placeholder
// brought in, and as it is used, with its credentials.
import { isDeepStrictEqual } from 'node:util'
import type { Config } from './config.ts'
import type { FileProvider } from './config-provider.ts'
import type { Credential, Provider } from './domain/catalog.ts'
import { AT_PAR, type Exchange } from './domain/dollars.ts'
import { demoCatalog } from './first-start.ts'
import type { DeclaredCatalog } from './store/contract-catalog.ts'
import { missingPackages } from './upstream/ai-sdk-models.ts'

export type Declared = {
  readonly catalog: DeclaredCatalog
  readonly digest: string | null
  readonly exchange: Exchange
  // The provider behind what is stored of it, if it is still the declared one.
  behind(stored: Provider): Used | undefined
  // Empty for a provider that is not declared.
  credentialsOf(providerId: string): readonly Credential[]
}
type Used = { readonly provider: Provider; readonly credentials: readonly Credential[] }

export function declaredBy(config: Config, newId: () => string): Declared {
  const { providers, models, taken, digest, exchange } = config.catalog ?? withoutFile(config, newId)
  const used = new Map(providers.map(provider => [provider.id, split(provider)]))
  const stored = new Map([...used].map(([id, { provider }]) => [id, masked(provider, taken)]))
  return {
    catalog: {
      providers: [...stored.values()],
      models: models.map(model => ({ ...model, newPriceVersion: newId() })),
    },
    digest,
    exchange,
    behind: provider => (isDeepStrictEqual(stored.get(provider.id), provider) ? used.get(provider.id) : undefined),
    credentialsOf: id => used.get(id)?.credentials ?? [],
  }
}

// A stored address that is only a placeholder's name leads nowhere.
export function hasPlaceholder(provider: Provider): boolean {
  return /\$\{\w+\}/.test(JSON.stringify(provider))
}

function withoutFile({ detected }: Config, newId: () => string) {
  const demo = demoCatalog(newId)
  // A key that was set for another program must not keep us from starting.
  const callable = detected.providers.filter(provider => missingPackages([provider]) === undefined)
  const ids = new Set(callable.map(({ id }) => id))
  return {
    providers: [...demo.providers.map(provider => ({ ...provider, credentials: [] })), ...callable],
    models: [
      ...demo.models,
      ...detected.models.filter(({ targets }) => targets.every(({ provider }) => ids.has(provider))),
    ],
    taken: new Map<string, string>(),
    digest: null,
    exchange: AT_PAR,
  }
}

function split({ credentials, ...provider }: FileProvider): Used {
  return { provider, credentials }
}

// A value that is shorter than this is no secret, and would be found where it is not meant.
const SECRET_CHARS_MIN = 4

// Through JSON, as the store will read it back.
function masked(provider: Provider, taken: ReadonlyMap<string, string>): Provider {
  const secrets = [...taken].filter(([, value]) => value.length >= SECRET_CHARS_MIN)
  const mask = (name: string, value: unknown) =>
    typeof value !== 'string' || name === 'id' || name === 'kind'
      ? value
      : secrets.reduce((text, [variable, secret]) => text.replaceAll(secret, `\${${variable}}`), value)
  return JSON.parse(JSON.stringify(provider, mask)) as Provider
}
