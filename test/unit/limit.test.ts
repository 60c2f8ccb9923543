// The limits of a key on one node, with a manual clock: midnight, clock jumps, late records of a key, and refusals that
// return what they took.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { keyLimits } from '../../src/admit/rate-limit.ts'
import { type AuthenticatedKey, DAY_MS, dayOf, type KeyControls } from '../../src/domain/key.ts'
import { Refusal } from '../../src/domain/refusal.ts'
import { manualClock } from '../support/manual-clock.ts'

const MIDNIGHT = Date.UTC(2026, 4, 2)
const HOUR = 3_600_000

test('an exhausted day resets at the exact millisecond of midnight', () => {
  const clock = manualClock(MIDNIGHT - 1)
  const limits = keyLimits({ clock, unpaidPerMinuteMin: 600 })
  const caller = bearerOf({ dailyLimit: 5 })
  limits.sawDay(bearerOf({}).key, dayOf(MIDNIGHT - 1), 5)

  const refusal = refusalOf(() => limits.enter(caller, 'models'))
  const before = limits.daily(caller)
  clock.advance(1)
  const after = limits.daily(caller)

  assert.equal(refusal.code, 'daily_limit_exceeded')
  assert.equal(refusal.detail.retryAfter, 1)
  assert.deepEqual([before.used, before.resetSeconds, before.resetsAt], [5, 1, MIDNIGHT])
  assert.deepEqual([after.used, after.resetSeconds, after.resetsAt], [0, DAY_MS / 1000, MIDNIGHT + DAY_MS])
  limits.enter(caller, 'models')
})

test('a clock that jumps two hours back over midnight and forward again resets no day', () => {
  const clock = manualClock(MIDNIGHT + HOUR)
  const limits = keyLimits({ clock, unpaidPerMinuteMin: 600 })
  const caller = bearerOf({ dailyLimit: 5 })
  limits.sawDay(bearerOf({}).key, dayOf(MIDNIGHT), 5)

  for (const jump of [-2 * HOUR, 2 * HOUR]) {
    clock.set(clock.now() + jump)
    const { used, resetsAt } = limits.daily(caller)

    assert.deepEqual([used, resetsAt], [5, MIDNIGHT + DAY_MS])
    assert.equal(refusalOf(() => limits.enter(caller, 'models')).code, 'daily_limit_exceeded')
  }
})

test('a clock jump neither refills the minute nor blocks the key', () => {
  const clock = manualClock(MIDNIGHT)
  const limits = keyLimits({ clock, unpaidPerMinuteMin: 600 })
  const caller = bearerOf({ rpmLimit: 60 })
  for (let i = 0; i < 60; i++) limits.enter(caller, 'models').leave()

  for (const jump of [2 * HOUR, -4 * HOUR]) {
    clock.set(clock.now() + jump)
    assert.equal(refusalOf(() => limits.enter(caller, 'models')).code, 'rate_limit_exceeded')
  }
  clock.advance(1000)

  limits.enter(caller, 'models')
})

test("of the key's record and the reservation's result, the one that knows more counts", () => {
  const clock = manualClock(MIDNIGHT)
  const limits = keyLimits({ clock, unpaidPerMinuteMin: 600 })
  const today = dayOf(MIDNIGHT)

  const fromRecord = limits.daily(bearerOf({}, { day: today, dayCount: 7 })).used
  limits.sawDay(bearerOf({}).key, today, 9)
  limits.sawDay(bearerOf({}).key, today, 8)
  limits.sawDay(bearerOf({}).key, today - 1, 50)
  const fromGate = limits.daily(bearerOf({}, { day: today, dayCount: 7 })).used

  assert.deepEqual([fromRecord, fromGate], [7, 9])
})

test('of two records of a key the newer one has the limit, in any order of arrival', () => {
  const limits = keyLimits({ clock: manualClock(MIDNIGHT), unpaidPerMinuteMin: 600 })
  const [older, newer] = [bearerOf({ rpmLimit: 600 }, { version: 1 }), bearerOf({ rpmLimit: 2 }, { version: 2 })]

  limits.enter(older, 'models')
  limits.enter(newer, 'models')

  assert.equal(limits.rpm(older.key).limit, 2)
  assert.equal(refusalOf(() => limits.enter(older, 'models')).code, 'rate_limit_exceeded')
  assert.equal(refusalOf(() => limits.enter(newer, 'models')).code, 'rate_limit_exceeded')
})

test('a request refused by the daily or the concurrency limit takes no token and no slot', () => {
  const limits = keyLimits({ clock: manualClock(MIDNIGHT), unpaidPerMinuteMin: 600 })
  const caller = bearerOf({ rpmLimit: 10, dailyLimit: 3, maxConcurrent: 1 })
  const { leave, giveBack } = limits.enter(caller, 'models')

  assert.equal(refusalOf(() => limits.enter(caller, 'models')).code, 'concurrency_exceeded')
  limits.sawDay(bearerOf({}).key, dayOf(MIDNIGHT), 3)
  assert.equal(refusalOf(() => limits.enter(caller, 'models')).code, 'daily_limit_exceeded')

  assert.equal(limits.rpm(caller.key).remaining, 9)
  giveBack()
  leave()
  leave()
  assert.deepEqual([limits.rpm(caller.key).remaining, limits.inFlight(caller.key)], [10, 0])
})

