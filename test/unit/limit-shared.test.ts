// The limits of a key on one node of several, with a manual clock and a scripted Redis: their effect on headers,
// refusals, and the node's own share while Redis is unavailable.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sharedLimits } from '../../src/admit/rate-limit-shared.ts'
import type { Key } from '../../src/domain/key.ts'
import { Refusal } from '../../src/domain/refusal.ts'
import type { BucketSaid } from '../../src/store/contract/buckets.ts'
import { bearerOf, keyWith } from '../support/authenticated-key.ts'
import { manualClock } from '../support/manual-clock.ts'

test('headers and refusals report the state in Redis, refilled by the time since', async () => {
  const fixture = openFixture()
  fixture.says = { isTaken: true, tokens: 4, limit: 60, version: 1 }
  const entered = await fixture.enter()

  const then = fixture.limits.rpm(fixture.key)
  fixture.clock.advance(2000)
  const later = fixture.limits.rpm(fixture.key)
  entered.giveBack()
  const givenBack = fixture.limits.rpm(fixture.key)
  fixture.says = { isTaken: false, tokens: 0.25, limit: 60, version: 1 }
  const refusal = await refusalOf(fixture.enter())

  assert.deepEqual([then.remaining, then.resetSeconds, later.remaining, givenBack.remaining], [4, 56, 6, 7])
  assert.equal(fixture.givenBack, 1)
  assert.deepEqual([refusal.code, refusal.detail.retryAfter], ['rate_limit_exceeded', 0.75])
})

for (const [nodes, limit, share] of [
  [1, 10, 10],
  [3, 10, 3],
  [4, 300, 75],
  [4, 3, 1],
  [0, 10, 10],
] as const) {
  test(`a node without a known state of a key has its share: ${limit} on ${nodes} nodes is ${share}`, async () => {
    const fixture = openFixture({ limit, nodes })
    fixture.says = undefined

    assert.equal(await fixture.admitted(1000), share)
    assert.equal(fixture.local, share + 1)
    assert.deepEqual(fixture.limits.rpm(fixture.key).remaining, 0)
    assert.deepEqual(fixture.limits.rpm(fixture.key).limit, limit)
  })
}

test('a share starts with its part of the last state in Redis, and refills by its own size', async () => {
  const fixture = openFixture({ limit: 120, nodes: 4 })
  fixture.says = { isTaken: true, tokens: 40, limit: 120, version: 1 }
  await fixture.enter()
  fixture.says = undefined

  const atFirst = await fixture.admitted(1000)
  fixture.clock.advance(10_000)
  const tenSecondsLater = await fixture.admitted(1000)

  assert.deepEqual([atFirst, tenSecondsLater], [10, 5])
})

test('a timeout also means the share, even while Redis is considered available', async () => {
  const fixture = openFixture({ limit: 60, nodes: 3 })
  fixture.says = { isTaken: true, tokens: 30, limit: 60, version: 1 }
  await fixture.enter()
  fixture.says = 'late'
  await fixture.enter()

  const late = fixture.limits.rpm(fixture.key)
  fixture.says = { isTaken: true, tokens: 29, limit: 60, version: 1 }
  await fixture.enter()

  assert.deepEqual([late.remaining, fixture.limits.rpm(fixture.key).remaining], [9, 29])
})

test('a flapping Redis does not fill a share up, whatever it returns', async () => {
  const fixture = openFixture({ limit: 100, nodes: 2 })
  fixture.says = undefined
  const first = await fixture.admitted(1000)

  const again = []
  for (let flap = 0; flap < 5; flap++) {
    fixture.says = { isTaken: true, tokens: 99, limit: 100, version: 1 }
    await fixture.enter()
    fixture.limits.prune()
    fixture.says = undefined
    again.push(await fixture.admitted(1000))
  }

  assert.deepEqual([first, again], [50, [0, 0, 0, 0, 0]])
})

test('a changed limit, and new nodes, change the share and keep what was used', async () => {
  const fixture = openFixture({ limit: 100, nodes: 2 })
  fixture.says = undefined
  for (let i = 0; i < 20; i++) await fixture.enter()

  const raised = await fixture.enter({ rpmLimit: 200, version: 2 }).then(() => fixture.limits.rpm(fixture.key))
  const older = await fixture.enter({ rpmLimit: 100, version: 1 }).then(() => fixture.limits.rpm(fixture.key))
  fixture.nodes = 4
  const more = fixture.limits.rpm(fixture.key)

  assert.deepEqual([raised.limit, raised.remaining], [200, 79])
  assert.deepEqual([older.limit, older.remaining], [200, 78])
  assert.equal(more.remaining, 28)
})

