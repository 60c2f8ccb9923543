// The keys that encrypt and decrypt provider credentials. While nodes change to a new key one after the other, credentials under
// both exist: a node decrypts with its own key or the previous one, and encrypts again what is still under the previous one. See
// docs/decisions/catalog-ownership.md.
import { BadConfig } from '../config/bad-config.ts'
import type { Config } from '../config/config.ts'
import { installationKey, KEY_FILE } from '../config/installation-key.ts'
import type { Credential } from '../domain/catalog.ts'
import { type Encryption, encryptionWith } from '../lib/encryption.ts'
import { lru } from '../lib/lru.ts'
import type { CatalogStore, EncryptedCredential, ReencryptedCredential } from '../store/contract/catalog.ts'

export type CredentialEncryption = {
  // For credentials entered from now on.
  readonly encryption: Encryption
  // The credentials that can be decrypted, by provider; the others are left out. Those under the previous key are encrypted again
  // in the store.
  decrypt(credentials: readonly EncryptedCredential[]): Promise<ReadonlyMap<string, readonly Credential[]>>
}

const REMEMBERED_MAX = 10_000

// A credential that no key decrypts ends the start.
export async function openCredentialEncryption(catalog: CatalogStore, config: Config): Promise<CredentialEncryption> {
  const encryption = encryptionWith(installationKey(config), 'credentials')
  const { encryptionKeyPrevious: previous } = config
  const before = previous === undefined ? undefined : encryptionWith(Buffer.from(previous, 'hex'), 'credentials')
  // A credential's secret never changes, whichever key encrypts it: one that another node has encrypted with a key we do not have
  // yet continues to be used.
  const known = lru<string, string>(REMEMBERED_MAX)

  async function decrypt(
    credentials: readonly EncryptedCredential[],
  ): Promise<ReadonlyMap<string, readonly Credential[]>> {
    const opened = new Map<string, readonly Credential[]>()
    const moved: ReencryptedCredential[] = []
    for (const credential of credentials) {
      const { providerId, id, ciphertext } = credential
      const context = [providerId, id]
      const ours = decrypted(encryption, credential)
      const theirs = ours === undefined && before !== undefined ? decrypted(before, credential) : undefined
      if (theirs !== undefined)
        moved.push({ ...credential, ciphertext: encryption.encrypt(theirs, context), before: ciphertext })
      const secret = ours ?? theirs ?? known.get(context.join(' '))
      if (secret === undefined) continue
      known.set(context.join(' '), secret)
      opened.set(providerId, [...(opened.get(providerId) ?? []), { id, secret }])
    }
    if (moved.length > 0) await catalog.replaceCredentials(moved)
    return opened
  }

  const stored = await catalog.credentials()
  const opened = await decrypt(stored)
  if ([...opened.values()].flat().length < stored.length) {
    const key = config.encryptionKey === undefined ? `the key file ${KEY_FILE}` : 'TURNPIKE_ENCRYPTION_KEY'
    const way =
      'use the key that encrypted them, or set TURNPIKE_ENCRYPTION_KEY_PREVIOUS to that key to change to a new one'
    throw new BadConfig(`${key} cannot decrypt the stored provider credentials: ${way}`)
  }
  return { encryption, decrypt }
}

function decrypted(encryption: Encryption, { providerId, id, ciphertext }: EncryptedCredential): string | undefined {
  try {
    return encryption.decrypt(ciphertext, [providerId, id])
  } catch {
    return undefined
  }
}
