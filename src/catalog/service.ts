// Keeps the catalog in force: what the file or environment declares and what operators entered, with the credentials of both,
// loaded from the store after every change.
import { BadConfig, NoConfigFile } from '../config/bad-config.ts'
import { type Config, loadConfig } from '../config/config.ts'
import { type Credential, PROXY_CREDENTIAL, type Provider } from '../domain/catalog.ts'
import type { Exchange } from '../domain/dollars.ts'
import type { Encryption } from '../lib/encryption.ts'
import { wordsOf } from '../lib/text.ts'
import { type Catalog, catalogOf, type LiveCatalog, liveCatalog } from '../route/catalog.ts'
import type { NameClash, Provisioned, StoredCatalog } from '../store/contract/catalog.ts'
import type { Actor } from '../store/contract/operator.ts'
import type { Store } from '../store/contract/store.ts'
import type { Log } from '../telemetry/log.ts'
import { missingPackages } from '../upstream/ai-sdk/models.ts'
import { type CredentialEncryption, openCredentialEncryption } from './credential-encryption.ts'
import { type Declared, declaredBy } from './declared.ts'

export type CatalogService = {
  readonly live: LiveCatalog
  readonly encryption: Encryption
  exchange(): Exchange
  // The rate that the file states; null without one.
  creditsPerUsd(): string | null
  // The credentials declared by the file or environment.
  credentialsOf(providerId: string): readonly Credential[]
  // Loads the store's current catalog and puts it in force.
  refresh(): Promise<void>
  // The credentials in force.
  revision(): number
  // Reads the configuration file again. Throws BadConfig, and then nothing has changed.
  apply(dryRun: boolean, actor: Actor): Promise<Applied>
}
// With the settings that differ but are only read at start.
export type Applied = Provisioned & { readonly atNextStart: readonly string[] }

const START: Actor = { name: 'start', address: 'local' }

export type CatalogContext = { readonly config: Config; readonly newId: () => string; readonly log: Log }

export async function openCatalog(store: Store, context: CatalogContext): Promise<CatalogService> {
  const { config, newId } = context
  const credentialEncryption = await openCredentialEncryption(store.catalog, config)
  let declared = await withoutOwned(declaredBy(config, newId), store)
  const first = await store.catalog.provision(declared.catalog, {
    digest: declared.digest,
    evenSuperseded: false,
    clashes: 'leave_out',
    dryRun: false,
    actor: START,
  })
  logStart(first, context)
  const reported = new Set<string>()
  let revision = 0
  const live = liveCatalog(await current())

  async function current(): Promise<Catalog> {
    const stored = await store.catalog.load()
    if (stored.digest !== declared.digest) readFileAgain(stored.digest)
    const catalog = await inForce(stored, declared, { credentialEncryption, config, leaveOut })
    revision = stored.revision
    return catalog
  }

  // Logged once for each: this runs with every change of the catalog.
  function leaveOut(what: 'provider' | 'model', id: string, why: string): void {
    if (reported.has(`${what} ${id}`)) return
    reported.add(`${what} ${id}`)
    context.log.warn({ [what]: id }, `a ${what} is left out: ${why}`)
  }

  // Another node has applied a file. If ours is now the same, its declarations are ours too: its credentials are stored nowhere
  // else. A start that found its file superseded is not warned again.
  function readFileAgain(applied: string | null): void {
    if (config.catalog === undefined || applied === null) return
    const isNews = !reported.has(applied) && !first.superseded
    reported.add(applied)
    try {
      const again = loadConfig()
      if (again.catalog?.digest === applied) {
        requirePackages(again.catalog.providers)
        declared = declaredBy(again, newId)
        context.log.info(
          { file: again.configFile },
          'another node has applied the configuration file: it was read again',
        )
      } else if (isNews) {
        context.log.warn(
          { file: config.configFile },
          'another node has applied another configuration file than this one',
        )
      }
    } catch (error) {
      const why = error instanceof BadConfig ? error.message : wordsOf(error)
      if (isNews)
        context.log.error({ err: why }, 'another node has applied a configuration file; this one cannot be read')
    }
  }

  // One at a time: an older result of the store must not replace a newer one.
  let turn: Promise<unknown> = Promise.resolve()
  function next<T>(work: () => Promise<T>): Promise<T> {
    const mine = turn.then(work)
    turn = mine.catch(() => undefined)
    return mine
  }

  return {
    live,
    encryption: credentialEncryption.encryption,
    revision: () => revision,
    exchange: () => declared.exchange,
    creditsPerUsd: () => declared.creditsPerUsd,
    credentialsOf: id => declared.credentialsOf(id).filter(isOfProvider),
    refresh: () => next(async () => live.replace(await current())),
    apply: (dryRun, actor) =>
      next(async () => {
        const again = loadConfig()
        if (again.catalog === undefined) throw new NoConfigFile('there is no configuration file to apply')
        requirePackages(again.catalog.providers)
        if (again.catalog.isSilent) await refuseSilence(store, again)
        const wanted = declaredBy(again, newId)
        const order = { digest: wanted.digest, evenSuperseded: true, clashes: 'refuse', dryRun, actor } as const
        const done = await store.catalog.provision(wanted.catalog, order)
        if (done.clashes.length > 0) throw new BadConfig(wordsOfClashes(done.clashes, again))
        if (!dryRun) {
          declared = wanted
          live.replace(await current())
        }
        return { ...done, atNextStart: atNextStart(config, again) }
      }),
  }
}