test('a response of Redis for an older record of the key restores neither its limit nor its count', async () => {
  const fixture = openFixture({ limit: 60 })
  fixture.says = { isTaken: true, tokens: 8, limit: 10, version: 2 }
  await fixture.enter({ rpmLimit: 10, version: 2 })

  // It was in flight when the limit was lowered.
  fixture.says = { isTaken: true, tokens: 59, limit: 60, version: 1 }
  await fixture.enter()
  const headers = fixture.limits.rpm(fixture.key)
  await fixture.limits.look?.(fixture.key)
  fixture.says = undefined
  const share = await fixture.admitted(1000)

  assert.deepEqual([headers.limit, headers.remaining], [10, 8])
  assert.equal(fixture.limits.rpm(fixture.key).limit, 10)
  assert.equal(share, 8)
})

test('a token of a share is returned to the share, and not to Redis', async () => {
  const fixture = openFixture({ limit: 2 })
  fixture.says = undefined
  const { giveBack } = await fixture.enter()
  await fixture.enter()

  giveBack()
  giveBack()
  giveBack()

  assert.deepEqual([await fixture.admitted(10), fixture.givenBack], [2, 0])
})

test('a request refused by the daily limit returns its token to Redis', async () => {
  const fixture = openFixture({ limit: 10 })
  fixture.says = { isTaken: true, tokens: 5, limit: 10, version: 1 }

  const refusal = await refusalOf(fixture.enter({ dailyLimit: 0 }))

  assert.deepEqual([refusal.code, fixture.givenBack], ['daily_limit_exceeded', 1])
})

test('a record that the reservation confirms is in force, although Redis has a newer one', async () => {
  const fixture = openFixture({ limit: 10 })
  fixture.says = { isTaken: true, tokens: 90, limit: 100, version: 2 }
  await fixture.enter()

  fixture.limits.confirmed?.(fixture.key)
  fixture.limits.confirmed?.(fixture.key)
  fixture.says = { isTaken: true, tokens: 0, limit: 10, version: 1 }
  await fixture.enter()

  assert.deepEqual(fixture.followed, ['1 of 10 for 2'])
  assert.equal(fixture.limits.rpm(fixture.key).limit, 10)
})

test('full buckets are dropped, others are not', async () => {
  const fixture = openFixture({ limit: 60 })
  fixture.says = { isTaken: true, tokens: 30, limit: 60, version: 1 }
  await fixture.enter()

  fixture.limits.prune()
  const half = fixture.limits.rpm(fixture.key).remaining
  fixture.clock.advance(60_000)
  fixture.limits.prune()

  assert.deepEqual([half, fixture.limits.rpm(fixture.key).remaining], [30, 60])
})

function openFixture({ limit = 60, nodes = 1 } = {}) {
  const clock = manualClock()
  const key = keyWith({ rpmLimit: limit, maxConcurrent: 100 })
  // Undefined: it is unavailable.
  const says: BucketSaid | 'late' | undefined = undefined
  const world = {
    nodes,
    says: says as BucketSaid | 'late' | undefined,
    givenBack: 0,
    local: 0,
    followed: [] as string[],
  }
  const answer = async () => (world.says === 'late' ? undefined : world.says)
  const limits = sharedLimits({
    clock,
    unpaidPerMinuteMin: 600,
    nodesAlive: () => world.nodes,
    onLocal: () => void world.local++,
    buckets: {
      take: answer,
      look: answer,
      giveBack: () => void world.givenBack++,
      follow: (record, wrong) => void world.followed.push(`${record.version} of ${record.rpmLimit} for ${wrong}`),
      isUp: () => world.says !== undefined,
    },
  })
  const enter = async (changes: Partial<Key> = {}) => limits.enter(bearerOf({ ...key, ...changes }), 'models')

  return Object.assign(world, {
    clock,
    key,
    limits,
    enter,
    async admitted(tries: number): Promise<number> {
      for (let i = 0; i < tries; i++) {
        try {
          await enter({ maxConcurrent: 1_000_000 })
        } catch (error) {
          if (error instanceof Refusal && error.code === 'rate_limit_exceeded') return i
          throw error
        }
      }
      return tries
    },
  })
}

async function refusalOf(work: Promise<unknown>): Promise<Refusal> {
  try {
    await work
  } catch (error) {
    if (error instanceof Refusal) return error
    throw error
  }
  throw new Error('it was not refused')
}
