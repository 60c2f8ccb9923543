// The arithmetic of an account, over any order of holds, settlements and top-ups: nothing is lost, nothing is negative,
// and an account in debt has no available credits.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { decideHold } from '../../src/domain/hold.ts'
import { type AccountBalances, bookCost, type KeyBalances, takeHold } from '../../src/store/billing/balances.ts'
import type { HoldEntry } from '../../src/store/contract/store.ts'

const account = (available: bigint, more: Partial<AccountBalances> = {}): AccountBalances => ({
  available,
  held: 0n,
  spent: 0n,
  owed: 0n,
  ...more,
})
const key = (creditLimit: bigint | null = null): KeyBalances => ({ spent: 0n, held: 0n, creditLimit })
const entry = (more: Partial<HoldEntry> = {}): HoldEntry => ({
  kind: 'hold',
  base: 5_000n,
  baseAtBest: null,
  outputPrice: 1_000n,
  outputTokens: 100,
  outputTokensMin: null,
  priceVersion: 'v',
  price: '{}',
  ...more,
})

const amount = fc.bigInt({ min: 0n, max: 10_000n })
const step = fc.oneof(
  fc.record({
    do: fc.constant('hold' as const),
    base: fc.bigInt({ min: 0n, max: 3_000_000n }),
    outputPrice: fc.bigInt({ min: 0n, max: 50_000n }),
    outputTokens: fc.integer({ min: 1, max: 500 }),
    outputTokensMin: fc.option(fc.constant(1), { nil: null }),
  }),
  fc.record({ do: fc.constant('settle' as const), which: fc.nat(), cost: amount }),
  fc.record({ do: fc.constant('topup' as const), amount }),
)

test('over any history the account adds up, nothing is negative, and credits and debts never coexist', () => {
  fc.assert(
    fc.property(
      amount,
      fc.option(amount, { nil: null }),
      fc.array(step, { maxLength: 60, size: 'max' }),
      (start, limit, steps) => {
        const balances = account(start)
        const mine = key(limit)
        const open: bigint[] = []
        let funded = start
        let charged = 0n

        for (const now of steps) {
          if (now.do === 'hold') {
            const decision = decideHold(entry(now), balances, mine)
            if (decision.kind === 'insufficient_funds') continue
            assert.equal(balances.owed, 0n)
            assert.ok(limit === null || mine.spent + mine.held + decision.hold <= limit)
            takeHold(decision.hold, balances, mine)
            open.push(decision.hold)
          } else if (now.do === 'settle' && open.length > 0) {
            const [hold = 0n] = open.splice(now.which % open.length, 1)
            bookCost(hold, now.cost, balances, mine)
            charged += now.cost
          } else if (now.do === 'topup') {
            // Like the ledger's statement: debts first.
            const net = balances.available - balances.owed + now.amount
            balances.available = net > 0n ? net : 0n
            balances.owed = net < 0n ? -net : 0n
            funded += now.amount
          }

          assert.equal(balances.available + balances.held - balances.owed, funded - charged)
          assert.equal(
            balances.held,
            open.reduce((sum, hold) => sum + hold, 0n),
          )
          assert.deepEqual([mine.held, mine.spent, balances.spent], [balances.held, charged, charged])
          for (const part of Object.values(balances)) assert.ok(part >= 0n)
          assert.ok(balances.available === 0n || balances.owed === 0n)
        }
      },
    ),
  )
})

test('a hold is rounded up once, for prompt and output together', () => {
  const decision = decideHold(entry({ base: 1_400n, outputPrice: 700n, outputTokens: 3 }), account(100n), key())

  assert.deepEqual(decision, { kind: 'fits', hold: 4n, outputTokens: 3 })
})

test('a given maximum is held completely or refused, to the nano-credit', () => {
  const fits = decideHold(entry(), account(105n), key())
  const short = decideHold(entry(), account(104n), key())

  assert.deepEqual(fits, { kind: 'fits', hold: 105n, outputTokens: 100 })
  assert.deepEqual(short, {
    kind: 'insufficient_funds',
    limit: 'account',
    available: 104n,
    required: 105n,
    affordableTokens: 99,
    heldByOthers: false,
  })
})

test('without a maximum a hold takes at most half of the available credits, and the tokens these afford', () => {
  fc.assert(
    fc.property(fc.bigInt({ min: 0n, max: 400n }), available => {
      const decision = decideHold(entry({ outputTokensMin: 20 }), account(available), key())

      if (decision.kind === 'insufficient_funds') {
        assert.ok(available / 2n < 25n)
        assert.equal(decision.required, 50n)
      } else {
        assert.ok(decision.hold <= available / 2n)
        assert.ok(decision.outputTokens === 100 || decision.hold + 1n > available / 2n)
      }
    }),
  )
})

test('the smaller of account and key decides, and the refusal names it', () => {
  const ofKey = decideHold(entry(), account(1_000n), key(50n))
  const ofAccount = decideHold(entry(), account(50n), key(1_000n))

  assert.deepEqual([ofKey.kind, ofKey.kind === 'insufficient_funds' && ofKey.limit], ['insufficient_funds', 'key'])
  assert.deepEqual(
    [ofAccount.kind, ofAccount.kind === 'insufficient_funds' && ofAccount.limit],
    ['insufficient_funds', 'account'],
  )
})

test('credits held by others make a refusal retryable only if account and key would both afford the request then', () => {
  const held = account(50n, { held: 100n })
  const waits = (balances: AccountBalances, mine: KeyBalances) => {
    const decision = decideHold(entry(), balances, mine)
    return decision.kind === 'insufficient_funds' && decision.heldByOthers
  }

  assert.equal(waits(held, key()), true)
  assert.equal(waits(held, { ...key(104n), held: 0n }), false)
  assert.equal(waits(held, { ...key(105n), held: 100n }), true)
  assert.equal(waits(account(50n, { held: 54n }), key()), false)
  assert.equal(waits(account(0n, { held: 500n, owed: 1n }), key()), false)
})

test('an account in debt gets no hold, not even a free one', () => {
  const decision = decideHold(entry({ base: 0n, outputPrice: 0n }), account(0n, { owed: 1n }), key())

  assert.equal(decision.kind, 'insufficient_funds')
})
