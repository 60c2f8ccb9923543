// A ciphertext is decrypted by its key in its own context, and by no other.
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { encryptionWith } from '../../src/lib/encryption.ts'

const MASTER = randomBytes(32)
const SECRET = 'sk-canary-7f3a'

test('a secret is decrypted again, and each ciphertext is different', () => {
  const encryption = encryptionWith(MASTER, 'credentials')
  const first = encryption.encrypt(SECRET, ['acme', 'cred_1'])
  const second = encryption.encrypt(SECRET, ['acme', 'cred_1'])

  assert.equal(encryption.decrypt(first, ['acme', 'cred_1']), SECRET)
  assert.notEqual(first, second)
  assert.ok(!Buffer.from(first.split('.')[2] ?? '', 'base64url').includes(SECRET))
})

test('it cannot be decrypted for another provider or credential, nor for contexts that only look alike', () => {
  const encryption = encryptionWith(MASTER, 'credentials')
  const ciphertext = encryption.encrypt(SECRET, ['acme', 'cred_1'])

  for (const context of [['acme', 'cred_2'], ['other', 'cred_1'], ['acmecred_1'], ['acme","cred_1'], []]) {
    assert.throws(() => encryption.decrypt(ciphertext, context), JSON.stringify(context))
  }
})

test('another key, or the same one for another purpose, decrypts nothing and has another id', () => {
  const encryption = encryptionWith(MASTER, 'credentials')
  const ciphertext = encryption.encrypt(SECRET, ['a'])

  for (const other of [encryptionWith(randomBytes(32), 'credentials'), encryptionWith(MASTER, 'sessions')]) {
    assert.notEqual(other.keyId, encryption.keyId)
    assert.throws(() => other.decrypt(ciphertext, ['a']), /a different key/)
    assert.throws(() => other.decrypt(ciphertext.replace(encryption.keyId, other.keyId), ['a']))
  }
  assert.ok(!MASTER.toString('hex').includes(encryption.keyId))
})

test('a modified or truncated text cannot be decrypted', () => {
  const encryption = encryptionWith(MASTER, 'credentials')
  const ciphertext = encryption.encrypt(SECRET, ['a'])
  const [form, key, text = ''] = ciphertext.split('.')
  const bytes = Buffer.from(text, 'base64url')

  for (let at = 0; at < bytes.length; at++) {
    const bent = Buffer.from(bytes)
    bent[at]! ^= 1
    assert.throws(() => encryption.decrypt(`${form}.${key}.${bent.toString('base64url')}`, ['a']), `byte ${at}`)
  }
  for (const cut of ['', 'v1', `${form}.${key}`, `${form}.${key}.`, ciphertext.slice(0, -8), `v2.${key}.${text}`]) {
    assert.throws(() => encryption.decrypt(cut, ['a']), cut)
  }
})