// A truncated or missing file must not remove everything.
async function refuseSilence({ catalog }: Store, { configFile }: Config): Promise<void> {
  if ((await catalog.load()).provisioned.length === 0) return
  const way = 'if this is intended, write "providers: []"'
  throw new BadConfig(
    `${configFile}: names neither providers nor models and would remove everything that was declared; ${way}`,
  )
}

function wordsOfClashes(clashes: readonly NameClash[], { configFile }: Config): string {
  const named = clashes.slice(0, 5).map(({ model, name, owner }) => `${name} of ${model} (operator's model ${owner})`)
  const more = clashes.length > named.length ? ', …' : ''
  return `${configFile}: names that operators' models have already: ${named.join(', ')}${more}; change one of the two`
}

export function requirePackages(providers: readonly Pick<Provider, 'kind' | 'settings'>[]): void {
  const missing = missingPackages(providers)
  if (missing !== undefined) throw new BadConfig(missing)
}

// A file defines what must exist; the environment only offers. What an operator entered under the same name stays.
async function withoutOwned(declared: Declared, { catalog }: Store): Promise<Declared> {
  if (declared.digest !== null) return declared
  const owned = new Set<string>()
  for (const { id } of declared.catalog.providers) {
    if ((await catalog.provider(id))?.provisioned === false) owned.add(id)
  }
  const models = []
  for (const model of declared.catalog.models) {
    const isOwned = (await catalog.model(model.id))?.provisioned === false
    if (!isOwned && !model.targets.some(({ provider }) => owned.has(provider))) models.push(model)
  }
  return { ...declared, catalog: { providers: declared.catalog.providers.filter(({ id }) => !owned.has(id)), models } }
}

function logStart({ superseded, clashes }: Provisioned, { config, log }: CatalogContext): void {
  // What the environment offers is optional.
  for (const clash of config.catalog === undefined ? [] : clashes) {
    log.error(clash, "a name in the configuration file is an operator's already: the operator's model keeps it")
  }
  if (superseded) {
    const words = 'the configuration file was superseded by a newer one and is not applied; `turnpike apply` applies it'
    log.warn({ file: config.configFile }, words)
  }
  const missing = missingPackages(config.detected.providers)
  if (missing !== undefined) log.warn({ why: missing }, 'a provider key was found and cannot be used')
  for (const { variable, why } of config.detected.unusable) log.warn({ variable, why }, 'a provider key cannot be used')
}

