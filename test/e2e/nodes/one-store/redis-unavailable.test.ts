// Redis unavailable: at the start, hung, killed, cut off. Each node admits its share and logs it; no request waits or
// is refused because of it, and the connection recovers by itself.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { type AddressInfo, connect } from 'node:net'
import { join } from 'node:path'
import { test } from 'node:test'
import { createServer } from 'node:tls'
import { CERTIFICATE, PRIVATE_KEY } from '../../../fixtures/localhost-tls.ts'
import { withBounds } from '../../../support/bounds.ts'
import { startFaultProxy } from '../../../support/fault-proxy.ts'
import { temporaryFolder } from '../../../support/folder.ts'
import {
  ENCRYPTION_KEY,
  type Gateway,
  type GatewayOptions,
  standardConfig,
  startGateway,
} from '../../../support/gateway.ts'
import { hasPostgres, startServer } from '../../../support/postgres.ts'
import { hasRedis, startRedis } from '../../../support/redis.ts'
import { startRedisNodes } from '../../../support/redis-nodes.ts'
import { until } from '../../../support/until.ts'
import { startUpstream } from '../../../support/upstream.ts'

// On a machine busy with tests a response may take longer than the product's timeout.
const PATIENT = withBounds({ redisCommandMsMax: 1000 })

const AWAY = 'Redis is unavailable; each node enforces its share of the requests per minute'
const BACK = 'Redis is available again; requests per minute are shared between nodes'

if (hasPostgres() && hasRedis()) {
  test('two nodes with an unreliable Redis', async t => {
    await using fixture = await startRedisNodes(2, PATIENT)
    const { nodes, redis } = fixture
    const [a, b] = nodes as [Gateway, Gateway]
    const key = await a.createKey({ rpm_limit: 60_000 })
    const faults = {
      hangs: { begin: redis.freeze, end: redis.thaw },
      'is killed': { begin: redis.kill, end: redis.start },
    }

    for (const [fault, { begin, end }] of Object.entries(faults)) {
      await t.test(`it ${fault}: requests continue without delay, and it is logged once`, async () => {
        const [lines, local] = [toldOf(a).length, await metric(a, 'turnpike_limited_locally_total')]
        await begin()
        const first = await Promise.all(Array.from({ length: 20 }, () => a.get('/v1/models', key.secret)))
        await until('it is unavailable', async () => (await metric(a, 'turnpike_redis_up')) === 0)
        const startedAt = performance.now()
        const then = []
        for (let i = 0; i < 40; i++) then.push(await a.get('/v1/models', key.secret))
        const ms = performance.now() - startedAt

        assert.deepEqual([...new Set([...first, ...then].map(({ status }) => status))], [200])
        assert.ok(ms < 40 * 100, `${ms} ms for forty requests`)
        assert.ok((await metric(a, 'turnpike_limited_locally_total')) >= local + 40)
        await assertTold(a, lines, [AWAY])

        await end()
        for (const node of nodes) {
          await until('it is available again', async () => (await metric(node, 'turnpike_redis_up')) === 1)
        }
        const after = await metric(a, 'turnpike_limited_locally_total')
        assert.equal((await a.get('/v1/models', key.secret)).status, 200)
        assert.equal(await metric(a, 'turnpike_limited_locally_total'), after)
        await assertTold(a, lines, [AWAY, BACK])
      })
    }

    await t.test('a local share starts from the last state of Redis and is not refilled when Redis flaps', async () => {
      const low = await a.createKey({ rpm_limit: 6, daily_limit: null })
      for (let i = 0; i < 4; i++) await a.get('/v1/models', low.secret)

      const startedAt = performance.now()
      const admitted: number[] = []
      for (let round = 0; round < 3; round++) {
        await redis.kill()
        await until('it is unavailable', async () => (await metric(a, 'turnpike_redis_up')) === 0)
        let answer = await a.get('/v1/models', low.secret)
        let served = 0
        for (; answer.status === 200; served++) {
          assert.equal(answer.headers['ratelimit-limit'], '6')
          answer = await a.get('/v1/models', low.secret)
        }
        admitted.push(served)
        assert.deepEqual([answer.status, answer.headers['ratelimit-remaining']], [429, '0'])
        assert.ok(Number(answer.headers['retry-after']) > 0)
        await redis.start()
        await until('it is available again', async () => (await metric(a, 'turnpike_redis_up')) === 1)
      }

      // Two of six were left, one for each node; a token is refilled every ten seconds in Redis, and every twenty here.
      const seconds = (performance.now() - startedAt) / 1000
      const [first = 0, ...others] = admitted
      assert.ok(first >= 1 && first <= 2 + seconds / 10, `${admitted}`)
      assert.ok(first + others.reduce((a, b) => a + b) <= 2 + seconds / 10, `${admitted} in ${seconds} s`)
    })

    await t.test('daily limits and credits stay exact meanwhile', async () => {
      await redis.kill()
      const daily = await a.createKey({ daily_limit: 10 })
      const poor = await a.createKey({ credits: '0' })
      const tries = Array.from({ length: 30 }, (_, i) => (i % 2 ? a : b).get('/v1/models', daily.secret))

      const statuses = (await Promise.all(tries)).map(({ status }) => status)

      assert.deepEqual([statuses.filter(is(200)).length, statuses.filter(is(429)).length], [10, 20])
      assert.deepEqual([(await a.chat({}, { key: poor.secret })).status], [402])
      await redis.start()
    })

    assert.ok((await a.audit()).ok)
  })
}

