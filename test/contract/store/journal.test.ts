// The journal of balances on SQLite: a balance is what is stored plus its journal, for every reader and after every interruption.

import assert from 'node:assert/strict'
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { DAY_MS } from '../../../src/domain/key.ts'
import { HOUR_MS } from '../../../src/domain/usage.ts'
import { type Clock, systemClock } from '../../../src/lib/clock.ts'
import { auditDatabase } from '../../../src/store/audit/audit.ts'
import { idAt } from '../../../src/store/sql/time-order.ts'
import { sqliteBilling } from '../../../src/store/sqlite/billing.ts'
import { sqliteSql } from '../../../src/store/sqlite/sql.ts'
import { openSqlite } from '../../../src/store/sqlite/sqlite.ts'
import { bill, GATE_ENGINES, kindsOf, openFixture, UNBILLED } from '../../support/billing-stores.ts'
import { temporaryFolder } from '../../support/folder.ts'
import { manualClock } from '../../support/manual-clock.ts'
import { until } from '../../support/until.ts'

const [sqlite] = GATE_ENGINES
const make = sqlite!.make
const WAL_HEADER = 32
const WAL_FRAME = 24 + 4096

test('another connection reads the balance of this instant, before and after a write-back', async () => {
  await using fixture = await openFixture(make, 1000n)
  await fixture.store.billing.reserve(fixture.ask('r1'))
  const held = balances(fixture.url)
  await fixture.store.billing.settle(bill('r1', { prompt: 10 }))

  const settled = balances(fixture.url)
  await until('the journal is applied', async () => entries(fixture.url) === 0)

  assert.deepEqual(held, { available: 900n, held: 100n, spent: 0n, keyHeld: 100n, keySpent: 0n, dayCount: 1n })
  assert.deepEqual(settled, { available: 990n, held: 0n, spent: 10n, keyHeld: 0n, keySpent: 10n, dayCount: 1n })
  assert.deepEqual(balances(fixture.url), settled)
  assert.deepEqual(await fixture.balance(), { available: 990n, held: 0n, spent: 10n, owed: 0n })
})

test('operators find and change the balance of this instant', async () => {
  await using fixture = await openFixture(make, 1000n)
  const { store } = fixture
  const actor = { name: 'test', address: 'local' }
  const add = (amount: bigint, id: string) =>
    store.accounts.addCredits({ id, accountId: 'acct', amount, note: null, idempotencyKey: id }, actor)
  await store.billing.reserve(fixture.ask('r1'))

  assert.equal(await add(-901n, '01900000-0000-7000-8000-000000000001'), 'too_low', '100 of 1000 are held')
  await add(-900n, '01900000-0000-7000-8000-000000000002')
  const short = await store.billing.reserve(fixture.ask('r2'))
  await add(100n, '01900000-0000-7000-8000-000000000003')
  const enough = await store.billing.reserve(fixture.ask('r3'))
  await store.accounts.update('acct', { status: 'suspended' }, actor)
  const suspended = await store.billing.reserve(fixture.ask('r4'))
  for (const id of ['r1', 'r3']) await store.billing.settle(bill(id, { prompt: 10 }))

  assert.deepEqual([short.kind, enough.kind, suspended.kind], ['insufficient_funds', 'reserved', 'suspended'])
  assert.deepEqual(await fixture.balance(), { available: 180n, held: 0n, spent: 20n, owed: 0n })
})

test('a key that is revoked while its balance is in the journal keeps what it spent, and its open request is settled', async () => {
  await using fixture = await openFixture(make, 1000n)
  const { store } = fixture
  const actor = { name: 'test', address: 'local' }
  await store.billing.reserve(fixture.ask('r1'))
  assert.equal(entries(fixture.url), 1)

  await store.keys.revoke('key', actor)
  const refused = await store.billing.reserve(fixture.ask('r2'))
  await store.billing.settle(bill('r1', { prompt: 10 }))

  assert.equal(refused.kind, 'key_changed')
  assert.deepEqual(await fixture.balance(), { available: 990n, held: 0n, spent: 10n, owed: 0n })
  assert.equal(balances(fixture.url).keySpent, 10n)
})

