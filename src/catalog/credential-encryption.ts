// The keys that encrypt and decrypt provider credentials. While nodes change to a new key one after the other, credentials under
// both exist: a node decrypts with its own key or the previous one, and encrypts again what is still under the previous one. See
// docs/decisions/catalog-ownership.md.
import { BadConfig } from '../config/bad-config.ts'
import type { Config } from '../config/config.ts'
import { installationKey } from '../config/installation-key.ts'
import type { Credential } from '../domain/catalog.ts'
import { type Seal, sealWith } from '../lib/encryption.ts'
import { lru } from '../lib/lru.ts'
import type { CatalogStore, ResealedCredential, SealedCredential } from '../store/contract/catalog.ts'

export type Seals = {
  // For credentials entered from now on.
  readonly seal: Seal
  // The credentials that can be decrypted, by provider; the others are left out. Those under the previous key are encrypted again
  // in the store.
  open(credentials: readonly SealedCredential[]): Promise<ReadonlyMap<string, readonly Credential[]>>
}

const REMEMBERED_MAX = 10_000

// A credential that no key decrypts ends the start.
export async function openSeals(catalog: CatalogStore, config: Config): Promise<Seals> {
  const seal = sealWith(installationKey(config), 'credentials')
  const { encryptionKeyPrevious: previous } = config
  const before = previous === undefined ? undefined : sealWith(Buffer.from(previous, 'hex'), 'credentials')
  // A credential's secret never changes, whichever key encrypts it: one that another node has encrypted with a key we do not have
  // yet continues to be used.
  const known = lru<string, string>(REMEMBERED_MAX)

  async function open(credentials: readonly SealedCredential[]): Promise<ReadonlyMap<string, readonly Credential[]>> {
    const opened = new Map<string, readonly Credential[]>()
    const moved: ResealedCredential[] = []
    for (const credential of credentials) {
      const { providerId, id, sealed } = credential
      const context = [providerId, id]
      const ours = opening(seal, credential)
      const theirs = ours === undefined && before !== undefined ? opening(before, credential) : undefined
      if (theirs !== undefined) moved.push({ ...credential, sealed: seal.seal(theirs, context), before: sealed })
      const secret = ours ?? theirs ?? known.get(context.join(' '))
      if (secret === undefined) continue
      known.set(context.join(' '), secret)
      opened.set(providerId, [...(opened.get(providerId) ?? []), { id, secret }])
    }
    if (moved.length > 0) await catalog.reseal(moved)
    return opened
  }

  const stored = await catalog.sealed()
  const opened = await open(stored)
  if ([...opened.values()].flat().length < stored.length) {
    const key = config.encryptionKey === undefined ? 'the key file encryption.key' : 'TURNPIKE_ENCRYPTION_KEY'
    const way = 'give the key that sealed them, or that one as TURNPIKE_ENCRYPTION_KEY_PREVIOUS to change to a new one'
    throw new BadConfig(`${key} does not open the stored provider credentials: ${way}`)
  }
  return { seal, open }
}

function opening(seal: Seal, { providerId, id, sealed }: SealedCredential): string | undefined {
  try {
    return seal.open(sealed, [providerId, id])
  } catch {
    return undefined
  }
}
