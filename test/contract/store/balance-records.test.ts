// The balance records that the store's thread has in memory on SQLite: what changes drop them, what a batch refuses, and which new
// rows it reports.
import assert from 'node:assert/strict'
import { randomUUIDv7 } from 'node:crypto'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { systemClock } from '../../../src/lib/clock.ts'
import { idHash } from '../../../src/lib/id-hash.ts'
import { sqliteBilling } from '../../../src/store/sqlite/billing.ts'
import { sqliteSql } from '../../../src/store/sqlite/sql.ts'
import { bill, GATE_ENGINES, kindsOf, newKey, openFixture, UNBILLED } from '../../support/billing-stores.ts'

const [sqlite] = GATE_ENGINES
const make = sqlite!.make

test('a request that began before its account was changed is settled on the record that others read since', async () => {
  await using fixture = await openFixture(make, 1000n)
  const { store } = fixture
  const spendable = async (id: string) => {
    const reserved = await store.billing.reserve(fixture.ask(id, { entry: UNBILLED }))
    const { balance, key } = (reserved.kind === 'reserved' && reserved.balances) || assert.fail(reserved.kind)
    return [balance.available, balance.held, balance.spent, key.held, key.spent]
  }
  const reserved = await store.billing.reserve(fixture.ask('r1'))
  const hold = reserved.kind === 'reserved' ? reserved.hold : assert.fail(reserved.kind)
  const credits = { id: randomUUIDv7(), accountId: 'acct', amount: 500n, note: null, idempotencyKey: 'twice' }
  await store.accounts.addCredits(credits, { name: 'test', address: 'local' })

  const before = await spendable('r2')
  await store.billing.settle(bill('r1', { prompt: 10 }))
  const after = await spendable('r3')

  assert.ok(hold > 0n)
  assert.deepEqual(before, [1500n - hold, hold, 0n, hold, 0n])
  assert.deepEqual(after, [1490n, 0n, 10n, 0n, 10n])
})

test('records of accounts that are used once each do not accumulate, whether they change or not', async () => {
  await using fixture = await openFixture(make, 1000n)
  const actor = { name: 'test', address: 'local' }
  const tenants = Array.from({ length: 40 }, (_, i) => ({ accountId: `a${i}`, keyId: `k${i}` }))
  for (const { accountId, keyId } of tenants) {
    await fixture.store.accounts.create({ id: accountId, name: accountId }, actor)
    await fixture.store.keys.create({ ...newKey(keyId), accountId }, actor)
  }
  const sql = sqliteSql(fixture.url, systemClock)
  const billing = sqliteBilling(sql, 'first', { recordsMax: 8, journalMax: 6 })
  const ask = (entry: object) => (tenant: (typeof tenants)[number]) => {
    const request = fixture.ask(`request of ${tenant.keyId}`, entry)
    return billing.commit([{ do: 'reserve', ask: { ...request, facts: { ...request.facts, ...tenant } } }])
  }
  const inMemory = () => tenants.filter(({ keyId }) => billing.knownKey(keyId) !== undefined).length

  const poor = tenants.slice(0, 20).map(ask({}))
  const afterRefusals = inMemory()
  const free = tenants.slice(20).map(ask({ entry: UNBILLED }))

  assert.deepEqual([afterRefusals <= 8, inMemory() <= 8, entries(fixture.url) < 6], [true, true, true])
  assert.deepEqual(kindsOf(poor), ['insufficient_funds'])
  assert.deepEqual(kindsOf(free), ['reserved'])
  billing.writeBack()
  sql.close()
})

test('keys and accounts whose ids end alike have balances of their own', async () => {
  await using fixture = await openFixture(make, 1000n)
  const { store } = fixture
  const actor = { name: 'test', address: 'local' }
  const tenants = ['a', 'b', 'c'].map(start => ({ accountId: `${start}-same-account`, keyId: `${start}-same-key` }))
  assert.equal(new Set(tenants.flatMap(({ accountId, keyId }) => [idHash(accountId), idHash(keyId)])).size, 2)
  for (const [i, { accountId, keyId }] of tenants.entries()) {
    await store.accounts.create({ id: accountId, name: accountId }, actor)
    const credits = { id: randomUUIDv7(), accountId, amount: 1000n, note: null, idempotencyKey: String(i) }
    await store.accounts.addCredits(credits, actor)
    await store.keys.create({ ...newKey(keyId), accountId }, actor)
  }

  for (const round of [1, 2]) {
    for (const [i, tenant] of tenants.entries()) {
      const request = fixture.ask(`${i}-${round}`)
      await store.billing.reserve({ ...request, facts: { ...request.facts, ...tenant } })
    }
    for (const i of tenants.keys()) await store.billing.settle(bill(`${i}-${round}`, { prompt: 10 ** i }))
  }

  const spent = await Promise.all(
    tenants.map(async ({ accountId }) => (await store.accounts.get(accountId))?.balance.spent),
  )
  assert.deepEqual(spent, [2n, 20n, 200n])
})

test('the ids of new rows are reported once: of holds, of closed rows and of refusals, not of rows that failed', async () => {
  await using fixture = await openFixture(make, 150n)
  const sql = sqliteSql(fixture.url, systemClock)
  const billing = sqliteBilling(sql, 'first')
  const op = (id: string, change: object) => ({ do: 'reserve' as const, ask: fixture.ask(id, change) })

  const first = billing.commit([op('hold', {}), op('closed', { entry: UNBILLED }), op('refused', {})])
  const taken = billing.takeInserted()
  const second = billing.commit([op('other', { entry: UNBILLED }), op('hold', { entry: UNBILLED })])
  const [later, nothing] = [billing.takeInserted(), billing.takeInserted()]
  billing.commit([{ do: 'settle', bill: bill('hold', { prompt: 1 }) }])
  billing.writeBack()
  sql.close()

  assert.deepEqual(kindsOf(first.map(result => [result])), ['reserved', 'insufficient_funds'])
  assert.deepEqual(
    second.map(({ ok }) => ok),
    [true, false],
  )
  assert.deepEqual(taken, ['hold', 'closed', 'refused'])
  assert.deepEqual(
    later.filter(id => id !== 'hold'),
    ['other'],
  )
  assert.deepEqual(nothing, [])
})

for (const [owner, statement] of [
  ['acct', 'UPDATE account SET held = 0'],
  ['key', 'UPDATE key_balance SET held = 0'],
  ['a month of key', 'UPDATE budget_window SET held = 0'],
] as const) {
  test(`a settlement that would leave a balance of ${owner} below zero is refused, and only it`, async () => {
    await using fixture = await openFixture(make, 1000n)
    const { store } = fixture
    const budgets = [{ amount: 1000n, window: 'month', action: 'block', thresholds: [] }] as const
    const key = await store.keys.update('key', { budgets }, { name: 'test', address: 'local' })
    const keyVersion = typeof key === 'object' ? key.version : assert.fail(key)
    await store.billing.reserve(fixture.ask('r1', { keyVersion }))
    await fixture.plant(statement)

    const [settled, reserved] = await Promise.allSettled([
      store.billing.settle(bill('r1', { prompt: 10 })),
      store.billing.reserve(fixture.ask('r2', { keyVersion, entry: UNBILLED })),
    ])

    assert.match(String(settled.status === 'rejected' && settled.reason), new RegExp(`${owner} would be below zero`))
    assert.equal(reserved.status === 'fulfilled' && reserved.value.kind, 'reserved')
  })
}

function entries(path: string): number {
  using db = new DatabaseSync(path)
  return Number(db.prepare('SELECT COUNT(*) AS n FROM balance_journal').get()?.n)
}
