// The buckets in Redis compared with the bucket in memory, their reference: the same results for any sequence and any
// clock; and their own cases: many nodes at once, expiring keys, flushed scripts.
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { createClient } from '@redis/client'
import fc from 'fast-check'
import { BOUNDS } from '../../../src/config/limits.ts'
import { type Bucket, fullBucket, giveBack, standing, take } from '../../../src/lib/token-bucket.ts'
import type { BucketKey } from '../../../src/store/contract/buckets.ts'
import { canCount, GIVE_BACK, redisBuckets, TAKE } from '../../../src/store/redis/buckets.ts'
import { openRedisLink } from '../../../src/store/redis/connection.ts'
import { hasRedis, sharedRedis } from '../../support/redis.ts'

const HOUR = 3_600_000
let names = 0

if (hasRedis()) {
  const url = await sharedRedis()
  const redis = await createClient({ url, RESP: 2 }).connect()
  after(() => redis.destroy())

  // The same script, with the time set by the test.
  const scripted = TAKE.text.replace("redis.call('TIME')", '{ ARGV[4], ARGV[5] }')
  assert.notEqual(scripted, TAKE.text)

  async function takeAt(name: string, key: BucketKey, wanted: 0 | 1, ms: number) {
    const args = [key.rpmLimit, key.version, wanted, Math.floor(ms / 1000), (ms % 1000) * 1000].map(String)
    const [isTaken, tokens, limit] = (await redis.sendCommand(['EVAL', scripted, '1', name, ...args])) as unknown[]
    return { isTaken: isTaken === 1, tokens: Number(tokens), limit: Number(limit) }
  }

  test('for any sequence of calls and any clock the bucket in Redis returns the same as the one in memory', async () => {
    const limit = fc.oneof(fc.integer({ min: 1, max: 12 }), fc.constantFrom(300, 10_000_000))
    const step = fc.record({
      ms: fc.oneof(fc.integer({ min: 0, max: 20_000 }), fc.constantFrom(0, 0, 60_000, -1, -2 * HOUR, 2 * HOUR)),
      verb: fc.constantFrom('take', 'take', 'take', 'look', 'giveBack'),
      // Which version of the key's record the calling node has.
      version: fc.integer({ min: 0, max: 2 }),
    })
    const records = fc.tuple(limit, limit, limit)

    await fc.assert(
      fc.asyncProperty(records, fc.array(step, { minLength: 1, maxLength: 40, size: 'max' }), async (limits, steps) => {
        const name = `turnpike:test:${process.pid}:${++names}`
        let now = Date.UTC(2026, 4, 2)
        let reference: { bucket: Bucket; limit: number; version: number } | undefined

        for (const { ms, verb, version } of steps) {
          now += ms
          const rpmLimit = limits[version] as number
          if (verb === 'giveBack') {
            await redis.sendCommand(['EVAL', GIVE_BACK.text, '1', name])
            if (reference !== undefined) giveBack(reference.bucket)
            continue
          }
          reference ??= { bucket: fullBucket(rpmLimit, now), limit: rpmLimit, version }
          if (version > reference.version) Object.assign(reference, { limit: rpmLimit, version })
          const { bucket, limit } = reference
          // An older record admits nobody beyond its own limit.
          standing(bucket, limit, now)
          const mayTake = rpmLimit - (limit - bucket.tokens) >= 1
          const isTaken = verb === 'look' || (mayTake && take(bucket, limit, now))

          const said = await takeAt(name, { id: name, rpmLimit, version }, verb === 'take' ? 1 : 0, now)

          assert.deepEqual([said.isTaken, said.limit], [isTaken, limit])
          assert.ok(Math.abs(said.tokens - bucket.tokens) < 1e-6, `${said.tokens} instead of ${bucket.tokens}`)
        }
        await redis.sendCommand(['DEL', name])
      }),
      { numRuns: 300 },
    )
  })

  test('a bucket follows an older record once that is known to be in force, and keeps its usage', async () => {
    await using fixture = await openBuckets()
    const { buckets } = fixture
    const key = newKey(100)
    const restored = { ...key, rpmLimit: 10, version: 1 }
    const newer = { ...key, version: 2 }
    for (let i = 0; i < 4; i++) await buckets.take(newer)

    buckets.follow(restored, 3)
    const unchanged = await buckets.look(newer)
    buckets.follow(restored, 2)
    const followed = await buckets.look(restored)

    assert.deepEqual([unchanged?.limit, unchanged?.version], [100, 2])
    assert.deepEqual([followed?.limit, followed?.version, Math.floor(followed?.tokens ?? 0)], [10, 1, 6])
  })

  test('a clock that jumps two hours back neither fills the bucket nor blocks the key', async () => {
    const key = { id: `test-${process.pid}-${++names}`, rpmLimit: 60, version: 1 }
    const start = Date.UTC(2026, 4, 2)
    for (let i = 0; i < 60; i++) await takeAt(key.id, key, 1, start)

    const back = await takeAt(key.id, key, 1, start - 2 * HOUR)
    const secondLater = await takeAt(key.id, key, 1, start - 2 * HOUR + 1000)

    assert.deepEqual([back.isTaken, secondLater.isTaken], [false, true])
  })

  test('a bucket expires, and returning a token neither extends nor creates one', async () => {
    await using fixture = await openBuckets()
    const key = newKey(5)
    const name = `turnpike:rpm:${key.id}`

    fixture.buckets.giveBack(key.id)
    const before = await redis.sendCommand(['EXISTS', name])
    await fixture.buckets.take(key)
    await redis.sendCommand(['PEXPIRE', name, '70000'])
    fixture.buckets.giveBack(key.id)
    fixture.buckets.giveBack(key.id)
    const said = await fixture.buckets.look(newKey(5))
    const kept = String(await redis.sendCommand(['GET', name]))
    const left = Number(await redis.sendCommand(['PTTL', name]))
    const full = await fixture.buckets.look(key)

    assert.equal(before, 0)
    assert.match(kept, /^5 5 1 /)
    assert.ok(left > 60_000 && left <= 70_000, `${left}`)
    assert.deepEqual([said?.tokens, full?.tokens], [5, 5])
    assert.ok(Number(await redis.sendCommand(['PTTL', name])) > 60_000)
  })

  test('scripts flushed by Redis are loaded again, and no call fails', async () => {
    await using fixture = await openBuckets()
    const key = newKey(100)
    await fixture.buckets.take(key)

    await redis.sendCommand(['SCRIPT', 'FLUSH'])
    const said = await Promise.all(Array.from({ length: 9 }, () => fixture.buckets.take(key)))

    assert.ok(said.every(each => each?.isTaken))
    assert.ok(fixture.buckets.isUp())
  })

  test('of 10,000 attempts on four nodes at once, exactly the limit and its refill are admitted', async () => {
    const nodes = await Promise.all([1, 2, 3, 4].map(() => openBuckets()))
    const key = newKey(700)

    const startedAt = performance.now()
    let taken = 0
    for (let round = 0; round < 25; round++) {
      const tries = nodes.flatMap(({ buckets }) => Array.from({ length: 100 }, () => buckets.take(key)))
      for (const said of await Promise.all(tries)) {
        assert.notEqual(said, undefined)
        if (said?.isTaken) taken += 1
      }
    }
    const seconds = (performance.now() - startedAt) / 1000
    for (const node of nodes) await node[Symbol.asyncDispose]()

    assert.ok(taken >= 700 && taken <= 700 + (700 * seconds) / 60, `${taken} in ${seconds} s`)
  })

  async function openBuckets() {
    const bounds = { ...BOUNDS, redisCommandMsMax: 5000 }
    const nothing = () => undefined
    const link = await openRedisLink({
      url,
      bounds,
      random: Math.random,
      begin: canCount,
      onUnavailable: nothing,
      onBack: nothing,
    })
    return { buckets: redisBuckets(link), [Symbol.asyncDispose]: async () => link.close() }
  }
}

function newKey(rpmLimit: number): BucketKey {
  return { id: `test-${process.pid}-${++names}`, rpmLimit, version: 1 }
}
