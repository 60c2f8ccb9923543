// Failures of the connection to Redis: unavailable at the start, hung, killed, not writable, with a password. Nobody
// waits for long, it reconnects by itself, and an operator is notified once.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { BOUNDS } from '../../../src/config/limits.ts'
import { canCount } from '../../../src/store/redis/buckets.ts'
import { openRedisLink } from '../../../src/store/redis/connection.ts'
import { startFaultProxy } from '../../support/fault-proxy.ts'
import { hasRedis, startRedis } from '../../support/redis.ts'
import { until } from '../../support/until.ts'

if (hasRedis()) {
  test('a Redis that is unavailable at the start is not an error, and is used once available', async () => {
    await using redis = await startRedis()
    await redis.kill()
    await using fixture = await openLink(redis.url)

    const before = fixture.link.isUp()
    await redis.start()
    await until('it is available', fixture.link.isUp)

    assert.equal(before, false)
    assert.equal(await fixture.link.send(['PING']), 'PONG')
    assert.deepEqual(fixture.told.map(kind), ['away', 'back'])
  })

  test('while it hangs a few commands wait for their timeout, and all others fail at once', async () => {
    await using redis = await startRedis()
    await using fixture = await openLink(redis.url)
    await fixture.link.send(['PING'])

    redis.freeze()
    const first = await timed(() => fixture.link.send(['PING']))
    await until('it is unavailable', () => !fixture.link.isUp())
    const later = await timed(async () => {
      for (let i = 0; i < 40; i++) await assert.rejects(fixture.link.send(['PING']))
    })
    redis.thaw()
    await until('it is available again', fixture.link.isUp)

    assert.ok(first.failed && first.ms >= BOUNDS.redisCommandMsMax - 5, `${first.ms}`)
    assert.ok(later.ms < 10 * BOUNDS.redisCommandMsMax, `${later.ms}`)
    assert.equal(await fixture.link.send(['PING']), 'PONG')
    assert.deepEqual(fixture.told.map(kind), ['away', 'back'])
  })

  test('a Redis that hangs while idle is detected', async () => {
    await using redis = await startRedis()
    await using fixture = await openLink(redis.url)

    redis.freeze()
    await until('it is unavailable', () => !fixture.link.isUp())
    redis.thaw()

    assert.deepEqual(fixture.told.map(kind), ['away'])
  })

  test('commands in flight fail when it is killed, and a new one on the same address is used', async () => {
    await using redis = await startRedis()
    await using fixture = await openLink(redis.url)
    const waiting = fixture.link.send(['BLPOP', 'nothing', '0'])

    await redis.kill()
    await assert.rejects(waiting)
    await redis.start()
    await until('it is available again', fixture.link.isUp)

    assert.deepEqual(fixture.told.map(kind), ['away', 'back'])
  })

  const unwritable = {
    'a replica': { make: ['REPLICAOF', '127.0.0.1', '1'], end: ['REPLICAOF', 'NO', 'ONE'], why: /READONLY/ },
    'out of memory': {
      make: ['CONFIG', 'SET', 'maxmemory', '1'],
      end: ['CONFIG', 'SET', 'maxmemory', '0'],
      why: /OOM/,
    },
  }
  for (const [what, { make, end, why }] of Object.entries(unwritable)) {
    test(`a Redis that is not writable (${what}) is unavailable until it is`, async () => {
      await using redis = await startRedis()
      await redis.command(...make)
      await using fixture = await openLink(redis.url)

      const before = fixture.link.isUp()
      await redis.command(...end)
      await until('it is available', fixture.link.isUp)

      assert.equal(before, false)
      assert.match(fixture.told[0] ?? '', why)
    })
  }

  test('a Redis whose responses are always late stays unavailable and does not flap', async () => {
    await using redis = await startRedis()
    await using proxy = await startFaultProxy(redis.port)
    await using fixture = await openLink(`redis://127.0.0.1:${proxy.port}`)

    await proxy.set({ kind: 'latency', ms: 400 })
    await until('it is unavailable', () => !fixture.link.isUp())
    await setTimeout(3000)
    const meanwhile = fixture.told.map(kind)
    await proxy.set({ kind: 'pass' })
    await until('it is available again', fixture.link.isUp)

    assert.deepEqual([meanwhile, fixture.told.map(kind)], [['away'], ['away', 'back']])
  })

  test('a password is used; a wrong one makes Redis unavailable and is not logged', async () => {
    await using redis = await startRedis({ password: 'p@ss word' })
    await using right = await openLink(redis.url)
    await using wrong = await openLink(redis.url.replace('p%40ss', 'hunter2'))

    assert.deepEqual([right.link.isUp(), wrong.link.isUp()], [true, false])
    assert.match(wrong.told.join(), /^away: WRONGPASS/)
    assert.doesNotMatch(wrong.told.join(), /hunter2|p@ss/)
  })
}

async function openLink(url: string) {
  const told: string[] = []
  const link = await openRedisLink({
    url,
    bounds: BOUNDS,
    random: Math.random,
    begin: canCount,
    onUnavailable: why => told.push(`away: ${why}`),
    onBack: () => told.push('back'),
  })
  return { link, told, [Symbol.asyncDispose]: async () => link.close() }
}

function kind(words: string): string | undefined {
  return words.split(':')[0]
}

async function timed(work: () => Promise<unknown>): Promise<{ readonly ms: number; readonly failed: boolean }> {
  const startedAt = performance.now()
  const failed = await work().then(
    () => false,
    () => true,
  )
  return { ms: performance.now() - startedAt, failed }
}
