// Damage that only a recount reveals, planted on every engine in a ledger that a store wrote itself: the audit names
// the broken invariant each time, and none before.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { NO_ERROR } from '../../../src/store/contract/store.ts'
import { bill, checkpoint, GATE_ENGINES, type GateEngine, openFixture } from '../../support/billing-stores.ts'

const DAY = 86_400_000

const PLANTS: readonly (readonly [what: string, statement: string, invariants: readonly string[]])[] = [
  [
    'eight counted rows of a key with a limit of one and a counter of one',
    'UPDATE api_key SET daily_limit = 1; UPDATE key_balance SET day_count = 1',
    ['I14'],
  ],
  [
    'eight counted rows on an earlier day of a key with a limit of one',
    `UPDATE api_key SET daily_limit = 1; UPDATE key_balance SET day_count = 0;
     UPDATE usage SET created_at = created_at - ${DAY}, finished_at = finished_at - ${DAY}`,
    ['I14'],
  ],
  ['a counter that is one too low', 'UPDATE key_balance SET day_count = day_count - 1', ['I14']],
  ['a counter that is one too high', 'UPDATE key_balance SET day_count = day_count + 1', ['I14']],
  ['a counter of an earlier day than the rows', 'UPDATE key_balance SET day = day - 1, day_count = 0', ['I14']],
  ['a deleted row that cost nothing', "DELETE FROM usage WHERE request_id = 'free'", ['I14']],
  ['a deleted failed request that cost nothing', "DELETE FROM usage WHERE request_id = 'failed'", ['I14']],
  ['a refusal marked as counted', "UPDATE usage SET error_code = 'invalid_json' WHERE request_id = 'short'", ['I14']],
  [
    'a closed row whose hold was not released',
    'UPDATE account SET available = available - 100, held = 100; UPDATE key_balance SET held = 100',
    ['I2', 'I4', 'I9'],
  ],
  ['a hold of a row that never had one', "UPDATE usage SET hold = 5 WHERE request_id = 'free'", ['I4']],
  ['a price version that no model had', "UPDATE usage SET price_version = 'v9' WHERE request_id = 'paid'", ['prices']],
  ['a price version of another model', "UPDATE price SET model_id = 'other'", ['prices']],
  [
    'a price that is not that of its version',
    `UPDATE price SET price = replace(price, '"0.000000001"', '"0.000000007"')`,
    ['prices'],
  ],
  ['a price without its version', "UPDATE usage SET price_version = NULL WHERE request_id = 'paid'", ['prices']],
  ['a top-up that takes credits', "UPDATE ledger SET kind = 'topup' WHERE kind = 'adjustment'", ['signs']],
  ['an adjustment that gives credits', "UPDATE ledger SET kind = 'adjustment' WHERE kind = 'topup'", ['signs']],
  ['an account that has spent less than its rows', 'UPDATE account SET spent = spent - 1', ['I1', 'I13', 'budgets']],
  [
    'a request that was corrected twice',
    `UPDATE ledger SET amount = amount - 1 WHERE kind = 'correction';
     INSERT INTO ledger (account_id, id, kind, amount, request_id, created_at)
       VALUES ('acct', 'again', 'correction', 1, 'paused', 1)`,
    ['I5', 'I7'],
  ],
  [
    'a correction of nothing',
    `INSERT INTO ledger (account_id, id, kind, amount, request_id, created_at)
       VALUES ('acct', 'again', 'correction', 0, 'paid', 1)`,
    ['I7', 'signs'],
  ],
]

for (const { engine, make } of GATE_ENGINES) {
  test(`${engine}: the audit finds nothing in a correct ledger`, async () => {
    await using fixture = await openBusyFixture(make)

    assert.equal((await fixture.balance()).held, 0n)
  })

  for (const [what, statement, invariants] of PLANTS) {
    test(`${engine}: the audit detects ${what}`, async () => {
      await using fixture = await openBusyFixture(make)

      assert.deepEqual(await fixture.plant(statement), invariants)
    })
  }
}

// Eight requests that count: one paid, one failed, one whose owner was only paused, and five free ones; one refused for
// lack of credits, which does not count.
async function openBusyFixture(make: GateEngine['make']) {
  const fixture = await openFixture(make, 10_000n)
  const { billing, accounts } = fixture.store
  const free = { kind: 'unbilled', outcome: 'completed', httpStatus: 200, ...NO_ERROR } as const
  await accounts.addCredits(
    { id: 'taken', accountId: 'acct', amount: -10n, note: null, idempotencyKey: 'twice' },
    { name: 'test', address: 'local' },
  )
  await billing.reserve(fixture.ask('paid'))
  await billing.settle(bill('paid', { prompt: 10, completion: 5 }))
  await billing.reserve(fixture.ask('failed'))
  await billing.settle(
    bill('failed', {}, { outcome: 'upstream_failed', modelServed: null, provider: null, httpStatus: 502 }),
  )
  await billing.reserve(fixture.ask('paused'))
  billing.checkpoint(checkpoint('paused', { prompt: 3 }))
  await billing.sweep([])
  await billing.settle(bill('paused', { prompt: 10, completion: 9 }))
  for (const id of ['free', 'free2', 'free3', 'free4', 'free5']) await billing.reserve(fixture.ask(id, { entry: free }))
  const entry = { ...fixture.ask('short').entry, base: 1_000_000_000_000n } as ReturnType<typeof fixture.ask>['entry']
  await billing.reserve(fixture.ask('short', { entry }))
  // Near midnight it is not certain on which day a request counts.
  await fixture.tamper(
    `UPDATE usage SET created_at = created_at / ${DAY} * ${DAY} + ${DAY / 2}, finished_at = created_at / ${DAY} * ${DAY} + ${DAY / 2}`,
  )
  return fixture
}
