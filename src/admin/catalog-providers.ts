// Admin operations on providers and their credentials. A secret is encrypted on input and never shown again.
import { type Credential, PROXY_CREDENTIAL, type Provider } from '../domain/catalog.ts'
import type { Encryption } from '../lib/encryption.ts'
import type { NewCredential, ProviderEntry } from '../store/contract/catalog.ts'
import type { Actor } from '../store/contract/operator.ts'
import { type CatalogNeeds, type EntryMethods, merged, splitStatus, staleness, thenRefresh } from './catalog-input.ts'
import { type Document, last4Of, type ProviderHealth, type ProviderObject, providerObject } from './catalog-wire.ts'
import { conflict, listOf, readIfMatch, unknown, wrong } from './input.ts'

export type ProviderMethods = EntryMethods<'provider', ProviderObject> & {
  addCredential(id: string, apiKey: string, ifMatch: string | undefined, actor: Actor): Promise<ProviderObject>
  removeCredential(id: string, credentialId: string, actor: Actor): Promise<ProviderObject>
}

export type ProviderNeeds = CatalogNeeds & {
  readonly encryption: Encryption
  readonly credentialsMax: number
  // Throws the refusal of an address that is not public, where only those are allowed.
  checkAddress(url: string, param: string): Promise<void>
  healthOf(providerId: string): ProviderHealth
  // Those declared by the file or environment.
  declaredCredentials(providerId: string): readonly Credential[]
}

export function providerMethods(needs: ProviderNeeds): ProviderMethods {
  const write = (entry: ProviderEntry) =>
    providerObject(entry, needs.declaredCredentials(entry.provider.id), needs.healthOf(entry.provider.id))

  return {
    ...entryMethods(needs, write),
    ...credentialMethods(needs, write),
  }
}

type Write = (entry: ProviderEntry) => ProviderObject

function entryMethods(needs: ProviderNeeds, write: Write): EntryMethods<'provider', ProviderObject> {
  const { catalog } = needs

  return {
    async create(input, actor) {
      const { active = true, document } = splitStatus(input)
      const { provider, credentials } = await read(needs, document)
      const secrets = credentials.map(credential => encryptedCredential(needs, provider.id, credential))
      const made = { provider, entered: writtenOf(document, provider), active, credentials: secrets }
      const entry = await thenRefresh(needs, catalog.createProvider(made, needs.providersMax, actor))
      if (entry === 'exists') throw conflict(`A provider ${provider.id} already exists.`, 'id')
      if (entry === 'too_many') throw conflict(`The maximum number of providers (${needs.providersMax}) is reached.`)
      return write(entry)
    },

    async get(id) {
      return write(found(await catalog.provider(id)))
    },

    async list(page) {
      return listOf(await catalog.providers(page), write)
    },

    async update(id, change, ifMatch, actor) {
      const before = found(await catalog.provider(id))
      if (before.provisioned) throw staleness('provider', id, 'provisioned')
      const basedOn = readIfMatch(ifMatch) ?? before.version
      const { active = before.active, document: given } = splitStatus(change)
      if (given.id !== undefined && given.id !== id) throw wrong('id', 'the current id; ids cannot be changed')
      for (const name of SECRETS) {
        if (name in given) throw wrong(name, 'no value here; add and remove credentials with their own endpoints')
      }
      const document = merged(before.entered, given)
      const { provider, credentials } = await read(needs, document, before.provider)
      const [ofProxy = null] = credentials.map(credential => encryptedCredential(needs, id, credential))
      const proxy = 'proxy' in given ? { proxyCredential: ofProxy } : {}
      const changed = { provider, entered: writtenOf(document, provider), active, basedOn, ...proxy }
      const entry = await thenRefresh(needs, catalog.updateProvider(id, changed, actor))
      if (entry === 'changed' || entry === 'provisioned') throw staleness('provider', id, entry)
      return write(found(entry))
    },

    async delete(id, ifMatch, actor) {
      const done = await thenRefresh(needs, catalog.deleteProvider(id, readIfMatch(ifMatch), actor))
      if (done === undefined) throw unknown('provider')
      if (done === 'changed' || done === 'provisioned') throw staleness('provider', id, done)
      if (done !== 'deleted') {
        const names = done.usedBy.slice(0, 5).join(', ') + (done.usedBy.length > 5 ? ', …' : '')
        throw conflict(
          `These models use the provider as a target: ${names}. Change or delete them first, or set the provider to inactive.`,
        )
      }
      return { object: 'provider', id, deleted: true }
    },
  }
}

