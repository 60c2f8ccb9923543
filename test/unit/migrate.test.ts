// A database of an earlier version is migrated to the newest schema with all of its data.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { systemClock } from '../../src/lib/clock.ts'
import { migrationsIn } from '../../src/store/migration-files.ts'
import { APPLICATION_ID, migrate } from '../../src/store/sqlite/migrate.ts'
import { sqliteSql } from '../../src/store/sqlite/sql.ts'
import { billingStatements } from '../../src/store/sqlite/statements.ts'

const GROUND = new URL('../../src/store/sqlite/migrations/0001-ground.sql', import.meta.url)

test('a catalog of the first schema is kept, as its first version, and declared by the file', () => {
  const db = new DatabaseSync(':memory:')
  db.exec(readFileSync(GROUND, 'utf8'))
  db.exec(`PRAGMA application_id = ${APPLICATION_ID}; PRAGMA user_version = 1`)
  db.exec(`INSERT INTO provider (id, spec, provisioned, active) VALUES ('up', '{"kind":"openai"}', 1, 1)`)
  db.exec(`INSERT INTO model (id, spec, price, price_version, created_at, provisioned, active)
           VALUES ('m', '{}', '{}', 'v1', 7, 1, 1)`)

  migrate(db)
  migrate(db)

  const provider = { ...db.prepare('SELECT id, spec, version, entered FROM provider').get() }
  assert.deepEqual(provider, { id: 'up', spec: '{"kind":"openai"}', version: 1, entered: null })
  assert.deepEqual(
    { ...db.prepare('SELECT price_version, version, entered FROM model').get() },
    {
      price_version: 'v1',
      version: 1,
      entered: null,
    },
  )
  assert.deepEqual(db.prepare('SELECT * FROM credential').all(), [])
  assert.ok(Number(db.prepare('PRAGMA user_version').get()?.user_version) >= 2)
})

test('what was spent this month includes what a crash left in the journal', () => {
  const db = new DatabaseSync(':memory:')
  const folder = new URL('../../src/store/sqlite/migrations/', import.meta.url)
  db.enableDefensive(false)
  for (const text of migrationsIn(folder).slice(0, 11)) db.exec(text)
  db.exec(`PRAGMA application_id = ${APPLICATION_ID}; PRAGMA user_version = 11`)
  db.exec(`INSERT INTO account (id, name, status, available, held, spent, owed, created_at) VALUES ('a', 'A', 'active', 900, 0, 60, 0, 1);
    INSERT INTO api_key (id, account_id, name, scopes, ip_allowlist, rpm_limit, max_concurrent, created_at)
      VALUES ('k', 'a', 'K', '[]', '[]', 1, 1, 1);
    INSERT INTO key_balance (key_id, spent, held) VALUES ('k', 60, 0);
    INSERT INTO balance_journal (account_id, key_id, available, held, spent, owed, key_spent, key_held, day, day_count)
      VALUES ('a', 'k', -40, 0, 40, 0, 40, 0, 1, 1)`)
  // 30 in earlier months, 70 in this one, of which 40 are in the journal alone.
  db.exec(`INSERT INTO usage (request_id, account_id, key_id, secret_last4, client_ip, endpoint, stream, state, cost, hold, created_at)
    VALUES ('r1', 'a', 'k', '', '', 'chat.completions', 0, 'settled', 30, 0, 1),
      ('r2', 'a', 'k', '', '', 'chat.completions', 0, 'settled', 70, 0, ${Date.now()})`)

  migrate(db)

  for (const view of ['account_now', 'key_balance_now'])
    assert.deepEqual({ ...db.prepare(`SELECT spent - month_base AS month FROM ${view}`).get() }, { month: 70 })
})

test('sums from before margins are made again where their rows exist, and estimated where they are gone', () => {
  const db = new DatabaseSync(':memory:')
  const folder = new URL('../../src/store/sqlite/migrations/', import.meta.url)
  db.enableDefensive(false)
  for (const text of migrationsIn(folder).slice(0, 15)) db.exec(text)
  db.exec(`PRAGMA application_id = ${APPLICATION_ID}; PRAGMA user_version = 15`)
  db.exec(`INSERT INTO usage_rolled (hour, mark, rolled_mark, dropped) VALUES (1, 4, 4, 2), (2, 7, 7, 0), (3, 0, 0, 0);
    INSERT INTO usage_rolled_total VALUES (1, 4), (2, 7); INSERT INTO usage_rolled_day VALUES (0, 11)`)
  for (const hour of [1, 2])
    for (const [provider, cost, upstream] of [
      ['known', 10, 4],
      ['silent', 20, 0],
      ['', 0, 0],
    ])
      db.exec(`INSERT INTO usage_hour VALUES (${hour}, 'a', 'k', 'm', '${provider}', 'chat.completions', 'completed', '', '',
        3, 0, 0, 0, 0, 0, ${cost}, ${upstream}, 0)`)

  migrate(db)

  const all = (statement: string) =>
    db
      .prepare(statement)
      .all()
      .map(row => Object.values(row))
  const unknown = 'requests_without_upstream_cost, cost_without_upstream_cost'
  assert.deepEqual(all(`SELECT provider, ${unknown} FROM usage_hour WHERE hour = 1 ORDER BY provider`), [
    ['', 0, 0],
    ['known', 0, 0],
    ['silent', 3, 20],
  ])
  // Once each for margins, for the causes of errors and for failovers.
  assert.deepEqual(all('SELECT hour, mark, rolled_mark FROM usage_rolled'), [
    [1, 4, 4],
    [2, 10, 7],
    [3, 0, 0],
  ])
  assert.deepEqual([all('SELECT * FROM usage_rolled_total'), all('SELECT * FROM usage_rolled_day')], [[], []])
})