test('after a power cut at any frame of the log, and of the replay, every balance equals its rows', async () => {
  await using fixture = await openFixture(make, 10_000n)
  await using folder = await temporaryFolder()
  const { store } = fixture
  const base = join(folder.path, 'base.db')
  copyFileSync(fixture.url, base)
  const skipped = framesOf(`${fixture.url}-wal`)
  for (let i = 0; i < 6; i++) {
    await store.billing.reserve(fixture.ask(`open-${i}`))
    await store.billing.reserve(fixture.ask(`r${i}`))
    if (i % 2 === 1) await store.keys.markEnds()
    await store.billing.settle(bill(`r${i}`, { prompt: i + 1 }))
  }
  const log = readFileSync(`${fixture.url}-wal`)
  const frames = framesOf(`${fixture.url}-wal`)
  for (let i = 0; i < 6; i++) await store.billing.settle(bill(`open-${i}`, { prompt: 1 }))

  assert.ok(frames - skipped > 30, `${frames - skipped} frames`)
  for (let frame = skipped; frame <= frames; frame++) {
    const path = join(folder.path, `cut-${frame}.db`)
    cut(base, log, frame, path)
    startOn(path)
    assert.deepEqual(brokenIn(path), [], `cut at frame ${frame} of ${frames}`)
  }

  // The journal has entries at the last cut; its replay is cut in turn.
  const replayed = join(folder.path, 'replayed.db')
  cut(base, log, frames, replayed)
  assert.ok(entries(replayed) > 0)
  const started = openBilling(replayed)
  const replay = readFileSync(`${replayed}-wal`)
  for (let frame = frames; frame <= framesOf(`${replayed}-wal`); frame++) {
    const path = join(folder.path, `replay-${frame}.db`)
    cut(base, replay, frame, path)
    startOn(path)
    assert.deepEqual(brokenIn(path), [], `cut at frame ${frame} of the replay`)
  }
  started.sql.close()
})

for (const days of [-40, 400]) {
  test(`a clock that jumps by ${days} days between journal and replay changes no balance`, async () => {
    await using fixture = await openFixture(make, 1000n)
    await using folder = await temporaryFolder()
    for (const id of ['open', 'settled']) await fixture.store.billing.reserve(fixture.ask(id))
    await fixture.store.billing.settle(bill('settled', { prompt: 10 }))
    const path = join(folder.path, 'killed.db')
    for (const end of ['', '-wal']) copyFileSync(fixture.url + end, path + end)
    await fixture.store.billing.settle(bill('open', { prompt: 1 }))
    const before = balances(path)

    assert.ok(entries(path) > 0)
    const { sql, billing } = openBilling(path, manualClock(Date.now() + days * DAY_MS))
    const [left, replayed] = [entries(path), balances(path)]
    billing.commit([{ do: 'sweep', live: [] }])
    const later = fixture.ask('later')
    const createdAt = sql.now()
    const [next] = billing.commit([{ do: 'reserve', ask: { ...later, facts: { ...later.facts, createdAt } } }])
    billing.commit([{ do: 'settle', bill: bill('later', { prompt: 5 }) }])
    billing.writeBack()
    const { available, held, spent, keySpent } = balances(path)
    sql.close()

    assert.equal(left, 0)
    assert.deepEqual(replayed, before)
    assert.deepEqual(kindsOf([[next]]), ['reserved'])
    assert.deepEqual([available, held, spent, keySpent], [985n, 0n, 15n, 15n])
    // Only the count of the day follows the clock.
    assert.deepEqual(
      brokenIn(path).filter(finding => !finding.startsWith('I14 ')),
      [],
    )
  })
}

test('a balance that another process has changed is read again, and both changes count', async () => {
  await using fixture = await openFixture(make, 1000n)
  const { store } = fixture
  await store.billing.reserve(fixture.ask('r1'))

  // While the change of the reservation is in the journal alone.
  assert.equal(entries(fixture.url), 1)
  change(fixture.url, `UPDATE account SET available = available - 850 WHERE id = 'acct'`)
  change(fixture.url, `UPDATE ledger SET amount = amount - 850 WHERE kind = 'topup'`)
  const short = await store.billing.reserve(fixture.ask('r2'))
  await store.billing.settle(bill('r1', { prompt: 10 }))

  assert.equal(short.kind, 'insufficient_funds')
  assert.deepEqual(await fixture.balance(), { available: 140n, held: 0n, spent: 10n, owed: 0n })
})

test('a process that keeps changing the database is reported once, not with every batch', async () => {
  await using fixture = await openFixture(make, 1000n)
  const warnings: string[] = []
  const onWarning = (warning: string) => warnings.push(warning)
  const store = await openSqlite({ path: fixture.url, owner: 'warned', onWarning })

  for (let i = 0; i < 5; i++) {
    change(fixture.url, `UPDATE account SET name = 'changed ${i}'`)
    await store.billing.settle(bill('nobody', {}))
  }
  await store.close()

  assert.deepEqual(warnings, ['another process has changed the database; balances are read again'])
})

