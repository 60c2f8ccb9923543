// The cache of open rows: each in one slot, and never one for another.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openRows } from '../../src/store/billing/open-rows.ts'
import type { UsageRecord } from '../../src/store/billing/unit-of-work.ts'

function page(requestId: string): UsageRecord {
  return { requestId, state: 'open', accountId: 'a', keyId: 'k', hold: 1n, cost: 0n, checkpoint: null, createdAt: 0 }
}

test('a row is found by its id until it is removed', () => {
  const rows = openRows<UsageRecord>()
  const row = page('req-00a1')
  rows.remember(row)
  assert.equal(rows.recall('req-00a1'), row)
  assert.equal(rows.recall('req-00a2'), undefined)
  rows.forget('req-00a1')
  assert.equal(rows.recall('req-00a1'), undefined)
})

test('of two rows for one slot the later has it, and they are never confused', () => {
  const rows = openRows<UsageRecord>()
  const later = page('b-00a1')
  rows.remember(page('a-00a1'))
  rows.remember(later)
  assert.equal(rows.recall('a-00a1'), undefined)
  assert.equal(rows.recall('b-00a1'), later)
  rows.forget('a-00a1')
  assert.equal(rows.recall('b-00a1'), later)
})

test('ids that do not end in digits have a slot too', () => {
  const rows = openRows<UsageRecord>()
  const row = page('odd-zzzz')
  rows.remember(row)
  assert.equal(rows.recall('odd-zzzz'), row)
  assert.equal(rows.recall(''), undefined)
})

test('nothing is cached after clear', () => {
  const rows = openRows<UsageRecord>()
  rows.remember(page('req-00a1'))
  rows.remember(page('req-ffff'))
  rows.clear()
  assert.equal(rows.recall('req-00a1'), undefined)
  assert.equal(rows.recall('req-ffff'), undefined)
})
