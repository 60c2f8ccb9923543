// Encrypts stored secrets with AES-256-GCM under a key derived for this purpose alone. A ciphertext is bound to a context, so it
// cannot be moved to another row, and names its key.
import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto'

export type Encryption = {
  // Identifies the key without revealing it.
  readonly keyId: string
  encrypt(secret: string, context: readonly string[]): string
  // Throws if it was encrypted with another key, for another context, or was modified.
  decrypt(ciphertext: string, context: readonly string[]): string
}

const CIPHER = 'aes-256-gcm'
const FORM = 'v1'
const IV_BYTES = 12
const TAG_BYTES = 16

export function encryptionWith(master: Buffer, purpose: string): Encryption {
  // These texts are part of the keys and never change.
  const key = derived(master, `turnpike seal ${purpose}`, 32)
  const keyId = derived(master, `turnpike key id ${purpose}`, 6).toString('hex')

  return {
    keyId,
    encrypt(secret, context) {
      const iv = randomBytes(IV_BYTES)
      const cipher = createCipheriv(CIPHER, key, iv, { authTagLength: TAG_BYTES })
      cipher.setAAD(bound(context))
      const bytes = Buffer.concat([iv, cipher.update(secret, 'utf8'), cipher.final(), cipher.getAuthTag()])
      return `${FORM}.${keyId}.${bytes.toString('base64url')}`
    },
    decrypt(ciphertext, context) {
      const [form, by, text = ''] = ciphertext.split('.')
      if (form !== FORM || by !== keyId) throw new Error('encrypted with a different key')
      const bytes = Buffer.from(text, 'base64url')
      if (bytes.length < IV_BYTES + TAG_BYTES) throw new Error('truncated')
      const decipher = createDecipheriv(CIPHER, key, bytes.subarray(0, IV_BYTES), { authTagLength: TAG_BYTES })
      decipher.setAAD(bound(context))
      decipher.setAuthTag(bytes.subarray(-TAG_BYTES))
      return Buffer.concat([decipher.update(bytes.subarray(IV_BYTES, -TAG_BYTES)), decipher.final()]).toString('utf8')
    },
  }
}

function derived(master: Buffer, info: string, length: number): Buffer {
  return Buffer.from(hkdfSync('sha256', master, '', info, length))
}

// JSON, so that no two contexts have the same encoding.
function bound(context: readonly string[]): Buffer {
  return Buffer.from(JSON.stringify(context))
}
