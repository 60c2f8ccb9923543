// The size limits of headers: a hundred headers and 16 KiB. A larger request is refused as a whole and never read in
// part, because the dropped part could be the one that matters.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { standardConfig, startGateway } from '../../../support/gateway.ts'
import { rawRequest } from '../../../support/raw-http.ts'
import { assertCommonHeaders, assertRefusal, seen } from '../../../support/refusal.ts'
import { startUpstream } from '../../../support/upstream.ts'

const KIB = 1024

test('a request has at most 100 headers and 16 KiB of headers', async t => {
  await using upstream = await startUpstream()
  await using gateway = await startGateway({
    config: standardConfig(upstream.url),
    env: { TURNPIKE_TRUSTED_PROXIES: '127.0.0.1' },
  })
  const { secret } = await gateway.createKey({ ip_allowlist: ['127.0.0.1', '192.0.2.0/24'] })
  const auth = `Authorization: Bearer ${secret}`
  const send = (headers: readonly string[], target = '/v1/models') =>
    rawRequest(gateway.port, `GET ${target} HTTP/1.1\r\n${headers.join('\r\n')}\r\n\r\n`, { expect: 1 })

  await t.test('100 headers are served, and all of them are read', async () => {
    const last = 'X-Forwarded-For: 192.0.2.1'
    const untrusted = 'X-Forwarded-For: 203.0.113.1'

    const { answer } = await send(['Host: x', auth, ...fillers(97), last])
    const { answer: outside } = await send(['Host: x', auth, ...fillers(97), untrusted])

    assert.equal(answer.status, 200)
    assertCommonHeaders(seen(answer).headers)
    assertRefusal(seen(outside), 'ip_not_allowed')
  })

  await t.test('101 headers are refused, wherever the key is', async () => {
    const cases = [
      ['Host: x', auth, ...fillers(99)],
      ['Host: x', ...fillers(99), auth],
      [...fillers(99), 'Host: x', auth],
    ]

    for (const headers of cases) await assertTooLarge(headers)
  })

  await t.test('a forwarded address after 1,000 other headers is not dropped: the request is refused', async () => {
    await assertTooLarge(['Host: x', auth, ...fillers(1000), 'X-Forwarded-For: 203.0.113.1'])
  })

  await t.test('a second key after 1,000 other headers is not dropped either', async () => {
    await assertTooLarge(['Host: x', auth, ...fillers(1000), 'Authorization: Bearer other'])
  })

  await t.test('15 KiB in one header, in many or in the target are served; 17 KiB are refused', async () => {
    const many = (bytes: number) => Array.from({ length: 90 }, (_, i) => `X-${i}: ${'a'.repeat(bytes / 90 - 8)}`)
    const served = [
      await send(['Host: x', auth, `X-Long: ${'a'.repeat(15 * KIB)}`]),
      await send(['Host: x', auth, ...many(15 * KIB)]),
      await send(['Host: x', auth], `/v1/models?${'a'.repeat(15 * KIB)}`),
    ]

    assert.deepEqual(
      served.map(({ answer }) => answer.status),
      [200, 200, 200],
    )
    await assertTooLarge(['Host: x', auth, `X-Long: ${'a'.repeat(17 * KIB)}`])
    await assertTooLarge(['Host: x', auth, ...many(17 * KIB)])
    await assertTooLarge(['Host: x', auth], `/v1/models?${'a'.repeat(17 * KIB)}`)
  })

  await t.test('endless headers are cut off, not buffered', async () => {
    const endless = `GET /v1/models HTTP/1.1\r\nHost: x\r\nX-Endless: ${'a'.repeat(8 * 1024 * KIB)}`

    const { answer, ended } = await rawRequest(gateway.port, endless)

    assertRefusal(seen(answer), 'headers_too_large')
    assert.notEqual(ended, 'timeout')
  })

  await t.test('two Authorization headers are a 400, whatever their values and spelling', async () => {
    const cases = [
      [auth, auth],
      [auth, 'authorization: Bearer x'],
      ['AUTHORIZATION: Basic eDp5', auth],
      [auth, 'Authorization:'],
    ]

    for (const headers of cases) {
      const { answer } = await send(['Host: x', ...headers])

      assertRefusal(seen(answer), 'duplicate_authorization')
      assert.equal(answer.header('ratelimit-limit'), '600')
    }
  })

  await t.test('none of this counts against the address', async () => {
    const { answer } = await send(['Host: x', ...fillers(100)])

    assert.equal(answer.header('ratelimit-remaining'), '600')
  })

  assert.ok((await gateway.audit()).ok)

  async function assertTooLarge(headers: readonly string[], target?: string): Promise<void> {
    const { answer, answers } = await send(headers, target)

    assertRefusal(seen(answer), 'headers_too_large')
    assert.equal(answer.header('connection'), 'close')
    assert.equal(answers.length, 1)
  }
})

function fillers(count: number): string[] {
  return Array.from({ length: count }, (_, i) => `X-Filler-${i}: a`)
}
