// How long a token of a Google service account is used: never beyond an hour, whatever the token service or a clock says.
import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { test } from 'node:test'
import { vertexTokens } from '../../src/upstream/vertex/token.ts'
import { manualClock } from '../support/manual-clock.ts'

const HOUR_MS = 3_600_000
const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
const account = {
  email: 'robot@project.example',
  key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
  keyId: undefined,
}
const credential = { id: 'file-1', secret: 'unused' }

function open(expiresIn: unknown) {
  const clock = manualClock()
  let issued = 0
  const send = async () => {
    issued++
    return Response.json({ access_token: `token-${issued}`, expires_in: expiresIn })
  }
  const tokens = vertexTokens({ url: 'https://token.example/', clock, send })
  return { clock, get: () => tokens.get(credential, account) }
}

test('a token is used until five minutes before its end', async () => {
  const { clock, get } = open(3600)
  assert.equal(await get(), 'token-1')
  clock.advance(HOUR_MS - 300_001)
  assert.equal(await get(), 'token-1')
  clock.advance(1)
  assert.equal(await get(), 'token-2')
})

test('a token service that promises years, or says nothing, is asked again after an hour', async () => {
  for (const expiresIn of [1e308, '3600', undefined]) {
    const { clock, get } = open(expiresIn)
    await get()
    clock.advance(HOUR_MS)
    assert.equal(await get(), 'token-2', String(expiresIn))
  }
})

test('after the clock was set back, a token is requested again instead of being used for longer', async () => {
  const { clock, get } = open(3600)
  await get()
  clock.set(clock.now() - 24 * HOUR_MS)
  assert.equal(await get(), 'token-2')
  assert.equal(await get(), 'token-2')
})
