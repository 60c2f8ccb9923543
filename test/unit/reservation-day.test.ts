// The reservation's daily count by the clock of the database: a clock that goes back a little starts no second day.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { dayOf } from '../../src/domain/key.ts'
import { applyOp } from '../../src/store/billing/transitions.ts'
import type { AccountRecord, KeyRecord, UnitOfWork } from '../../src/store/billing/unit-of-work.ts'
import type { ReservationRequest } from '../../src/store/contract/store.ts'
import { NO_ERROR } from '../../src/store/contract/store.ts'

const DAY_MS = 86_400_000
const MIDNIGHT = 20_000 * DAY_MS

test('a clock that goes back over midnight and forward again grants no request of the day twice', () => {
  const unit = unitOfWorkOf({ dailyLimit: 3 })
  const times = [
    ...Array<number>(2).fill(MIDNIGHT + 1000),
    MIDNIGHT - 1000,
    ...Array<number>(4).fill(MIDNIGHT - 500),
    MIDNIGHT + 2000,
  ]

  const verdicts = times.map(now => unit.gate(now))

  assert.deepEqual(verdicts, [...Array(3).fill('reserved'), ...Array(5).fill('daily_spent')])
  assert.deepEqual([unit.key.day, unit.key.dayCount], [dayOf(MIDNIGHT), 3])
})

test('the next day starts at zero', () => {
  const unit = unitOfWorkOf({ dailyLimit: 1 })
  const verdicts = [MIDNIGHT - 1, MIDNIGHT - 1, MIDNIGHT, MIDNIGHT].map(now => unit.gate(now))

  assert.deepEqual(verdicts, ['reserved', 'daily_spent', 'reserved', 'daily_spent'])
})

// The part of a transaction that a reservation for a free row needs.
function unitOfWorkOf({ dailyLimit }: { readonly dailyLimit: number }) {
  const account = {
    id: 'acct',
    status: 'active',
    available: 0n,
    held: 0n,
    spent: 0n,
    owed: 0n,
    budgets: [],
    dirty: false,
  }
  const balances = {
    id: 'key',
    version: 1,
    held: 0n,
    spent: 0n,
    creditLimit: null,
    expiresAt: null,
    dead: false,
    budgets: [],
    month: 0,
    monthBase: 0n,
  }
  const key = { ...balances, dailyLimit, day: 0, dayCount: 0, dirty: false } as unknown as KeyRecord
  const facts = { keyId: 'key', accountId: 'acct', createdAt: 0 }
  const entry = { kind: 'unbilled', outcome: 'completed', httpStatus: 200, ...NO_ERROR }
  const rest = { keyVersion: 1, graceExpiresAt: null, evenIfSuspended: false, modelRequested: null, stream: false }
  const ask = { facts, entry, ...rest } as unknown as ReservationRequest
  return {
    key,
    gate(now: number): unknown {
      const unit = {
        now,
        account: () => account as unknown as AccountRecord,
        key: () => key,
        changes: () => undefined,
        insertClosed: () => undefined,
      } as unknown as UnitOfWork
      return (applyOp({ do: 'reserve', ask }, unit) as { readonly kind: string }).kind
    },
  }
}
