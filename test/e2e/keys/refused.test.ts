// Almost valid secrets: only the complete secret authenticates, and everything else is refused with the same message
// and without a database error.
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import { standardConfig, startGateway } from '../../support/gateway.ts'
import { rawRequest } from '../../support/raw-http.ts'
import { assertRefusal, seen } from '../../support/refusal.ts'
import { startUpstream } from '../../support/upstream.ts'

test('only the complete secret of an active key authenticates', async t => {
  await using upstream = await startUpstream()
  await using gateway = await startGateway({ config: standardConfig(upstream.url) })
  const { secret, id } = await gateway.createKey()
  // The gateway has cached it by now, in every way it caches.
  for (let i = 0; i < 3; i++) assert.equal((await gateway.get('/v1/models', secret)).status, 200)
  const hash = createHash('sha256').update(secret)
  const [hex, base64] = [hash.copy().digest('hex'), hash.copy().digest('base64url')]
  const random = secret.slice('svc_live_'.length)
  const flipped = (at: number) => secret.slice(0, at) + (secret[at] === 'A' ? 'B' : 'A') + secret.slice(at + 1)

  const words = new Set<unknown>()
  const cases: Readonly<Record<string, readonly string[]>> = {
    'its hash, in any form': [hex, hex.toUpperCase(), base64, `svc_live_${hex}`, `svc_live_${hex.slice(0, 43)}`],
    'a part of it': [secret.slice(0, 20), secret.slice(0, -1), random, `svc_live_${random.slice(-4)}`, 'svc_live_'],
    'more than it': [`${secret}0`, `${secret}${secret}`, `x${secret}`, secret + 'a'.repeat(5000)],
    'it with another character': [flipped(9), flipped(30), flipped(secret.length - 1)],
    'it in another case': [secret.toLowerCase(), secret.toUpperCase(), secret.replace('live', 'test')],
    'the same prefix and last four': [`svc_live_${'0'.repeat(39)}${secret.slice(-4)}`],
    'its identifiers': [id, `svc_live_…${secret.slice(-4)}`.replace('…', '...'), 'test'],
    'SQL injection': ["' OR '1'='1", `${secret}' --`, `${secret}%`, 'svc_live_%', '$1', '{"$ne":null}'],
    'code injection': ['__proto__', 'constructor', 'null', 'undefined', 'true', '0'],
  }
  for (const [what, bearers] of Object.entries(cases)) {
    await t.test(what, async () => {
      for (const caller of bearers) await assertUnknownKey({ authorization: `Bearer ${caller}` })
    })
  }

  await t.test('the secret under another scheme or in another header is refused', async () => {
    for (const scheme of ['Basic', 'Token', 'Digest', 'Bearer,', 'Bearer:', 'Bear']) {
      await assertUnknownKey({ authorization: `${scheme} ${secret}` })
    }
    await assertUnknownKey({ authorization: secret })
    await assertUnknownKey({ authorization: `Bearer ${secret}, Bearer ${secret}` })
    await assertUnknownKey({ 'api-key': secret, 'x-goog-api-key': secret, 'proxy-authorization': `Bearer ${secret}` })
    assertRefusal(await gateway.get(`/v1/models?key=${secret}&access_token=${secret}`), 'invalid_api_key')
  })

  await t.test('a secret with non-ASCII bytes is refused', async () => {
    const request = `GET /v1/models HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer svc_live_${'\xe9'.repeat(43)}\r\n\r\n`

    const { answer } = await rawRequest(gateway.port, Buffer.from(request, 'latin1'), { expect: 1 })

    assertRefusal(seen(answer), 'invalid_api_key')
  })

  await t.test('the scheme is case-insensitive, and spaces around the secret are ignored', async () => {
    for (const header of [`bearer ${secret}`, `BEARER ${secret}`, `Bearer   ${secret}`, `Bearer ${secret}  `]) {
      assert.equal((await gateway.get('/v1/models', undefined, { authorization: header })).status, 200)
    }
  })

  assert.equal(words.size, 1, 'all refusals have the same message')
  assert.ok(!gateway.lines.some(line => line.includes(random)))
  assert.ok((await gateway.audit()).ok)

  async function assertUnknownKey(headers: Readonly<Record<string, string>>): Promise<void> {
    const answer = await gateway.get('/v1/models', undefined, headers)

    words.add(assertRefusal(answer, 'invalid_api_key').message)
  }
})
