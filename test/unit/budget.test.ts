// The retry budget: never more than a fifth of the recent requests and the reserve, with a share for each account.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { BOUNDS } from '../../src/config/limits.ts'
import { retryBudget } from '../../src/route/retry-budget.ts'
import { manualClock } from '../support/manual-clock.ts'

const WINDOW_MS = BOUNDS.retryWindowSeconds * 1000

test('over any ten seconds there are at most a fifth of the requests and the reserve', () => {
  const step = fc.record({
    afterMs: fc.nat(1500),
    account: fc.constantFrom('alice', 'bob', 'carol'),
    requests: fc.nat(20),
    tries: fc.nat(10),
  })
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60, size: 'max' }), steps => {
      const { clock, budget } = open()
      const known = new Map(['alice', 'bob', 'carol'].map(id => [id, { id }]))
      const requests: number[] = []
      const retries: number[] = []
      for (const { afterMs, account, requests: came, tries } of steps) {
        clock.advance(afterMs)
        const second = Math.floor(clock.monotonic() / 1000)
        for (let i = 0; i < came; i++) {
          budget.saw(known.get(account) ?? { id: account })
          requests.push(second)
        }
        for (let i = 0; i < tries; i++) {
          if (!budget.take(account)) continue
          retries.push(second)
          // Credit earned when earlier retries were taken may have expired since; twice the window contains all of it.
          const recent = (times: readonly number[], windows: number) =>
            times.filter(at => at > second - windows * BOUNDS.retryWindowSeconds).length
          assert.ok(recent(retries, 1) <= 0.2 * recent(requests, 2) + BOUNDS.retryReserveMax)
        }
      }
    }),
  )
})

test('a single account has the whole reserve and a fifth of its requests', () => {
  const { clock, budget } = open()

  assert.equal(takeAll('alice', budget), 10)
  for (let i = 0; i < 50; i++) budget.saw({ id: 'alice' })
  assert.equal(takeAll('alice', budget), 10)
  clock.advance(WINDOW_MS + 1000)
  assert.equal(takeAll('alice', budget), 10)
})

test('of several accounts none takes more than its share of the reserve, and each keeps what it earned itself', () => {
  const { budget } = open()
  for (const account of ['alice', 'bob']) budget.saw({ id: account })
  for (let i = 0; i < 25; i++) budget.saw({ id: 'bob' })

  assert.equal(takeAll('alice', budget), 5)
  assert.equal(takeAll('bob', budget), 5 + 5)
})

test('an account without recent requests leaves its share to the others', () => {
  const { clock, budget } = open()
  for (const account of ['alice', 'bob']) budget.saw({ id: account })
  clock.advance(BOUNDS.retryAccountSeenMs + 2000)
  budget.saw({ id: 'alice' })
  budget.prune()

  assert.equal(takeAll('alice', budget), 10)
})

test('records of one account share its count, also after it was dropped and came back', () => {
  const { clock, budget } = open()
  const [first, second] = [{ id: 'alice' }, { id: 'alice' }]
  for (const account of [first, second]) budget.saw(account)
  clock.advance(BOUNDS.retryAccountSeenMs + 2000)
  budget.prune()
  budget.saw({ id: 'bob' })

  for (let i = 0; i < 25; i++) budget.saw(i % 2 === 0 ? first : second)

  assert.equal(takeAll('alice', budget), 5 + 5)
})

test('accounts that are no longer seen are dropped again and again', () => {
  const { clock, budget } = open()
  for (const id of ['bob', 'carol']) {
    budget.saw({ id })
    clock.advance(BOUNDS.retryAccountSeenMs + 60_000)
    budget.prune()
  }

  assert.equal(takeAll('alice', budget), 10)
})

test('an account that had to make room for another counts again when it comes back', () => {
  const { budget } = open({ retryAccountsMax: 1 })
  const alice = { id: 'alice' }
  for (const account of [alice, { id: 'bob' }]) budget.saw(account)

  for (let i = 0; i < 50; i++) budget.saw(alice)

  assert.equal(takeAll('alice', budget), 10 + 10)
})

function open(more: { readonly retryAccountsMax?: number } = {}) {
  const clock = manualClock()
  clock.advance(60_000)
  return { clock, budget: retryBudget({ ...BOUNDS, ...more, clock }) }
}

function takeAll(account: string, budget: ReturnType<typeof retryBudget>): number {
  let taken = 0
  while (taken < 1000 && budget.take(account)) taken += 1
  return taken
}
