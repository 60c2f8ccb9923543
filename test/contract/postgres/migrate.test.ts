// The contract of Postgres migrations: rows of the first schema are complete after the last, and a node of an older
// version may start on a newer schema unless that schema forbids it.
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import pg from 'pg'
import { DAY_MS } from '../../../src/domain/key.ts'
import { systemClock } from '../../../src/lib/clock.ts'
import { auditPostgres } from '../../../src/store/audit/postgres.ts'
import { migratePostgres, servesFrom } from '../../../src/store/postgres/migrate.ts'
import { openPostgres } from '../../../src/store/postgres/postgres.ts'
import { openPostgresSql } from '../../../src/store/postgres/sql.ts'
import { idAt } from '../../../src/store/sql/time-order.ts'
import { bill, PRICE } from '../../support/billing-stores.ts'
import { freshSchema, hasPostgres } from '../../support/postgres.ts'

const FOLDER = new URL('../../../src/store/postgres/migrations-postgres/', import.meta.url)
const FILES = readdirSync(FOLDER).sort()
const NEWEST = FILES.length

test('every migration states the oldest schema version whose code may serve on it, and none a later one than its own', () => {
  for (const [index, file] of FILES.entries()) {
    const oldest = servesFrom(textOf(file))

    assert.ok(oldest >= 1 && oldest <= index + 1, file)
  }
  assert.throws(() => servesFrom('CREATE TABLE a (b BIGINT);'), /does not say from which schema on/)
})

if (hasPostgres()) {
  test('rows of the first schema are complete after the last migration, in their partitions, and the ledger balances', async () => {
    await using schema = await freshSchema()
    await using db = await connected(schema.url)
    const ids = await fillFirstSchema(db.query)

    const store = await openPostgres({ url: schema.url, owner: 'new', clock: systemClock, leaseMs: 0 })

    const placed = async () => {
      const rows = await db.query('SELECT request_id, tableoid::regclass::text AS place FROM usage')
      return new Map(rows.map(row => [row.request_id, row.place]))
    }
    assert.deepEqual(
      await placed(),
      new Map([
        [ids.old, 'usage_ground'],
        [ids.open, 'usage_ground'],
        [ids.ahead, 'usage_rest'],
      ]),
    )
    await store.maintenance.ensurePartitions()
    assert.match(String((await placed()).get(ids.ahead)), /^usage_\d{4}_\d\d$/)
    assert.equal(await store.billing.sweep([]), 1)
    assert.equal((await store.usage.get(ids.open))?.state, 'recovered')
    assert.deepEqual((await store.usage.get(ids.old))?.cost, 50n)
    assert.equal((await store.keys.get('key'))?.name, 'old key')
    const balance = (await store.accounts.get('acct'))?.balance
    assert.deepEqual([balance?.available, balance?.held, balance?.spent], [950n, 0n, 50n])
    assert.equal(await store.billing.settle(bill(ids.old, { prompt: 9 })), 'again')
    await store.close()
    const report = await auditPostgres(schema.url, { idle: true, now: Date.now() })
    assert.ok(report.ok, JSON.stringify(report))
  })

  test('a database migrated from the first schema equals a new one', async () => {
    await using before = await freshSchema()
    await using empty = await freshSchema()
    await using old = await connected(before.url)
    await fillFirstSchema(old.query)

    const [, fresh] = await Promise.all([before, empty].map(({ url }) => migrate(url)))

    await using young = await connected(empty.url)
    for (const question of [COLUMNS, INDEXES]) assert.deepEqual(await old.query(question), await young.query(question))
    assert.deepEqual(
      fresh?.map(row => [Number(row.version), Number(row.serves_from)]),
      FILES.map((file, i) => [i + 1, servesFrom(textOf(file))]),
    )
  })

  test('the audit reads a schema that has everything it checks, and refuses an older one with an instruction', async () => {
    await using schema = await freshSchema()
    await using db = await connected(schema.url)
    await db.query('CREATE TABLE turnpike_schema (version BIGINT PRIMARY KEY, migrated_at TIMESTAMPTZ)')

    for (const [index, file] of FILES.entries()) {
      await db.query(textOf(file))
      await db.query(`INSERT INTO turnpike_schema VALUES (${index + 1}, now())`)
      const audited = auditPostgres(schema.url, { idle: true, now: Date.now() })
      if (index + 1 === NEWEST) assert.ok((await audited).ok)
      else {
        const why = await audited.catch((error: Error) => error)
        const isRefused = why instanceof Error && /older version .*start this version once/.test(why.message)
        assert.ok(isRefused || !(why instanceof Error), `schema ${index + 1}: ${String(why)}`)
      }
    }
  })

  for (const [what, servesFrom, isTaken] of [
    ['serves this version too', String(NEWEST), true],
    ['serves only newer ones', String(NEWEST + 1), false],
    ['does not state a version', 'NULL', false],
  ] as const) {
    test(`a newer schema that ${what} is ${isTaken ? 'served' : 'refused'}, and left unchanged`, async () => {
      await using schema = await freshSchema()
      await migrate(schema.url)
      await using db = await connected(schema.url)
      await db.query(
        `INSERT INTO turnpike_schema VALUES (${NEWEST + 1}, now(), 1), (${NEWEST + 2}, now(), ${servesFrom})`,
      )

      const again = migrate(schema.url)

      if (isTaken) assert.equal((await again).length, NEWEST + 2)
      else await assert.rejects(again, new RegExp(`from a newer version of Turnpike \\(schema ${NEWEST + 2}, this`))
      await assert.rejects(migrate(schema.url, 'a move'), /from a newer version/)
    })
  }
}