test('refusals for credits have their own allowance, which debts extend and time refills', () => {
  const clock = manualClock(MIDNIGHT)
  const limits = keyLimits({ clock, unpaidPerMinuteMin: 60 })
  const caller = bearerOf({ rpmLimit: 10 })
  const chat = () => limits.enter(caller, 'chat.completions').giveBack()
  for (let i = 0; i < 59; i++) limits.wasUnpaid(caller.key)
  chat()
  for (let i = 0; i < 11; i++) limits.wasUnpaid(caller.key)

  const refusal = refusalOf(chat)
  limits.prune()
  const still = refusalOf(chat)
  clock.advance(10_999)
  const later = refusalOf(chat)
  clock.advance(1)
  chat()

  assert.deepEqual([refusal.code, refusal.detail.metadata?.limit], ['rate_limit_exceeded', 'unpaid'])
  assert.deepEqual([refusal.detail.retryAfter, still.detail.retryAfter], [11, 11])
  assert.equal(later.code, 'rate_limit_exceeded')
  assert.equal(limits.unpaidSpent(caller.key), undefined)
})

test('pruning drops only state without information', () => {
  const clock = manualClock(MIDNIGHT)
  const limits = keyLimits({ clock, unpaidPerMinuteMin: 600 })
  const caller = bearerOf({ rpmLimit: 60 })
  for (let i = 0; i < 30; i++) limits.enter(caller, 'models').leave()
  limits.sawDay(bearerOf({}).key, dayOf(MIDNIGHT), 30)

  limits.prune()
  const half = [limits.rpm(caller.key).remaining, limits.daily(caller).used]
  clock.advance(60_000)
  limits.prune()
  const full = [limits.rpm(caller.key).remaining, limits.daily(caller).used]

  assert.deepEqual(
    [half, full],
    [
      [30, 30],
      [60, 30],
    ],
  )
})

test('records of one key share what was counted, also after it was dropped', () => {
  const clock = manualClock(MIDNIGHT)
  const limits = keyLimits({ clock, unpaidPerMinuteMin: 600 })
  const [first, second] = [bearerOf({ rpmLimit: 60 }), bearerOf({ rpmLimit: 60 })]
  for (let i = 0; i < 30; i++) limits.enter(first, 'models').leave()
  const before = limits.rpm(second.key).remaining
  clock.advance(60_000)
  limits.prune()

  for (let i = 0; i < 10; i++) limits.enter(i % 2 === 0 ? first : second, 'models').leave()

  const records = [first, second, bearerOf({ rpmLimit: 60 })]
  assert.equal(before, 30)
  assert.deepEqual(
    records.map(({ key }) => limits.rpm(key).remaining),
    [50, 50, 50],
  )
})

test('what is counted of a key with a request in flight is not dropped', () => {
  const clock = manualClock(MIDNIGHT)
  const limits = keyLimits({ clock, unpaidPerMinuteMin: 600 })
  const caller = bearerOf({ maxConcurrent: 1 })
  const { leave } = limits.enter(caller, 'models')
  clock.advance(3_600_000)

  limits.prune()

  assert.equal(refusalOf(() => limits.enter(bearerOf({ maxConcurrent: 1 }), 'models')).code, 'concurrency_exceeded')
  leave()
  limits.enter(bearerOf({ maxConcurrent: 1 }), 'models')
})

function bearerOf(
  controls: Partial<KeyControls>,
  known: { readonly version?: number; readonly day?: number; readonly dayCount?: number } = {},
): AuthenticatedKey {
  return {
    key: {
      id: 'key_1',
      accountId: 'acct_1',
      name: 'test',
      version: known.version ?? 1,
      scopes: ['models.read'],
      ipAllowlist: [],
      rpmLimit: 300,
      dailyLimit: null,
      creditLimit: null,
      maxConcurrent: 100,
      allowedModels: [],
      tags: {},
      createdAt: 0,
      expiresAt: null,
      expiredAt: null,
      revokedAt: null,
      lastUsedAt: null,
      ...controls,
    },
    label: 'svc_live_…0000',
    secret: { last4: '0000', graceExpiresAt: null, lastUsedAt: null },
    account: { id: 'acct_1', name: 'test', status: 'active' },
    day: known.day ?? 0,
    dayCount: known.dayCount ?? 0,
  }
}

function refusalOf(work: () => unknown): Refusal {
  try {
    work()
  } catch (error) {
    if (error instanceof Refusal) return error
    throw error
  }
  throw new Error('it was not refused')
}

test("a day after tomorrow is not trusted, and a record newer than the reservation's result counts alone", () => {
  const clock = manualClock(MIDNIGHT)
  const limits = keyLimits({ clock, unpaidPerMinuteMin: 600 })
  const today = dayOf(MIDNIGHT)
  const wrong = bearerOf({ dailyLimit: 5 }, { day: today + 30, dayCount: 5 })
  limits.sawDay(wrong.key, today + 30, 5)

  const believed = limits.daily(wrong)
  limits.enter(wrong, 'models')
  limits.sawDay(wrong.key, today + 1, 5)
  const counted = limits.daily(wrong)
  const reset = bearerOf({ dailyLimit: 5 }, { day: today, dayCount: 0 })
  const newer = { ...reset, key: { ...reset.key, version: wrong.key.version + 1 } }

  assert.deepEqual([believed.used, believed.resetsAt], [0, MIDNIGHT + 2 * DAY_MS])
  assert.deepEqual([counted.used, counted.resetsAt], [5, MIDNIGHT + 2 * DAY_MS])
  assert.equal(limits.daily(newer).used, 0)
  limits.enter(newer, 'models')
})
