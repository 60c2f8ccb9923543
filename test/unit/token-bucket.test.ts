// The token bucket: over any time it admits its limit and the refill of that time, never more, whatever is taken,
// returned, read or changed meanwhile, and never less to a paced caller.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { type Bucket, fullBucket, giveBack, isFull, standing, take, waitSeconds } from '../../src/lib/token-bucket.ts'

// A margin for floating-point rounding, far below one token.
const GRAIN = 1e-6

const limits = fc.oneof(fc.integer({ min: 1, max: 10 }), fc.integer({ min: 1, max: 10_000_000 }))
const step = fc.record({
  afterMs: fc.oneof(fc.constant(0), fc.double({ min: 0, max: 90_000, noNaN: true })),
  tries: fc.integer({ min: 1, max: 12 }),
  returns: fc.integer({ min: 0, max: 3 }),
  looks: fc.boolean(),
})

test('over any window, at most the limit and its refill are admitted', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 40 }), fc.array(step, { maxLength: 40, size: 'max' }), (limit, steps) => {
      const admittedAt = run(limit, steps)

      for (const [i, from] of admittedAt.entries()) {
        for (const [j, to] of admittedAt.slice(i).entries()) {
          const bound = limit + (limit * (to - from)) / 60_000
          assert.ok(j + 1 <= bound + GRAIN, `${j + 1} in ${to - from} ms with a limit of ${limit}`)
        }
      }
    }),
    { numRuns: 300 },
  )
})

test('a caller at the pace of the limit is never refused', () => {
  fc.assert(
    fc.property(
      limits,
      fc.array(fc.double({ min: 1, max: 5, noNaN: true }), { maxLength: 50, size: 'max' }),
      (limit, paces) => {
        const bucket = fullBucket(limit, 0)
        let now = 0

        for (let i = 0; i < Math.min(limit, 20); i++) assert.ok(take(bucket, limit, now))
        for (const pace of paces) {
          now += (60_000 / limit) * (pace + GRAIN)
          assert.ok(take(bucket, limit, now))
        }
      },
    ),
  )
})

test('a refused caller is served after its Retry-After, and not long before', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 1000 }), fc.double({ min: 0, max: 100, noNaN: true }), (limit, laterMs) => {
      const bucket: Bucket = { tokens: 0, limit, at: 0 }
      const isTooEarly = !take(bucket, limit, laterMs)
      fc.pre(isTooEarly)

      const waitMs = waitSeconds(bucket) * 1000

      assert.equal(take({ ...bucket }, limit, laterMs + waitMs * 0.9), false)
      assert.equal(take({ ...bucket }, limit, laterMs + waitMs + 0.001), true)
    }),
  )
})

test('a changed limit keeps what was used, down to an empty bucket', () => {
  fc.assert(
    fc.property(limits, limits, fc.double({ min: 0, max: 1, noNaN: true }), (old, next, share) => {
      const tokens = old * share
      const bucket: Bucket = { tokens, limit: old, at: 0 }

      const { remaining, limit } = standing(bucket, next, 0)

      assert.equal(limit, next)
      assert.equal(remaining, Math.floor(Math.max(0, next - (old - tokens))))
    }),
  )
})

test('under limits that only rise, or only fall, no more is admitted than the highest of them allows', () => {
  const changes = fc.array(fc.record({ limit: fc.integer({ min: 1, max: 40 }), step }), {
    minLength: 1,
    maxLength: 30,
    size: 'max',
  })
  fc.assert(
    fc.property(changes, fc.boolean(), (unsorted, isRising) => {
      const sorted = unsorted.map(({ limit }) => limit).sort((a, b) => (isRising ? a - b : b - a))
      const bucket = fullBucket(sorted[0] as number, 0)
      let [now, admitted] = [0, 0]

      for (const [i, { step }] of unsorted.entries()) {
        now += step.afterMs
        for (let k = 0; k < step.tries; k++) if (take(bucket, sorted[i] as number, now)) admitted += 1
      }

      const highest = Math.max(...sorted)
      assert.ok(admitted <= highest + (highest * now) / 60_000 + GRAIN)
    }),
  )
})

test('under limits that change at random, each period of one limit keeps to that limit', () => {
  const stretch = fc.record({ limit: fc.integer({ min: 1, max: 40 }), steps: fc.array(step, { maxLength: 8 }) })
  fc.assert(
    fc.property(fc.array(stretch, { maxLength: 12 }), stretches => {
      const bucket = fullBucket(stretches[0]?.limit ?? 1, 0)
      let now = 0

      for (const { limit, steps } of stretches) {
        const startedAt = now
        const admitted = take(bucket, limit, now) ? run(limit, steps, bucket, now).length + 1 : 0
        now += steps.reduce((sum, { afterMs }) => sum + afterMs, 0)
        assert.ok(admitted <= limit + (limit * (now - startedAt)) / 60_000 + GRAIN)
      }
    }),
  )
})

test('reading changes nothing, and reports when the bucket is full again', () => {
  fc.assert(
    fc.property(limits, fc.nat(20), fc.array(fc.nat(500), { maxLength: 20, size: 'max' }), (limit, taken, looks) => {
      const [looked, alone] = [fullBucket(limit, 0), fullBucket(limit, 0)]
      for (let i = 0; i < taken; i++) for (const bucket of [looked, alone]) take(bucket, limit, 0)

      let now = 0
      for (const ms of looks) {
        now += ms
        standing(looked, limit, now)
      }
      const seen = standing(looked, limit, now)

      const other = standing(alone, limit, now)
      assert.ok(
        Math.abs(seen.remaining - other.remaining) <= 1 && Math.abs(seen.resetSeconds - other.resetSeconds) <= 1,
      )
      assert.ok(seen.remaining >= 0 && seen.remaining <= limit && Number.isInteger(seen.resetSeconds))
      assert.ok(isFull(looked, now + (seen.resetSeconds + GRAIN) * 1000))
    }),
  )
})

test('returning tokens fills no bucket beyond its limit', () => {
  const bucket = fullBucket(2, 0)
  take(bucket, 2, 0)

  for (let i = 0; i < 5; i++) giveBack(bucket)

  assert.equal(standing(bucket, 2, 0).remaining, 2)
  assert.deepEqual([take(bucket, 2, 0), take(bucket, 2, 0), take(bucket, 2, 0)], [true, true, false])
})

test('a clock that jumps back refills nothing and blocks nobody', () => {
  const bucket: Bucket = { tokens: 0, limit: 60, at: 7_200_000 }

  assert.equal(take(bucket, 60, 0), false)
  assert.equal(take(bucket, 60, 1_001), true)
})

type Step = { readonly afterMs: number; readonly tries: number; readonly returns: number; readonly looks: boolean }

// The times at which a request was admitted and not returned.
function run(limit: number, steps: readonly Step[], bucket = fullBucket(limit, 0), startedAt = 0): number[] {
  const admittedAt: number[] = []
  let now = startedAt
  for (const { afterMs, tries, returns, looks } of steps) {
    now += afterMs
    const before = admittedAt.length
    for (let i = 0; i < tries; i++) if (take(bucket, limit, now)) admittedAt.push(now)
    if (looks) standing(bucket, limit, now)
    for (let i = 0; i < returns && admittedAt.length > before; i++) {
      admittedAt.pop()
      giveBack(bucket)
    }
  }
  return admittedAt
}