function credentialMethods(
  needs: ProviderNeeds,
  write: Write,
): Pick<ProviderMethods, 'addCredential' | 'removeCredential'> {
  const { catalog } = needs

  return {
    async addCredential(id, apiKey, ifMatch, actor) {
      const asked = readIfMatch(ifMatch)
      const before = found(await catalog.provider(id))
      if (before.provisioned) throw staleness('provider', id, 'provisioned')
      // By the rules of its kind.
      const [credential] = needs.reader.provider({ ...merged(before.entered, {}), api_key: apiKey }).credentials
      if (credential === undefined) throw wrong('api_key', 'no api_key; providers of this kind do not use one')
      const when = { basedOn: asked ?? before.version, max: needs.credentialsMax }
      const added = catalog.addCredential(encrypted(needs, id, credential.secret), when, actor)
      const entry = await thenRefresh(needs, added)
      if (entry === 'too_many') throw conflict(`A provider can have at most ${needs.credentialsMax} credentials.`)
      if (entry === 'changed' || entry === 'provisioned') throw staleness('provider', id, entry)
      return write(found(entry))
    },

    async removeCredential(id, credentialId, actor) {
      const before = found(await catalog.provider(id))
      if (before.provisioned) throw staleness('provider', id, 'provisioned')
      if (credentialId === PROXY_CREDENTIAL) throw unknown('credential')
      const entry = await thenRefresh(needs, catalog.removeCredential(id, credentialId, actor))
      if (entry === undefined) throw unknown('credential')
      return write(entry)
    },
  }
}

const SECRETS = ['api_key', 'api_keys'] as const

// An unchanged address is not checked again: a name that no longer resolves must not block other changes of its provider.
async function read({ reader, checkAddress }: ProviderNeeds, document: Document, before?: Provider) {
  const { credentials, ...provider } = reader.provider(document)
  const known = new Set(before === undefined ? [] : addressesOf(before).map(([, url]) => url))
  for (const [param, url] of addressesOf(provider)) if (!known.has(url)) await checkAddress(url, param)
  return { provider: { ...provider, publicOnly: true } satisfies Provider, credentials }
}

// A setting may be an address too.
function addressesOf({ baseUrl, proxy = '', settings }: Provider): readonly (readonly [param: string, url: string])[] {
  const all = [['base_url', baseUrl] as const, ['proxy', proxy] as const, ...Object.entries(settings)]
  return all.filter(([, value]) => /^https?:/i.test(value))
}

// Nothing of a proxy's user and password is shown.
function encryptedCredential(needs: ProviderNeeds, providerId: string, { id, secret }: Credential): NewCredential {
  if (id !== PROXY_CREDENTIAL) return encrypted(needs, providerId, secret)
  return { providerId, id, ciphertext: needs.encryption.encrypt(secret, [providerId, id]), last4: '' }
}

function encrypted({ newId, encryption }: ProviderNeeds, providerId: string, secret: string): NewCredential {
  const id = `cred_${newId().replaceAll('-', '')}`
  return { providerId, id, ciphertext: encryption.encrypt(secret, [providerId, id]), last4: last4Of(secret) }
}

// What the operator sent, as it is stored: without any secret.
function writtenOf({ api_key: _one, api_keys: _several, ...document }: Document, { proxy }: Provider): string {
  return JSON.stringify(proxy === undefined ? document : { ...document, proxy })
}

function found(entry: ProviderEntry | undefined): ProviderEntry {
  if (entry === undefined) throw unknown('provider')
  return entry
}