const COLUMNS = `SELECT table_name, column_name, data_type, is_nullable, column_default FROM information_schema.columns
  WHERE table_schema = current_schema() ORDER BY 1, 2`
const INDEXES = `SELECT tablename, indexname FROM pg_indexes WHERE schemaname = current_schema() ORDER BY 1, 2`

function textOf(file: string): string {
  return readFileSync(new URL(file, FOLDER), 'utf8')
}

type Rows = readonly Readonly<Record<string, unknown>>[]
type Query = (text: string) => Promise<Rows>

async function connected(url: string) {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  const query: Query = async text => (await client.query<Record<string, unknown>>(text)).rows
  return { query, [Symbol.asyncDispose]: () => client.end() }
}

async function migrate(url: string, moving?: string): Promise<Rows> {
  const sql = await openPostgresSql({ url, clock: systemClock })
  try {
    await sql.withClient(client => migratePostgres(client, moving))
    return await sql.all('SELECT version, serves_from FROM turnpike_schema ORDER BY version')
  } finally {
    await sql.close()
  }
}

// As a killed node of the first schema leaves it: an old chat, an open one, and one by a clock that is ahead.
async function fillFirstSchema(query: Query) {
  const now = Date.now()
  const times = { old: now - 100 * DAY_MS, open: now, ahead: now + 32 * DAY_MS }
  const ids = { old: idAt(times.old), open: idAt(times.open), ahead: idAt(times.ahead) }
  await query('CREATE TABLE turnpike_schema (version BIGINT PRIMARY KEY, migrated_at TIMESTAMPTZ)')
  await query(textOf(FILES[0]!))
  await query(`INSERT INTO turnpike_schema VALUES (1, now());
    INSERT INTO account (id, name, available, held, spent, created_at) VALUES ('acct', 'old', 850, 100, 50, 1);
    INSERT INTO api_key (id, account_id, name, scopes, ip_allowlist, rpm_limit, max_concurrent, created_at)
      VALUES ('key', 'acct', 'old key', '["chat.completions"]', '[]', 60, 10, 1);
    INSERT INTO key_balance (key_id, spent, held, day, day_count) VALUES ('key', 50, 100, ${Math.floor(now / DAY_MS)}, 1);
    INSERT INTO price (model_id, version, price, created_at) VALUES ('m', 'v1', '${PRICE}', 1);
    INSERT INTO secret (hash, key_id, prefix, last4, created_at) VALUES ('${'a'.repeat(64)}', 'key', 'svc_live_', 'abcd', 1);
    INSERT INTO ledger (account_id, id, kind, amount, request_id, created_at)
      VALUES ('acct', 'first', 'topup', 1000, NULL, 1), ('acct', '${ids.old}', 'charge', -50, '${ids.old}', 1)`)
  const row = (id: string, at: number, rest: string) =>
    query(`INSERT INTO usage (request_id, created_at, account_id, key_id, secret_last4, endpoint, stream, client_ip,
        price_version, price, owner, state, outcome, http_status, finished_at, usage_source, prompt_tokens, hold, cost)
      VALUES ('${id}', ${at}, 'acct', 'key', 'abcd', 'chat.completions', 0, '127.0.0.1',
        'v1', '${PRICE}', 'dead', ${rest})`)
  await row(ids.old, times.old, `'settled', 'completed', 200, ${times.old + 1}, 'upstream', 50, 100, 50`)
  await row(ids.open, times.open, `'open', NULL, NULL, NULL, 'none', 0, 100, 0`)
  await row(ids.ahead, times.ahead, `'settled', 'completed', 200, ${times.ahead + 1}, 'upstream', 0, 100, 0`)
  return ids
}
