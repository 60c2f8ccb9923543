// Keeps the catalog in force: what file or environment declares and what operators entered, with the credentials of both,
// taken anew from the store after every change.
import { type Config, loadConfig } from './config.ts'
import { BadConfig } from './config-yaml.ts'
import type { Credential, Provider } from './domain/catalog.ts'
import type { Exchange } from './domain/dollars.ts'
import { installationKey } from './first-start.ts'
import { type Seal, sealWith } from './lib/seal.ts'
import { type Declared, declaredBy, hasPlaceholder } from './main-declared.ts'
import type { Ground } from './main-ground.ts'
import { type Catalog, catalogOf, type LiveCatalog, liveCatalog } from './route/catalog.ts'
import type { Store } from './store/contract.ts'
import type { Provisioned, SealedCredential, StoredCatalog } from './store/contract-catalog.ts'
import type { Actor } from './store/contract-operator.ts'
import { missingPackages } from './upstream/ai-sdk-models.ts'

export type CatalogKeeper = {
  readonly live: LiveCatalog
  readonly seal: Seal
  exchange(): Exchange
  // Of what file or environment declares.
  credentialsOf(providerId: string): readonly Credential[]
  // Puts in force what the store holds now.
  refresh(): Promise<void>
  // Reads the configuration file again. Throws BadConfig, and then nothing has changed.
  apply(dryRun: boolean, actor: Actor): Promise<Applied>
}
// With the settings that differ but are read at start only.
export type Applied = Provisioned & { readonly atNextStart: readonly string[] }

const START: Actor = { name: 'start', address: 'local' }

export async function openCatalog(store: Store, ground: Ground): Promise<CatalogKeeper> {
  const { config, newId } = ground
  const seal = await openSeal(store, config)
  let declared = await withoutOwned(declaredBy(config, newId), store)
  const first = await store.catalog.provision(declared.catalog, {
    digest: declared.digest,
    evenSuperseded: false,
    dryRun: false,
    actor: START,
  })
  sayStart(first, ground)
  const live = liveCatalog(await current())

  async function current(): Promise<Catalog> {
    return inForce(await store.catalog.load(), declared, { seal, config })
  }

  // One after the other: an older answer of the store must not replace a newer one.
  let turn: Promise<unknown> = Promise.resolve()
  function next<T>(work: () => Promise<T>): Promise<T> {
    const mine = turn.then(work)
    turn = mine.catch(() => undefined)
    return mine
  }

  return {
    live,
    seal,
    exchange: () => declared.exchange,
    credentialsOf: id => declared.credentialsOf(id),
    refresh: () => next(async () => live.replace(await current())),
    apply: (dryRun, actor) =>
      next(async () => {
        const again = loadConfig()
        if (again.catalog === undefined) throw new BadConfig('there is no configuration file to apply')
        requirePackages(again.catalog.providers)
        const wanted = declaredBy(again, newId)
        const order = { digest: wanted.digest, evenSuperseded: true, dryRun, actor }
        const done = await store.catalog.provision(wanted.catalog, order)
        if (!dryRun) {
          declared = wanted
          live.replace(await current())
        }
        return { ...done, atNextStart: atNextStart(config, again) }
      }),
  }
}

export function requirePackages(providers: readonly Pick<Provider, 'kind'>[]): void {
  const missing = missingPackages(providers)
  if (missing !== undefined) throw new BadConfig(missing)
}

// A file says what is to be; the environment only offers. What an operator entered under the same name stays.
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

function sayStart({ superseded }: Provisioned, { config, log }: Ground): void {
  if (superseded) {
    const words = 'the configuration file was superseded by a newer one and is not applied; `turnpike apply` applies it'
    log.warn({ file: config.configFile }, words)
  }
  const missing = missingPackages(config.detected.providers)
  if (missing !== undefined) log.warn({ why: missing }, 'a provider key was found and cannot be used')
  for (const { variable, why } of config.detected.unusable) log.warn({ variable, why }, 'a provider key cannot be used')
}

function inForce(
  stored: StoredCatalog,
  declared: Declared,
  { seal, config }: { readonly seal: Seal; readonly config: Config },
): Catalog {
  const credentials = new Map<string, readonly Credential[]>()
  for (const each of stored.credentials) {
    const secret = seal.open(each.sealed, [each.providerId, each.id])
    credentials.set(each.providerId, [...(credentials.get(each.providerId) ?? []), { id: each.id, secret }])
  }
  const isDeclared = new Set(stored.provisioned)
  const providers = stored.providers.flatMap(provider => {
    if (!isDeclared.has(provider.id)) return [config.allowPrivateUpstreams ? anywhere(provider) : provider]
    const used = declared.behind(provider)
    if (used === undefined) return hasPlaceholder(provider) ? [] : [provider]
    credentials.set(provider.id, used.credentials)
    return [used.provider]
  })
  return catalogOf({ providers, models: stored.models }, credentials)
}

function anywhere({ publicOnly: _, ...provider }: Provider): Provider {
  return provider
}

// By which key credentials are sealed. What the previous one sealed is sealed anew; what neither opens ends the start.
async function openSeal({ catalog }: Store, config: Config): Promise<Seal> {
  const seal = sealWith(installationKey(config), 'credentials')
  const { encryptionKeyPrevious } = config
  const previous = encryptionKeyPrevious && sealWith(Buffer.from(encryptionKeyPrevious, 'hex'), 'credentials')
  const moved: SealedCredential[] = []
  for (const credential of await catalog.sealed()) {
    const context = [credential.providerId, credential.id]
    if (opens(seal, credential)) continue
    if (!previous || !opens(previous, credential)) {
      const key = config.encryptionKey === undefined ? 'the key file encryption.key' : 'TURNPIKE_ENCRYPTION_KEY'
      const way =
        'give the key that sealed them, or that one as TURNPIKE_ENCRYPTION_KEY_PREVIOUS to change to a new one'
      throw new BadConfig(`${key} does not open the stored provider credentials: ${way}`)
    }
    moved.push({ ...credential, sealed: seal.seal(previous.open(credential.sealed, context), context) })
  }
  if (moved.length > 0) await catalog.reseal(moved)
  return seal
}

function opens(seal: Seal, { providerId, id, sealed }: SealedCredential): boolean {
  try {
    seal.open(sealed, [providerId, id])
    return true
  } catch {
    return false
  }
}

// By the names of the file's keys.
function atNextStart(running: Config, wanted: Config): readonly string[] {
  const settings = (config: Config) => ({
    brand: config.brand,
    defaults: config.defaults,
    trusted_proxies: config.trustedProxies,
    cors_origins: config.corsOrigins,
    explain: config.explain,
    allow_private_upstreams: config.allowPrivateUpstreams,
    drain_delay: config.bounds.drainDelayMs,
    drain_max: config.bounds.drainMaxMs,
  })
  const [before, after] = [settings(running), settings(wanted)].map(each => Object.entries(each).map(written))
  return (after ?? []).flatMap(([name, value], at) => (before?.[at]?.[1] === value ? [] : [name]))
}

function written([name, value]: readonly [string, unknown]): readonly [string, string] {
  return [name, JSON.stringify(value, (_, part) => (typeof part === 'bigint' ? part.toString() : part))]
}
