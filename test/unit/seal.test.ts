// What is sealed can be opened by its key in its own place, and by nobody else.
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { sealWith } from '../../src/lib/encryption.ts'

const MASTER = randomBytes(32)
const SECRET = 'sk-canary-7f3a'

test('what was sealed is opened again, and looks different each time', () => {
  const seal = sealWith(MASTER, 'credentials')
  const first = seal.seal(SECRET, ['acme', 'cred_1'])
  const second = seal.seal(SECRET, ['acme', 'cred_1'])

  assert.equal(seal.open(first, ['acme', 'cred_1']), SECRET)
  assert.notEqual(first, second)
  assert.ok(!Buffer.from(first.split('.')[2] ?? '', 'base64url').includes(SECRET))
})

test('it opens neither for another provider or credential nor for contexts that only read alike', () => {
  const seal = sealWith(MASTER, 'credentials')
  const sealed = seal.seal(SECRET, ['acme', 'cred_1'])

  for (const context of [['acme', 'cred_2'], ['other', 'cred_1'], ['acmecred_1'], ['acme","cred_1'], []]) {
    assert.throws(() => seal.open(sealed, context), JSON.stringify(context))
  }
})

test('another key, or the same one for another purpose, opens nothing and has another name', () => {
  const seal = sealWith(MASTER, 'credentials')
  const sealed = seal.seal(SECRET, ['a'])

  for (const other of [sealWith(randomBytes(32), 'credentials'), sealWith(MASTER, 'sessions')]) {
    assert.notEqual(other.keyId, seal.keyId)
    assert.throws(() => other.open(sealed, ['a']), /another key/)
    assert.throws(() => other.open(sealed.replace(seal.keyId, other.keyId), ['a']))
  }
  assert.ok(!MASTER.toString('hex').includes(seal.keyId))
})

test('a text that was changed at any place, or cut short, does not open', () => {
  const seal = sealWith(MASTER, 'credentials')
  const sealed = seal.seal(SECRET, ['a'])
  const [form, key, text = ''] = sealed.split('.')
  const bytes = Buffer.from(text, 'base64url')

  for (let at = 0; at < bytes.length; at++) {
    const bent = Buffer.from(bytes)
    bent[at]! ^= 1
    assert.throws(() => seal.open(`${form}.${key}.${bent.toString('base64url')}`, ['a']), `byte ${at}`)
  }
  for (const cut of ['', 'v1', `${form}.${key}`, `${form}.${key}.`, sealed.slice(0, -8), `v2.${key}.${text}`]) {
    assert.throws(() => seal.open(cut, ['a']), cut)
  }
})