test('of hours whose rows are gone, only failures of providers get a cause', () => {
  const db = new DatabaseSync(':memory:')
  const folder = new URL('../../src/store/sqlite/migrations/', import.meta.url)
  db.enableDefensive(false)
  const before = migrationsIn(folder).findIndex(text => text.includes('ADD COLUMN caller_errors'))
  for (const text of migrationsIn(folder).slice(0, before)) db.exec(text)
  db.exec(`PRAGMA application_id = ${APPLICATION_ID}; PRAGMA user_version = ${before}`)
  db.exec('INSERT INTO usage_rolled (hour, mark, rolled_mark, dropped) VALUES (1, 4, 4, 2), (2, 7, 7, 0)')
  for (const hour of [1, 2])
    for (const outcome of ['completed', 'refused', 'upstream_failed', 'upstream_broke'])
      db.exec(`INSERT INTO usage_hour VALUES (${hour}, 'a', 'k', 'm', 'p', 'chat.completions', '${outcome}', '', '',
        3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)`)

  migrate(db)

  const errors = db
    .prepare('SELECT hour, outcome FROM usage_hour WHERE provider_errors = 3 AND caller_errors = 0')
    .all()
    .map(row => Object.values(row))
  assert.deepEqual(errors, [
    [1, 'upstream_broke'],
    [1, 'upstream_failed'],
  ])
  assert.deepEqual({ ...db.prepare('SELECT mark FROM usage_rolled WHERE hour = 2').get() }, { mark: 9 })
})

test('states and kinds outside their lists are still refused, and the file is intact', () => {
  const db = new DatabaseSync(':memory:')
  migrate(db)
  const { sql: usage } = db.prepare("SELECT sql FROM sqlite_schema WHERE name = 'usage'").get() as { sql: string }
  const { sql: ledger } = db.prepare("SELECT sql FROM sqlite_schema WHERE name = 'ledger'").get() as { sql: string }
  db.exec(`INSERT INTO account (id, name, created_at) VALUES ('a', 'a', 0)`)
  const insertUsage = (state: string) =>
    db.exec(`INSERT INTO usage (request_id, account_id, key_id, secret_last4, endpoint, stream, state, created_at, client_ip)
             VALUES ('${state}', 'a', 'k', 'abcd', 'chat.completions', 0, '${state}', 0, '::1')`)
  const insertLedger = (kind: string) =>
    db.exec(`INSERT INTO ledger (account_id, id, kind, amount, request_id, created_at)
             VALUES ('a', '${kind}', '${kind}', 1, '${kind}', 0)`)

  for (const state of ['open', 'settled', 'recovered']) insertUsage(state)
  for (const kind of ['topup', 'adjustment', 'charge', 'correction']) insertLedger(kind)

  assert.throws(() => insertUsage('lost'), /CHECK constraint failed/)
  assert.throws(() => insertLedger('gift'), /CHECK constraint failed/)
  assert.doesNotMatch(usage + ledger, / IN \(/)
  assert.deepEqual(
    db
      .prepare('PRAGMA integrity_check')
      .all()
      .map(row => ({ ...row })),
    [{ integrity_check: 'ok' }],
  )
  assert.throws(() => db.exec('PRAGMA writable_schema = ON; DELETE FROM sqlite_schema'), /may not be modified/)
})

// SQLite builds and drops what it calls ephemeral with every run.
test('no writing statement on the hot path makes SQLite build a temporary table', () => {
  const sql = sqliteSql(':memory:', systemClock)
  migrate(sql.db)
  const texts = Object.entries(billingStatements(sql)).map(([name, statement]) => [name, statement.sourceSQL] as const)
  const builders = texts.filter(([, text]) => {
    const steps = sql.db.prepare(`EXPLAIN ${text}`).all()
    return steps.some(({ opcode }) => opcode === 'OpenEphemeral')
  })

  assert.deepEqual(builders, [])
  assert.ok(texts.length > 10)
})