if (hasRedis()) {
  test('a gateway starts without Redis and uses it once it is available', async () => {
    await using redis = await startRedis({ password: 'canary-of-redis' })
    await redis.kill()
    await using upstream = await startUpstream()
    await using gateway = await startPatient({ config: standardConfig(upstream.url), env: { REDIS_URL: redis.url } })
    const key = await gateway.createKey({ rpm_limit: 6, daily_limit: null })

    const without = await gateway.get('/v1/models', key.secret)
    await redis.start()
    await until('it is available', async () => (await metric(gateway, 'turnpike_redis_up')) === 1)
    const withIt = await gateway.get('/v1/models', key.secret)

    assert.deepEqual([without.status, withIt.status], [200, 200])
    assert.equal(await redis.command('EXISTS', `turnpike:rpm:${key.id}`), 1)
    await assertTold(gateway, 0, [AWAY, BACK])
    assert.ok(!gateway.lines.some(line => line.includes('canary-of-redis')))
    assert.equal(await gateway.stop({ hurry: true }), 0)
  })

  test('requests survive a network that drops, resets or delays, and the gateway drains', async () => {
    await using redis = await startRedis()
    await using proxy = await startFaultProxy(redis.port)
    await using upstream = await startUpstream()
    const env = { REDIS_URL: `redis://127.0.0.1:${proxy.port}` }
    await using gateway = await startPatient({ config: standardConfig(upstream.url), env })
    const key = await gateway.createKey({ rpm_limit: 60_000 })
    const ask = async () => (await gateway.get('/v1/models', key.secret)).status

    const faults = [
      { kind: 'blackhole' },
      { kind: 'reset' },
      { kind: 'refuse' },
      { kind: 'latency', ms: 2000 },
    ] as const
    for (const fault of faults) {
      await proxy.set(fault)
      const statuses = await Promise.all(Array.from({ length: 20 }, ask))
      assert.deepEqual([...new Set(statuses)], [200], fault.kind)
      await until(`${fault.kind}: it is unavailable`, async () => {
        assert.equal(await ask(), 200)
        return (await metric(gateway, 'turnpike_redis_up')) === 0
      })
      await proxy.set({ kind: 'pass' })
      await until(
        `after ${fault.kind}: it is available again`,
        async () => (await metric(gateway, 'turnpike_redis_up')) === 1,
      )
    }
    await proxy.set({ kind: 'blackhole' })

    assert.equal(await gateway.stop({ hurry: true }), 0)
  })

  test('rediss:// uses TLS and rejects an untrusted certificate', async () => {
    await using redis = await startRedis({ password: 'secret' })
    const server = createServer({ key: PRIVATE_KEY, cert: CERTIFICATE }, secure => {
      const plain = connect(redis.port, '127.0.0.1')
      secure.on('error', () => plain.destroy()).pipe(plain)
      plain.on('error', () => secure.destroy()).pipe(secure)
    })
    server.on('tlsClientError', () => undefined).listen(0, '127.0.0.1')
    await once(server, 'listening')
    await using folder = await temporaryFolder()
    writeFileSync(join(folder.path, 'ca.pem'), CERTIFICATE)
    const { port } = server.address() as AddressInfo
    const env = { REDIS_URL: `rediss://:secret@localhost:${port}` }
    await using trusting = await startPatient({ env: { ...env, NODE_EXTRA_CA_CERTS: join(folder.path, 'ca.pem') } })
    await using wary = await startPatient({ env })

    const up = [await metric(trusting, 'turnpike_redis_up'), await metric(wary, 'turnpike_redis_up')]
    server.close()

    assert.deepEqual(up, [1, 0])
    await until('it logs the reason', () =>
      wary.logs.some(({ why }) => String(why).startsWith('self-signed certificate')),
    )
  })

  test('without Redis and database requests get 503, and with both back they are served', {
    skip: !hasPostgres(),
  }, async () => {
    await using redis = await startRedis()
    const postgres = await startServer()
    await using upstream = await startUpstream()
    const env = { DATABASE_URL: postgres.url, TURNPIKE_ENCRYPTION_KEY: ENCRYPTION_KEY, REDIS_URL: redis.url }
    await using gateway = await startPatient({ config: standardConfig(upstream.url), env })
    const key = await gateway.createKey({ scopes: ['chat.completions'] })
    const ask = async () => [
      (await gateway.chat({}, { key: key.secret })).status,
      (await gateway.get('/v1/models', key.secret)).status,
      (await gateway.get('/v1/models', `${key.secret.slice(0, -4)}0000`)).status,
    ]

    const before = await ask()
    await Promise.all([postgres.stop(), redis.kill()])
    const away = [await ask(), await ask()]
    await redis.start()
    const redisBack = await ask()
    await postgres.start()
    await until('the gateway is ready again', async () => (await gateway.get('/ready')).status === 200)
    const back = await ask()

    // A refusal from memory that cannot be confirmed is not sent.
    assert.deepEqual(before, [200, 403, 401])
    assert.deepEqual(
      [...away, redisBack],
      [
        [503, 503, 503],
        [503, 503, 503],
        [503, 503, 503],
      ],
    )
    assert.deepEqual(back, [200, 403, 401])
    assert.ok((await gateway.audit()).ok)
    await postgres.stop()
  })

  test('an invalid REDIS_URL stops the start with its name and exit code 2', async () => {
    await using gateway = await startGateway({ env: { REDIS_URL: 'localhost:6379' }, awaitReady: false })

    assert.equal(await gateway.exited, 2)
    assert.match(gateway.lines.join('\n'), /REDIS_URL must be a redis:\/\/ or rediss:\/\/ URL/)
  })
}

function startPatient(options: GatewayOptions): Promise<Gateway> {
  return startGateway({ ...PATIENT, ...options, env: { ...PATIENT.env, ...options.env } })
}

function toldOf(node: Gateway): string[] {
  return node.logs.map(({ msg }) => String(msg)).filter(msg => msg === AWAY || msg === BACK)
}

// The log is written a moment later.
async function assertTold(node: Gateway, from: number, lines: readonly string[]): Promise<void> {
  await until('it is logged', () => toldOf(node).length >= from + lines.length)
  assert.deepEqual(toldOf(node).slice(from), lines)
}

function is(status: number): (other: number) => boolean {
  return other => other === status
}

async function metric(node: Gateway, name: string): Promise<number> {
  const { text } = await node.get('/metrics')
  return Number(new RegExp(`^${name} (\\d+)`, 'm').exec(text)?.[1])
}
