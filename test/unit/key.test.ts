// The states of a key and of a secret: active until revoked or expired, and nothing that has ended becomes active
// again.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { DAY_MS, dayOf, GRACE_MS, keyStatus, SECRETS_IN_GRACE_MAX, secretAlive } from '../../src/domain/key.ts'

const NEVER = { revokedAt: null, expiredAt: null, expiresAt: null }
const time = fc.integer({ min: 0, max: 4_000_000_000_000 })
const maybe = fc.option(time)
const key = fc.record({ revokedAt: maybe, expiredAt: maybe, expiresAt: maybe })

test('a key without an expiry is active permanently', () => {
  fc.assert(fc.property(time, now => assert.equal(keyStatus(NEVER, now), 'active')))
})

test('a revoke is final and takes precedence over an expiry, at any time', () => {
  fc.assert(
    fc.property(key, time, time, (any, at, now) => assert.equal(keyStatus({ ...any, revokedAt: at }, now), 'revoked')),
  )
})

test('a key expires at the exact millisecond', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 4_000_000_000_000 }), at => {
      const statuses = [at - 1, at, at + 1].map(now => keyStatus({ ...NEVER, expiresAt: at }, now))

      assert.deepEqual(statuses, ['active', 'expired', 'expired'])
    }),
  )
})

test('a recorded expiry stays, even if the clock jumps back or the date is changed', () => {
  fc.assert(
    fc.property(time, maybe, time, (at, expiresAt, now) => {
      assert.equal(keyStatus({ revokedAt: null, expiredAt: at, expiresAt }, now), 'expired')
    }),
  )
})

test('over time a key never becomes active again', () => {
  fc.assert(
    fc.property(key, time, time, (any, one, other) => {
      const [earlier, later] = [Math.min(one, other), Math.max(one, other)]

      if (keyStatus(any, earlier) !== 'active') assert.equal(keyStatus(any, later), keyStatus(any, earlier))
    }),
  )
})

test('a current secret has no end, an old one works to the last millisecond before its end', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 4_000_000_000_000 }), at => {
      assert.equal(secretAlive({ graceExpiresAt: null }, at), true)
      const alive = [at - 1, at, at + 1].map(now => secretAlive({ graceExpiresAt: at }, now))

      assert.deepEqual(alive, [true, false, false])
    }),
  )
})

test('grace is sixty minutes, for five secrets at once', () => {
  assert.equal(GRACE_MS, 3_600_000)
  assert.equal(SECRETS_IN_GRACE_MAX, 5)
})

test('a day begins and ends at midnight UTC, also before 1970', () => {
  fc.assert(
    fc.property(fc.integer({ min: -50_000, max: 50_000 }), day => {
      const midnight = day * DAY_MS

      assert.deepEqual([midnight - 1, midnight, midnight + DAY_MS - 1].map(dayOf), [day - 1, day, day])
      assert.equal(new Date(midnight).toISOString().slice(11), '00:00:00.000Z')
    }),
  )
})
