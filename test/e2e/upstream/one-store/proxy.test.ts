// Providers behind an HTTP proxy with a password: set by the environment, by the file and by the API. A proxy that
// refuses costs nothing and another target is tried; its password is in no answer, log line or file.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { type AddressInfo, connect } from 'node:net'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { createServer as createTlsServer } from 'node:tls'
import { CERTIFICATE, PRIVATE_KEY } from '../../../fixtures/localhost-tls.ts'
import { PROXY_PASSWORD, PROXY_USER, startConnectProxy } from '../../../support/connect-proxy.ts'
import { openFixture } from '../../../support/fixture.ts'
import { temporaryFolder } from '../../../support/folder.ts'
import { assertRefusal } from '../../../support/refusal.ts'
import { standardConfig, standardModel, standardProvider } from '../../../support/standard-config.ts'
import { settledRow } from '../../../support/usage.ts'

const proxy = await startConnectProxy()
const folder = await temporaryFolder()
const certificates = join(folder.path, 'ca.pem')
writeFileSync(certificates, CERTIFICATE)

// TLS in front of the upstream.
let upstreamPort = 0
const secure = createTlsServer({ cert: CERTIFICATE, key: PRIVATE_KEY }, socket => {
  const target = connect(upstreamPort, '127.0.0.1')
  target.on('error', () => socket.destroy())
  socket.on('error', () => target.destroy())
  target.pipe(socket).pipe(target)
})
secure.listen(0, '127.0.0.1')
await once(secure, 'listening')
const securePort = (secure.address() as AddressInfo).port
after(async () => {
  secure.close()
  await proxy[Symbol.asyncDispose]()
  await folder[Symbol.asyncDispose]()
})

const withPassword = `http://${PROXY_USER}:\${PROXY_PASSWORD}@127.0.0.1:${proxy.port}`
const { gateway, upstream } = await openFixture(
  url => {
    upstreamPort = Number(new URL(url).port)
    const named = url.replace('127.0.0.1', 'upstream.test')
    const encrypted = url.replace(/^http:\/\/127\.0\.0\.1:\d+/, `https://localhost:${securePort}`)
    const providers = [
      standardProvider(named, { id: 'environment' }),
      standardProvider(named, { id: 'packaged', kind: 'anthropic' }),
      standardProvider(encrypted, { id: 'secure', proxy: withPassword }),
      standardProvider(encrypted, { id: 'refused', proxy: `http://127.0.0.1:${proxy.port}` }),
    ]
    const models = [...providers.map(({ id }) => [id]), ['refused', 'secure']].map(targets =>
      standardModel({
        id: `test/${targets.join('-')}`,
        targets: targets.map((provider, priority) => ({ provider, model: 'm1', priority })),
      }),
    )
    return standardConfig(url, { providers, models })
  },
  {
    env: {
      HTTP_PROXY: proxy.url,
      PROXY_PASSWORD: encodeURIComponent(PROXY_PASSWORD),
      NODE_EXTRA_CA_CERTS: certificates,
      TURNPIKE_ALLOW_PRIVATE_UPSTREAMS: '1',
    },
  },
)
const key = await gateway.createKey()
const ask = (model: string, more = {}) => gateway.chat({ model: `test/${model}`, ...more }, { key: key.secret })

test('an http:// provider is called through HTTP_PROXY, as JSON and as a stream', async () => {
  const answer = await ask('environment')
  const stream = await gateway.openChat({ model: 'test/environment' }, { key: key.secret })
  await stream.nextChunk()
  stream.abort()

  assert.deepEqual([answer.status, answer.headers['x-svc-provider']], [200, 'environment'])
  assert.ok(proxy.journal.includes(`upstream.test:${upstreamPort} 200`))
  assert.equal(upstream.journal[0]?.headers['proxy-authorization'], undefined)
})

test('an https:// provider is called through its own proxy, whose password comes from the environment', async () => {
  const answer = await ask('secure')

  assert.equal(answer.status, 200)
  assert.ok(proxy.journal.includes(`localhost:${securePort} 200`))
})

test('a proxy that refuses costs nothing, and the next target is tried', async () => {
  const before = upstream.journal.length
  const alone = await ask('refused')

  assertRefusal(alone, 'all_providers_failed')
  const row = await settledRow(gateway, alone.headers['x-request-id'])
  assert.deepEqual([row.attempts[0]?.outcome, row.outcome, row.cost], ['refused', 'upstream_failed', '0'])
  assert.equal(upstream.journal.length, before)
  assert.ok(proxy.journal.includes(`localhost:${securePort} 407`))

  const pair = await ask('refused-secure')
  assert.deepEqual([pair.status, pair.headers['x-svc-provider']], [200, 'secure'])
})

test('operators enter a proxy with its password, which is stored encrypted and never shown', async () => {
  const base_url = `http://other.test:${upstreamPort}/v1`
  const address = `http://127.0.0.1:${proxy.port}`
  const entered = { id: 'entered', kind: 'openai', base_url, api_key: 'k', proxy: proxy.url }
  const created = await gateway.admin('POST', '/providers', entered)
  assert.deepEqual([created.status, created.body.proxy], [201, address])
  assert.equal(Object.keys(created.body.credentials ?? {}).length, 1)
  const model = standardModel({ id: 'test/entered', targets: [{ provider: 'entered', model: 'm1' }] })
  assert.equal((await gateway.admin('POST', '/models', model)).status, 201)
  assert.equal((await ask('entered')).status, 200)
  assert.ok(proxy.journal.includes(`other.test:${upstreamPort} 200`))

  const renamed = await gateway.admin('PATCH', '/providers/entered', { timeouts: { idle: 30 } })
  assert.deepEqual([renamed.status, renamed.body.proxy], [200, address])
  assert.equal((await ask('entered')).status, 200)
  assert.equal((await gateway.admin('DELETE', '/providers/entered/credentials/proxy')).status, 404)

  // Another address is another proxy: the password is not sent there.
  const changed = await gateway.admin('PATCH', '/providers/entered', { proxy: `${address}/`, api_key: undefined })
  assert.deepEqual([changed.status, changed.body.proxy], [200, address])
  assertRefusal(await ask('entered'), 'all_providers_failed')

  const bad = await gateway.admin('PATCH', '/providers/entered', { proxy: `http://u:${PROXY_PASSWORD}@a/path` })
  assert.equal(bad.status, 400)
})

test('the password is in no answer, no log line and no file of the gateway', async () => {
  const secrets = [
    PROXY_PASSWORD,
    encodeURIComponent(PROXY_PASSWORD),
    Buffer.from(`${PROXY_USER}:${PROXY_PASSWORD}`).toString('base64'),
  ]
  const said = [
    JSON.stringify((await gateway.admin('GET', '/providers')).body),
    JSON.stringify((await gateway.admin('GET', '/events')).body),
    JSON.stringify(gateway.logs),
    await gateway.stored(),
  ].join('\n')

  assert.ok(said.includes(String(proxy.port)))
  for (const secret of secrets) assert.ok(!said.includes(secret), secret)
})
