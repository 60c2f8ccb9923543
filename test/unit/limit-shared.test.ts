// The limits of a key on one node of many, with a clock that only the test moves and a Redis whose words are written down
// here: what becomes of them in headers, refusals, and in the node's own share while nothing is said.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sharedLimits } from '../../src/admit/rate-limit-shared.ts'
import type { Key } from '../../src/domain/key.ts'
import { Refusal } from '../../src/domain/refusal.ts'
import type { BucketSaid } from '../../src/store/contract/buckets.ts'
import { bearerOf, keyWith } from '../support/authenticated-key.ts'
import { manualClock } from '../support/manual-clock.ts'

test('headers and refusals say what Redis said, refilled by the time since', async () => {
  const house = openHouse()
  house.says = { isTaken: true, tokens: 4, limit: 60, version: 1 }
  const entered = await house.enter()

  const then = house.limits.rpm(house.key)
  house.clock.advance(2000)
  const later = house.limits.rpm(house.key)
  entered.giveBack()
  const givenBack = house.limits.rpm(house.key)
  house.says = { isTaken: false, tokens: 0.25, limit: 60, version: 1 }
  const refusal = await refusalOf(house.enter())

  assert.deepEqual([then.remaining, then.resetSeconds, later.remaining, givenBack.remaining], [4, 56, 6, 7])
  assert.equal(house.givenBack, 1)
  assert.deepEqual([refusal.code, refusal.detail.retryAfter], ['rate_limit_exceeded', 0.75])
})

for (const [nodes, limit, share] of [
  [1, 10, 10],
  [3, 10, 3],
  [4, 300, 75],
  [4, 3, 1],
  [0, 10, 10],
] as const) {
  test(`a node that never heard of a key has its share of it: ${limit} by ${nodes} nodes is ${share}`, async () => {
    const house = openHouse({ limit, nodes })
    house.says = undefined

    assert.equal(await house.admitted(1000), share)
    assert.equal(house.local, share + 1)
    assert.deepEqual(house.limits.rpm(house.key).remaining, 0)
    assert.deepEqual(house.limits.rpm(house.key).limit, limit)
  })
}

test('a share begins with its part of what Redis last said, and refills by its own size', async () => {
  const house = openHouse({ limit: 120, nodes: 4 })
  house.says = { isTaken: true, tokens: 40, limit: 120, version: 1 }
  await house.enter()
  house.says = undefined

  const atFirst = await house.admitted(1000)
  house.clock.advance(10_000)
  const tenSecondsLater = await house.admitted(1000)

  assert.deepEqual([atFirst, tenSecondsLater], [10, 5])
})

test('an answer that did not come in time means the share too, also while Redis is thought to be there', async () => {
  const house = openHouse({ limit: 60, nodes: 3 })
  house.says = { isTaken: true, tokens: 30, limit: 60, version: 1 }
  await house.enter()
  house.says = 'late'
  await house.enter()

  const late = house.limits.rpm(house.key)
  house.says = { isTaken: true, tokens: 29, limit: 60, version: 1 }
  await house.enter()

  assert.deepEqual([late.remaining, house.limits.rpm(house.key).remaining], [9, 29])
})

test('a Redis that comes and goes does not fill a share up, whatever it says', async () => {
  const house = openHouse({ limit: 100, nodes: 2 })
  house.says = undefined
  const first = await house.admitted(1000)

  const again = []
  for (let flap = 0; flap < 5; flap++) {
    house.says = { isTaken: true, tokens: 99, limit: 100, version: 1 }
    await house.enter()
    house.limits.prune()
    house.says = undefined
    again.push(await house.admitted(1000))
  }

  assert.deepEqual([first, again], [50, [0, 0, 0, 0, 0]])
})

test('a limit that is changed meanwhile, and nodes that come, change the share and keep what was used', async () => {
  const house = openHouse({ limit: 100, nodes: 2 })
  house.says = undefined
  for (let i = 0; i < 20; i++) await house.enter()

  const raised = await house.enter({ rpmLimit: 200, version: 2 }).then(() => house.limits.rpm(house.key))
  const older = await house.enter({ rpmLimit: 100, version: 1 }).then(() => house.limits.rpm(house.key))
  house.nodes = 4
  const more = house.limits.rpm(house.key)

  assert.deepEqual([raised.limit, raised.remaining], [200, 79])
  assert.deepEqual([older.limit, older.remaining], [200, 78])
  assert.equal(more.remaining, 28)
})

test('an answer of Redis to an older record of the key brings neither its limit nor its count back', async () => {
  const house = openHouse({ limit: 60 })
  house.says = { isTaken: true, tokens: 8, limit: 10, version: 2 }
  await house.enter({ rpmLimit: 10, version: 2 })

  // It was on its way when the limit was lowered.
  house.says = { isTaken: true, tokens: 59, limit: 60, version: 1 }
  await house.enter()
  const headers = house.limits.rpm(house.key)
  await house.limits.look?.(house.key)
  house.says = undefined
  const share = await house.admitted(1000)

  assert.deepEqual([headers.limit, headers.remaining], [10, 8])
  assert.equal(house.limits.rpm(house.key).limit, 10)
  assert.equal(share, 8)
})

test('what a share gave, its undo gives back to the share, and not to Redis', async () => {
  const house = openHouse({ limit: 2 })
  house.says = undefined
  const { giveBack } = await house.enter()
  await house.enter()

  giveBack()
  giveBack()
  giveBack()

  assert.deepEqual([await house.admitted(10), house.givenBack], [2, 0])
})

test('a request refused for the day gives its token back to Redis', async () => {
  const house = openHouse({ limit: 10 })
  house.says = { isTaken: true, tokens: 5, limit: 10, version: 1 }

  const refusal = await refusalOf(house.enter({ dailyLimit: 0 }))

  assert.deepEqual([refusal.code, house.givenBack], ['daily_limit_exceeded', 1])
})

test('a record that the gate confirms is the one in force, though Redis goes by a newer one', async () => {
  const house = openHouse({ limit: 10 })
  house.says = { isTaken: true, tokens: 90, limit: 100, version: 2 }
  await house.enter()

  house.limits.confirmed?.(house.key)
  house.limits.confirmed?.(house.key)
  house.says = { isTaken: true, tokens: 0, limit: 10, version: 1 }
  await house.enter()

  assert.deepEqual(house.followed, ['1 of 10 for 2'])
  assert.equal(house.limits.rpm(house.key).limit, 10)
})

test('full buckets are forgotten, others are not', async () => {
  const house = openHouse({ limit: 60 })
  house.says = { isTaken: true, tokens: 30, limit: 60, version: 1 }
  await house.enter()

  house.limits.prune()
  const half = house.limits.rpm(house.key).remaining
  house.clock.advance(60_000)
  house.limits.prune()

  assert.deepEqual([half, house.limits.rpm(house.key).remaining], [30, 60])
})

function openHouse({ limit = 60, nodes = 1 } = {}) {
  const clock = manualClock()
  const key = keyWith({ rpmLimit: limit, maxConcurrent: 100 })
  // Undefined: it is away.
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
