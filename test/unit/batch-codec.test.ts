// Messages to the store's thread are decoded as they were encoded: every field in its place, in any order of
// operations.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { packOps, packResults, unpackOps, unpackResults } from '../../src/store/billing/batch-codec.ts'
import type { BillingOp } from '../../src/store/billing/transitions.ts'
import type { ReservationRequest, Settlement } from '../../src/store/contract/store.ts'

// No two fields have the same value, so that swapped fields are detected.
const facts: ReservationRequest['facts'] = {
  requestId: 'request',
  clientRequestId: 'client',
  accountId: 'account',
  keyId: 'key',
  secretLast4: 'last',
  endpoint: 'chat.completions',
  clientIp: '192.0.2.1',
  createdAt: 1,
  tags: '{}',
}
const ask = {
  facts,
  keyVersion: 2,
  graceExpiresAt: 3,
  evenIfSuspended: false,
  modelRequested: 'model',
  stream: false,
  isRefusalCounted: true,
}
const bill: Settlement = {
  requestId: 'request',
  outcome: 'completed',
  httpStatus: 4,
  errorCode: 'code',
  errorMessage: 'message',
  errorDetail: 'detail',
  finishReason: 'stop',
  modelServed: 'served',
  provider: 'provider',
  attempts: '[]',
  routing: '[1]',
  tokens: { prompt: 5, cached: 6, cacheWrite: 7, cacheWrite1h: 12, image: 13, audio: 14, completion: 8, reasoning: 9 },
  usageSource: 'upstream',
  cost: 10n,
  upstreamCost: 11n,
  priceVersion: 'version',
  price: 'price',
  firstByteAt: 12,
  finishedAt: 13,
  upstreamId: 'upstream',
}
const OPS: readonly BillingOp[] = [
  {
    do: 'reserve',
    ask: {
      ...ask,
      entry: {
        kind: 'hold',
        base: 14n,
        baseAtBest: 20n,
        outputPrice: 15n,
        outputTokens: 16,
        outputTokensMin: 17,
        priceVersion: 'held version',
        price: 'held price',
      },
    },
  },
  {
    do: 'reserve',
    ask: {
      ...ask,
      entry: {
        kind: 'unbilled',
        outcome: 'refused',
        httpStatus: 18,
        errorCode: 'free code',
        errorMessage: 'free message',
        errorDetail: 'free detail',
      },
    },
  },
  { do: 'settle', bill },
  {
    do: 'log_refusal',
    row: { facts, httpStatus: 19, errorCode: 'noted', errorMessage: 'said', errorDetail: null, requests: 21 },
  },
  { do: 'sweep', live: ['a', 'b'] },
]
const RESULTS = [
  { ok: true, value: { kind: 'reserved', hold: 1n, outputTokens: 2, day: 3, dayCount: 4, balances: null } },
  {
    ok: true,
    value: {
      kind: 'reserved',
      hold: 0n,
      outputTokens: 0,
      day: 5,
      dayCount: 6,
      balances: {
        balance: { available: 7n, held: 8n, spent: 9n, owed: 10n },
        key: { creditLimit: null, spent: 11n, held: 12n },
        spentThisMonth: 13n,
        budgets: [],
      },
    },
  },
  { ok: true, value: { kind: 'key_changed' } },
  { ok: true, value: 'settled' },
  { ok: true, value: 'again' },
  { ok: true, value: 11 },
  { ok: true, value: null },
  { ok: false, error: new Error('away') },
] as const

test('operations are decoded as they were encoded, in any order', () => {
  fc.assert(
    fc.property(fc.array(fc.constantFrom(...OPS), { maxLength: 12 }), ops => {
      assert.deepEqual(unpackOps(structuredClone(packOps(ops))), ops)
    }),
  )
})

test('results are decoded as they were encoded, in any order', () => {
  fc.assert(
    fc.property(fc.array(fc.constantFrom(...RESULTS), { maxLength: 12 }), results => {
      assert.deepEqual(unpackResults(structuredClone(packResults(results))), results)
    }),
  )
})
