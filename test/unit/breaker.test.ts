// The breaker of a target: what opens it, what must not, and how it closes again.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { BOUNDS } from '../../src/config/limits.ts'
import {
  type Breaker,
  type BreakerFailure,
  beganWell,
  endedWell,
  failed,
  inconclusive,
  isDue,
  isUnhealthy,
  newBreaker,
  probed,
  probing,
  type Verdict,
} from '../../src/route/circuit-breaker.ts'

const IN_A_ROW = BOUNDS.breakerFailuresInARowMax
const OPEN_MS = BOUNDS.breakerOpenMs

test('consecutive failures that no content can cause open it, whichever accounts saw them', () => {
  const breaker = newBreaker()

  const verdicts = Array.from({ length: IN_A_ROW }, () => fail(breaker, { cause: 'target', accountId: 'alice' }))

  assert.deepEqual(verdicts, [...Array(IN_A_ROW - 1).fill('stays'), 'opened'])
  assert.equal(breaker.state, 'open')
})

test('a success in between resets the count', () => {
  const breaker = newBreaker()
  for (let i = 0; i < IN_A_ROW - 1; i++) fail(breaker, { cause: 'target' })
  beganWell(breaker, false, 0)

  assert.equal(fail(breaker, { cause: 'target' }), 'stays')
})

test('failures of one account that content may have caused request a probe and never open it, whatever their number', () => {
  fc.assert(
    fc.property(fc.array(fc.boolean(), { minLength: 1, maxLength: 300, size: 'max' }), others => {
      const breaker = newBreaker()
      for (const [i, isOther] of others.entries()) {
        if (isOther) succeed(breaker, i)
        else assert.notEqual(fail(breaker, { cause: 'maybe_content', accountId: 'poisoner' }, i), 'opened')
      }
      assert.equal(breaker.state, 'closed')
      assert.equal(isUnhealthy(breaker, 300, BOUNDS), false)
    }),
  )
  const breaker = newBreaker()
  const verdicts = Array.from({ length: IN_A_ROW }, () => fail(breaker, { cause: 'maybe_content' }))
  assert.equal(verdicts.at(-1), 'ask_probe')
})

test('once other accounts see as many they count, and an account with a thousand counts no more than others', () => {
  const shared = newBreaker()
  const verdicts = Array.from({ length: IN_A_ROW }, (_, i) =>
    fail(shared, { cause: 'maybe_content', accountId: i % 2 === 0 ? 'alice' : 'bob' }),
  )
  const poisoned = newBreaker()
  for (let i = 0; i < 1000; i++) fail(poisoned, { cause: 'maybe_content', accountId: 'poisoner' })
  const unlucky = fail(poisoned, { cause: 'maybe_content', accountId: 'bob' })

  assert.equal(verdicts.at(-1), 'opened')
  assert.equal(unlucky, 'ask_probe')
  assert.equal(poisoned.state, 'closed')
})

test('a 403 opens nothing, however many accounts see it; a probe decides', () => {
  const breaker = newBreaker()

  const verdicts = Array.from({ length: 50 }, (_, i) => fail(breaker, { cause: 'unsure', accountId: `account-${i}` }))

  assert.ok(!verdicts.includes('opened'))
  assert.equal(verdicts.at(-1), 'ask_probe')
})

test('a failed probe opens it, and an answered one clears its failures', () => {
  const breaker = newBreaker()
  for (let i = 0; i < IN_A_ROW; i++) fail(breaker, { cause: 'maybe_content' })

  assert.equal(probed(breaker, undefined, 0, BOUNDS), false)
  assert.equal(fail(breaker, { cause: 'maybe_content' }), 'stays')
  assert.equal(probed(breaker, { retryAfterMs: 0 }, 0, BOUNDS), true)
  assert.equal(breaker.state, 'open')
  assert.equal(probed(breaker, undefined, 0, BOUNDS), true)
  assert.equal(breaker.state, 'closed')
})

test('a failure rate of one half opens it even without consecutive failures; before that others are preferred', () => {
  const breaker = newBreaker()
  const verdicts: Verdict[] = []
  for (let i = 0; i < 40 && breaker.state === 'closed'; i++) {
    if (i === 16) assert.equal(isUnhealthy(breaker, i, BOUNDS), true)
    succeed(breaker, i)
    verdicts.push(fail(breaker, { cause: 'target' }, i))
  }

  assert.equal(verdicts.at(-1), 'opened')
  assert.equal(verdicts.length, BOUNDS.breakerRequestsMin / 2 + 1)
})