type InForceNeeds = {
  readonly credentialEncryption: CredentialEncryption
  readonly config: Config
  leaveOut(what: 'provider' | 'model', id: string, why: string): void
}

const NOT_DECLARED = 'the configuration file does not declare it as it was applied'
const NOT_DECRYPTED =
  'its credentials were encrypted with another key than TURNPIKE_ENCRYPTION_KEY and the one before it'

// No provider is called without the secret that was declared for it, or with an unresolved placeholder.
async function inForce(stored: StoredCatalog, declared: Declared, needs: InForceNeeds): Promise<Catalog> {
  const credentials = new Map(await needs.credentialEncryption.decrypt(stored.credentials))
  const left = (what: 'provider' | 'model', id: string, why: string): [] => {
    needs.leaveOut(what, id, why)
    return []
  }
  const isDeclared = new Set(stored.provisioned)
  const hasCredentials = new Set(stored.credentials.map(({ providerId }) => providerId))
  const providers = stored.providers.flatMap(provider => {
    const { id } = provider
    if (!isDeclared.has(id)) {
      if (hasCredentials.has(id) && !credentials.has(id)) return left('provider', id, NOT_DECRYPTED)
      return [needs.config.allowPrivateUpstreams ? anywhere(provider) : provider]
    }
    const used = declared.resolveProvider(provider)
    if (used === undefined) return left('provider', id, NOT_DECLARED)
    credentials.set(id, used.credentials)
    return [used.provider]
  })
  const disabled = new Set(stored.disabledTargets.map(({ providerId, model }) => `${providerId}\n${model}`))
  const models = stored.models.flatMap(entry => {
    const model = declared.resolveModel(entry)
    if (model === undefined) return left('model', entry.id, NOT_DECLARED)
    const targets = model.targets.filter(each => !disabled.has(`${each.provider}\n${each.model}`))
    // As if its provider were inactive: a model without any target is not offered.
    return targets.length === model.targets.length ? [model] : [{ ...model, targets }]
  })
  return catalogOf(
    { providers: providers.map(provider => withProxy(provider, credentials.get(provider.id))), models },
    new Map([...credentials].map(([id, all]) => [id, all.filter(isOfProvider)])),
  )
}

function isOfProvider({ id }: Credential): boolean {
  return id !== PROXY_CREDENTIAL
}

function withProxy(provider: Provider, credentials: readonly Credential[] = []): Provider {
  const secret = credentials.find(credential => !isOfProvider(credential))?.secret
  return provider.proxy === undefined || secret === undefined ? provider : { ...provider, proxyCredentials: secret }
}

function anywhere({ publicOnly: _, ...provider }: Provider): Provider {
  return provider
}

// By the names of the file's keys.
function atNextStart(running: Config, wanted: Config): readonly string[] {
  const settings = (config: Config) => ({
    brand: config.brand,
    defaults: config.defaults,
    trusted_proxies: config.trustedProxies,
    cors_origins: config.corsOrigins,
    explain: config.explain,
    show_upstream_cost: config.showUpstreamCost,
    allow_private_upstreams: config.allowPrivateUpstreams,
    drain_delay: config.bounds.drainDelayMs,
    drain_max: config.bounds.drainMaxMs,
    usage_retention_days: config.usageRetentionDays,
    telemetry: config.tracing,
    portal: config.portal,
    update_url: config.updateUrl ?? null,
  })
  const [before, after] = [settings(running), settings(wanted)].map(each => Object.entries(each).map(written))
  return (after ?? []).flatMap(([name, value], at) => (before?.[at]?.[1] === value ? [] : [name]))
}

function written([name, value]: readonly [string, unknown]): readonly [string, string] {
  return [name, JSON.stringify(value, (_, part) => (typeof part === 'bigint' ? part.toString() : part))]
}