test('a journal that cannot be applied refuses everything, and is kept', async () => {
  await using fixture = await openFixture(make, 1000n)
  const { store } = fixture
  await store.billing.reserve(fixture.ask('r1'))
  change(fixture.url, `UPDATE account SET available = 50 WHERE id = 'acct'`)

  await assert.rejects(store.billing.reserve(fixture.ask('r2')), /CHECK constraint failed/)
  assert.equal(entries(fixture.url), 1)
  change(fixture.url, `UPDATE account SET available = 1000 WHERE id = 'acct'`)
  await store.billing.settle(bill('r1', { prompt: 10 }))

  assert.deepEqual(await fixture.balance(), { available: 990n, held: 0n, spent: 10n, owed: 0n })
})

test('hours that another process has claimed are marked by the next row of theirs', async () => {
  await using fixture = await openFixture(make, 1000n)
  const { store } = fixture
  const hour = Math.floor(Date.now() / DAY_MS - 2) * DAY_MS
  const rowAt = (requestId: string, createdAt: number) => {
    const request = fixture.ask(requestId, { entry: UNBILLED })
    return store.billing.reserve({ ...request, facts: { ...request.facts, requestId, createdAt } })
  }
  await rowAt(idAt(hour), hour)
  const other = await fixture.another()
  for (let more = true; more; ) more = (await other.maintenance.rollUp(0)).more

  await rowAt(idAt(hour + 1), hour + 1)

  const { mark, rolled_mark: rolled } = ask(fixture.url, `SELECT * FROM usage_rolled WHERE hour = ${hour / HOUR_MS}`)
  assert.notEqual(mark, rolled)
})

for (const [table, column, id] of [
  ['account', 'id', 'acct'],
  ['key_balance', 'key_id', 'key'],
] as const) {
  test(`a journal with entries of a deleted row of ${table} refuses everything, and is kept`, async () => {
    await using fixture = await openFixture(make, 1000n)
    const { store } = fixture
    await store.billing.reserve(fixture.ask('r1'))
    change(
      fixture.url,
      `PRAGMA foreign_keys = OFF; CREATE TABLE kept AS SELECT * FROM ${table};
      DELETE FROM ${table} WHERE ${column} = '${id}'`,
    )

    await assert.rejects(store.billing.reserve(fixture.ask('r2')), /balance journal .* unknown account or key/)
    assert.equal(entries(fixture.url), 1)
    change(fixture.url, `INSERT INTO ${table} SELECT * FROM kept; DROP TABLE kept`)
    await store.billing.settle(bill('r1', { prompt: 10 }))

    assert.deepEqual(await fixture.balance(), { available: 990n, held: 0n, spent: 10n, owed: 0n })
  })
}

function openBilling(path: string, clock: Clock = systemClock) {
  const sql = sqliteSql(path, clock)
  return { sql, billing: sqliteBilling(sql, 'second') }
}

// As a start does: the journal is replayed, then the rows of the dead process are recovered.
function startOn(path: string): void {
  const { sql, billing } = openBilling(path)
  billing.commit([{ do: 'sweep', live: [] }])
  billing.writeBack()
  sql.close()
}

function brokenIn(path: string): readonly string[] {
  const { findings } = auditDatabase(path, { idle: true, now: Date.now() })
  return findings.filter(({ broken }) => broken > 0).map(({ invariant, examples }) => `${invariant} ${examples}`)
}

function cut(base: string, log: Uint8Array, frames: number, path: string): void {
  copyFileSync(base, path)
  writeFileSync(`${path}-wal`, log.subarray(0, WAL_HEADER + frames * WAL_FRAME))
}

function framesOf(path: string): number {
  return Math.floor((readFileSync(path).length - WAL_HEADER) / WAL_FRAME)
}

function change(path: string, statement: string): void {
  using db = new DatabaseSync(path)
  db.exec(statement)
}

function ask(path: string, statement: string): Record<string, unknown> {
  using db = new DatabaseSync(path, { readBigInts: true })
  return db.prepare(statement).get() ?? {}
}

const entries = (path: string) => Number(ask(path, 'SELECT COUNT(*) AS n FROM balance_journal').n)

function balances(path: string) {
  const { ...row } = ask(
    path,
    `SELECT a.available, a.held, a.spent, b.held AS keyHeld, b.spent AS keySpent, b.day_count AS dayCount
     FROM account_now a, key_balance_now b`,
  )
  return row
}
