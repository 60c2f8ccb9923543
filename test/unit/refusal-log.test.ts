// Refusals beyond a key's allowance share a row: it has the tags of the key alone, so that a caller with a new tag in every
// request neither fills the counts nor attributes all of them to its first tag.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openRefusalLog } from '../../src/admit/refusal-log.ts'
import { Refusal } from '../../src/domain/refusal.ts'
import { refusedFields } from '../../src/domain/refused-row.ts'
import type { RefusedRow } from '../../src/store/contract/store.ts'
import { manualClock } from '../support/manual-clock.ts'

test('counted refusals are one row with the tags of their key', () => {
  const rows: RefusedRow[] = []
  const log = openRefusalLog({
    billing: { logRefusal: row => void rows.push(row) },
    clock: manualClock(0),
    refusalRowsPerSecond: 1,
    refusalsCountedForMs: 60_000,
    refusalCountsMax: 10,
    onUnwritten: () => assert.fail('there is room for all'),
  })
  const facts = {
    requestId: 'r',
    clientRequestId: null,
    accountId: 'acct',
    keyId: 'key',
    secretLast4: 'abcd',
    endpoint: 'models',
    clientIp: '::1',
    createdAt: 1,
  } as const

  for (let i = 0; i < 1000; i++) {
    const tags = `{"run":"${i}","team":"search"}`
    log.logRefusal(
      { facts: { ...facts, tags }, ...refusedFields(new Refusal('rate_limit_exceeded')) },
      '{"team":"search"}',
    )
  }
  log.flush()

  assert.deepEqual(
    rows.map(({ facts: { tags }, requests }) => [tags, requests]),
    [
      ['{"run":"0","team":"search"}', undefined],
      ['{"team":"search"}', 999],
    ],
  )
})
