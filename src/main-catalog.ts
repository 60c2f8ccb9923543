// Keeps the catalog in force: what file or environment declares and what operators entered, with the credentials of both,
// taken anew from the store after every change.
import { type Config, loadConfig } from './config.ts'
import { BadConfig } from './config-yaml.ts'
import type { Credential, Provider } from './domain/catalog.ts'
import type { Exchange } from './domain/dollars.ts'
import { installationKey } from './first-start.ts'
import { type Seal, sealWith } from './lib/seal.ts'
import { type Declared, declaredBy } from './main-declared.ts'
import type { Ground } from './main-ground.ts'
import { type Catalog, catalogOf, type LiveCatalog, liveCatalog } from './route/catalog.ts'
import type { Store } from './store/contract.ts'
import type { NameClash, Provisioned, SealedCredential, StoredCatalog } from './store/contract-catalog.ts'
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
    clashes: 'leave_out',
    dryRun: false,
    actor: START,
  })
  sayStart(first, ground)
  const told = new Set<string>()
  const live = liveCatalog(await current())

  async function current(): Promise<Catalog> {
    return inForce(await store.catalog.load(), declared, { seal, config, leaveOut })
  }

  // Once for each: this comes again with every change of the catalog.
  function leaveOut(what: 'provider' | 'model', id: string): void {
    if (told.has(`${what} ${id}`)) return
    told.add(`${what} ${id}`)
    const words = `a ${what} is left out: the configuration file does not declare it as it was applied`
    ground.log.warn({ [what]: id }, words)
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

// A file that was cut short, or is not there yet, must not take everything away.
async function refuseSilence({ catalog }: Store, { configFile }: Config): Promise<void> {
  if ((await catalog.load()).provisioned.length === 0) return
  const way = 'if that is meant, say so with "providers: []"'
  throw new BadConfig(`${configFile}: names neither providers nor models and would end all that was declared; ${way}`)
}

function wordsOfClashes(clashes: readonly NameClash[], { configFile }: Config): string {
  const named = clashes.slice(0, 5).map(({ model, name, owner }) => `${name} of ${model} (operator's model ${owner})`)
  const more = clashes.length > named.length ? ', …' : ''
  return `${configFile}: names that operators' models have already: ${named.join(', ')}${more}; change one of the two`
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

function sayStart({ superseded, clashes }: Provisioned, { config, log }: Ground): void {
  // What the environment offers may be had or not.
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
  readonly seal: Seal
  readonly config: Config
  leaveOut(what: 'provider' | 'model', id: string): void
}

// Nobody is called without the secret that was declared for them, and nobody by the name of a placeholder.
function inForce(stored: StoredCatalog, declared: Declared, { seal, config, leaveOut }: InForceNeeds): Catalog {
  const credentials = new Map<string, readonly Credential[]>()
  for (const each of stored.credentials) {
    const secret = seal.open(each.sealed, [each.providerId, each.id])
    credentials.set(each.providerId, [...(credentials.get(each.providerId) ?? []), { id: each.id, secret }])
  }
  const left = (what: 'provider' | 'model', id: string): [] => {
    leaveOut(what, id)
    return []
  }
  const isDeclared = new Set(stored.provisioned)
  const providers = stored.providers.flatMap(provider => {
    if (!isDeclared.has(provider.id)) return [config.allowPrivateUpstreams ? anywhere(provider) : provider]
    const used = declared.providerBehind(provider)
    if (used === undefined) return left('provider', provider.id)
    credentials.set(provider.id, used.credentials)
    return [used.provider]
  })
  const models = stored.models.flatMap(model => declared.modelBehind(model) ?? left('model', model.id))
  return catalogOf({ providers, models }, credentials)
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