test('old failures decay', () => {
  const breaker = newBreaker()
  for (let i = 0; i < 15; i++) {
    succeed(breaker, 0)
    if (i % 3 > 0) fail(breaker, { cause: 'target' }, 0)
  }
  assert.equal(isUnhealthy(breaker, 0, BOUNDS), true)

  assert.equal(isUnhealthy(breaker, 10 * BOUNDS.breakerWindowMs, BOUNDS), false)
})

test('after its time a probe is due, one at a time, and its success closes it', () => {
  const breaker = opened()
  assert.equal(isDue(breaker, OPEN_MS - 1), false)
  assert.equal(isDue(breaker, OPEN_MS), true)

  probing(breaker)
  assert.equal(isDue(breaker, OPEN_MS), false)
  assert.equal(beganWell(breaker, false, OPEN_MS), false, 'one from before it opened closes nothing')
  assert.equal(breaker.state, 'half_open')
  assert.equal(probed(breaker, undefined, OPEN_MS, BOUNDS), true)

  assert.equal(breaker.state, 'closed')
})

test('a successful request that is sent although it is open closes it', () => {
  const breaker = opened()

  assert.equal(beganWell(breaker, true, 0), true)

  assert.equal(breaker.state, 'closed')
})

test('an inconclusive probe allows the next one', () => {
  const breaker = opened()
  probing(breaker)
  inconclusive(breaker)

  assert.equal(isDue(breaker, OPEN_MS), true)
})

test('each failed probe doubles the open time, up to a bound, and a long healthy time resets that', () => {
  const breaker = opened()
  let nowMs = 0
  const waits: number[] = []
  for (let i = 0; i < 5; i++) {
    waits.push(breaker.openUntilMs - nowMs)
    nowMs = breaker.openUntilMs
    probing(breaker)
    probed(breaker, { retryAfterMs: 0 }, nowMs, BOUNDS)
  }
  assert.deepEqual(waits, [5000, 10_000, 20_000, 30_000, 30_000])

  probed(breaker, undefined, breaker.openUntilMs, BOUNDS)
  const later = breaker.openUntilMs + BOUNDS.breakerOpenMsMax + 1
  for (let i = 0; i < IN_A_ROW; i++) fail(breaker, { cause: 'target' }, later)
  assert.equal(breaker.openUntilMs - later, OPEN_MS)
})

test("no caller's failure extends the open time", () => {
  const breaker = opened()
  const untilMs = breaker.openUntilMs

  for (const cause of ['target', 'maybe_content', 'unsure'] as const) {
    assert.equal(fail(breaker, { cause, retryAfterMs: 300_000 }, OPEN_MS), 'stays')
  }

  assert.equal(breaker.openUntilMs, untilMs)
  assert.equal(isDue(breaker, untilMs), true)
})

test('a longer Retry-After of the upstream is respected', () => {
  const breaker = newBreaker()
  for (let i = 0; i < IN_A_ROW; i++) fail(breaker, { cause: 'target', retryAfterMs: 90_000 })

  assert.equal(isDue(breaker, 89_999), false)
  assert.equal(isDue(breaker, 90_000), true)
})

test('it stores a bounded number of accounts under any sequence of events', () => {
  const breaker = newBreaker()
  for (let i = 0; i < 1000; i++) {
    fail(breaker, { cause: 'maybe_content', accountId: `account-${i}` })
    beganWell(breaker, false, 0)
  }

  assert.ok(breaker.suspect.size <= 16)
})

function fail(breaker: Breaker, failure: Partial<BreakerFailure>, nowMs = 0): Verdict {
  const usual = { cause: 'target', accountId: 'alice', retryAfterMs: 0 } as const
  return failed(breaker, { ...usual, ...failure }, nowMs, BOUNDS)
}

function succeed(breaker: Breaker, nowMs: number): void {
  beganWell(breaker, false, nowMs)
  endedWell(breaker, nowMs, BOUNDS)
}

function opened(): Breaker {
  const breaker = newBreaker()
  for (let i = 0; i < IN_A_ROW; i++) fail(breaker, { cause: 'target' })
  return breaker
}
