// `turnpike migrate` transfers a running installation to Postgres: most of it while the gateway runs, the rest once it
// has stopped; afterwards the same keys, balances and rows are served from Postgres only.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import pg from 'pg'
import { cli } from '../../../support/cli.ts'
import { temporaryFolder } from '../../../support/folder.ts'
import { type Gateway, standardConfig, startGateway } from '../../../support/gateway.ts'
import { startLoad } from '../../../support/load.ts'
import { freshSchema, hasPostgres } from '../../../support/postgres.ts'
import { assertSameRows, multiplyRows } from '../../../support/transfer.ts'
import { until } from '../../../support/until.ts'
import { startUpstream } from '../../../support/upstream.ts'
import { balanceOf, settledRow } from '../../../support/usage.ts'

const FLOOD = 100
const SEALED_CANARY = 'sealed-provider-secret-canary'

if (hasPostgres()) {
  test('a busy installation is migrated to Postgres and served from there', async t => {
    await using upstream = await startUpstream()
    await using schema = await freshSchema()
    const config = standardConfig(upstream.url, { allow_private_upstreams: true })
    await using gateway = await startGateway({ config })
    const key = await gateway.createKey({ rpm_limit: 1_000_000, daily_limit: null, credits: '1000' })
    const revoked = await gateway.createKey()
    await gateway.chat({}, { key: key.secret, headers: { 'x-client-request-id': 'from-the-caller' } })
    await enterProvider(gateway)
    const load = startLoad({
      url: gateway.url,
      secrets: [key.secret],
      callers: 3,
      leavers: false,
      models: ['test/m1'],
    })
    await until('the gateway is busy', () => load.responses.length > 20)
    const from = `sqlite:${gateway.dataDir}`

    await t.test('while the gateway runs, settled rows are copied and the rest is deferred', async () => {
      const ahead = await move(gateway, [from, '--json'], { DATABASE_URL: schema.url })

      assert.equal(ahead.code, 1)
      assert.equal(ahead.json.outcome, 'copied_ahead')
      assert.match(ahead.stderr, /a gateway is running on .*to finish, stop the gateway and run this command again/)
      assert.equal((await gateway.chat({}, { key: key.secret })).status, 200)
    })

    await t.test('a gateway does not start on a partial migration', async () => {
      await using early = await startGateway({ env: onPostgres(gateway, schema.url), awaitReady: false })

      assert.equal(await early.exited, 2)
      assert.match(early.lines.join('\n'), /a migration into it is unfinished/)
    })

    // What changes between the two phases: a rotated and a revoked key, more rows, more credits.
    await gateway.admin('POST', `/keys/${revoked.id}/revoke`, {})
    const rotated = (await gateway.admin('POST', `/keys/${key.id}/rotate`, {})).body
    const late = await gateway.createKey({ credits: '3' })
    // Refused so quickly that most refusals are counted in memory, and written when the gateway stops.
    const flooding = await gateway.createKey()
    for (let i = 0; i < FLOOD; i += 10)
      await Promise.all(Array.from({ length: 10 }, () => gateway.get('/v1/nothing', flooding.secret)))

    await t.test('with --wait it finishes once the gateway has stopped', async () => {
      const waiting = move(gateway, [from, '--wait'], { DATABASE_URL: schema.url })
      // Rows that are newer than those of its first pass: it waits, and catches up meanwhile.
      for (const _pass of [1, 2]) {
        const seen = load.responses.length
        await until('it continues to copy', async () => (await rowsIn(schema.url)) > seen + 5)
      }
      await gateway.stop({ hurry: true })
      await load.ended
      const { code, stdout, stderr } = await waiting

      assert.equal(code, 0, stderr)
      assert.match(stderr, /Stop the gateway on .*\nwait for the gateway: .* s\ncopy the rest: \d+ rows, \d+ copied/)
      assert.match(stdout, /^moved\t.* → .*\nrows\t\d+\n/)
      assert.match(stdout, /TURNPIKE_ENCRYPTION_KEY to the content of .*encryption\.key/)
      assert.doesNotMatch(stdout + stderr, new RegExp(encryptionKey(gateway)))
      assert.ok((await assertSameRows(gateway.dataDir, schema.url)) > 100)
    })

    await t.test(
      'no gateway starts on the old data by accident, and a second migration reports the first',
      async () => {
        await assert.rejects(gateway.restart(), /was migrated to .*; set DATABASE_URL .*--undo --from sqlite:/)
        const again = await move(gateway, [from, '--json'], { DATABASE_URL: schema.url })

        assert.deepEqual([again.code, again.json.outcome], [0, 'already_moved'], again.stderr)
      },
    )

    await t.test('a gateway on Postgres has the same keys, balances, rows and credentials', async () => {
      const response = load.responses.find(seen => seen.requestId !== undefined)
      await using moved = await startGateway({ config, env: onPostgres(gateway, schema.url) })
      const first = await moved.chat({}, { key: String(rotated.secret) })
      const old = await moved.chat({}, { key: key.secret })

      assert.deepEqual([first.status, old.status], [200, 200])
      assert.equal((await moved.chat({}, { key: revoked.secret })).status, 401)
      assert.equal((await moved.get(`/v1/usage/${response?.requestId}`, key.secret)).status, 200)
      assert.equal((await balanceOf(moved, late.accountId)).available, '3')
      assert.equal((await moved.admin('GET', '/providers/entered')).body.status, 'active')
      await until(
        'the open row is recovered',
        async () => Number((await balanceOf(moved, key.accountId)).held) === 0,
        40_000,
      )
      assert.ok((await settledRow(moved, response?.requestId)).state)
      const ofFlood = `/usage/summary?group_by=key&endpoint=all&key_id=${flooding.id}`
      const { body: sums } = await moved.admin<{ data: { requests: number }[] }>('GET', ofFlood)
      assert.equal(sums.data[0]?.requests, FLOOD)
      assert.ok((await rowsIn(schema.url, `key_id = '${flooding.id}'`)) < FLOOD)
      const report = await moved.audit()
      assert.ok(report.ok, JSON.stringify(report.output))
    })

    await t.test('migrated data in use is not overwritten', async () => {
      await cli(gateway, ['migrate', '--undo', '--from', from])
      const again = await move(gateway, [from], { DATABASE_URL: schema.url })

      assert.equal(again.code, 1)
      assert.match(again.stderr, /the target has this source from an earlier migration and may have been used since/)
    })

    await t.test('--undo lets the old gateway start again', async () => {
      await gateway.restart()

      assert.equal((await gateway.get('/ready')).status, 200)
    })
  })

  test('a kill between the last two steps is repaired by the same command', async () => {
    await using upstream = await startUpstream()
    await using schema = await freshSchema()
    await using gateway = await startGateway({ config: standardConfig(upstream.url) })
    await gateway.chat()
    await gateway.stop({ hurry: true })
    const from = `sqlite:${gateway.dataDir}`
    const first = await move(gateway, [from], { DATABASE_URL: schema.url })
    assert.equal(first.code, 0, first.stderr)
    await ask(schema.url, `UPDATE turnpike_move SET state = 'copying'`)

    const again = await move(gateway, [from, '--json'], { DATABASE_URL: schema.url })

    assert.deepEqual([again.code, again.json.outcome], [0, 'moved'], again.stderr)
    assert.equal((await ask(schema.url, 'SELECT state FROM turnpike_move'))[0]?.state, 'done')
  })

  test('a migration interrupted at its end, after which the old gateway continued, copies what changed', async () => {
    await using upstream = await startUpstream()
    await using schema = await freshSchema()
    await using gateway = await startGateway({ config: standardConfig(upstream.url) })
    const from = `sqlite:${gateway.dataDir}`
    const key = await gateway.createKey()
    const gone = await gateway.createKey()
    await gateway.chat({}, { key: key.secret })
    upstream.next({ words: Array.from({ length: 100 }, () => ' word'), chunkDelayMs: 50 })
    const stream = await gateway.openChat({}, { key: key.secret })
    await stream.nextChunk()
    await gateway.kill()
    const first = await move(gateway, [from], { DATABASE_URL: schema.url })
    assert.equal(first.code, 0, first.stderr)
    await ask(schema.url, `UPDATE turnpike_move SET state = 'copying'`)
    await cli(gateway, ['migrate', '--undo', '--from', from])

    // The open row is recovered, two secrets are swapped, an account and its entries are deleted.
    await gateway.restart()
    await gateway.chat({}, { key: key.secret })
    await gateway.admin('POST', `/keys/${key.id}/rotate`, {})
    await gateway.admin('POST', `/accounts/${key.accountId}/credits`, { amount: '5' }, { 'idempotency-key': 'again' })
    await gateway.stop({ hurry: true })
    forgetAccount(join(gateway.dataDir, 'turnpike.db'), gone.accountId, gone.id)
    const second = await move(gateway, [from, '--json'], { DATABASE_URL: schema.url })

    assert.deepEqual([second.code, second.json.outcome], [0, 'moved'], second.stderr)
    assert.equal(await assertSameRows(gateway.dataDir, schema.url), second.json.rows)
    const states = await ask(schema.url, 'SELECT state, COUNT(*) AS n FROM usage GROUP BY state ORDER BY state')
    assert.deepEqual(
      states.map(({ state, n }) => [state, Number(n)]),
      [
        ['recovered', 1],
        ['settled', 2],
      ],
    )
  })

  test('a migration that could lose or mix data is refused, and both sides stay unchanged', async t => {
    await using upstream = await startUpstream()
    await using gateway = await startGateway({ config: standardConfig(upstream.url) })
    await gateway.chat()
    await gateway.stop({ hurry: true })
    const from = `sqlite:${gateway.dataDir}`
    const file = join(gateway.dataDir, 'turnpike.db')

    await t.test('a target in use', async () => {
      await using schema = await freshSchema()
      await using used = await startGateway({
        config: standardConfig(upstream.url),
        env: onPostgres(gateway, schema.url),
      })

      const { code, stderr } = await move(gateway, [from], { DATABASE_URL: schema.url })

      assert.equal(code, 1)
      assert.match(stderr, /the target is not empty \(it has rows in \w+\); use an empty database/)
      assert.equal((await used.get('/ready')).status, 200)
    })

    await t.test('a target with tables of another program', async () => {
      await using schema = await freshSchema()
      await ask(schema.url, 'CREATE TABLE billing (id INT)')

      const { code, stderr } = await move(gateway, [from], { DATABASE_URL: schema.url })
      const tables = await ask(schema.url, 'SELECT tablename FROM pg_tables WHERE schemaname = current_schema()')

      assert.equal(code, 1)
      assert.match(stderr, /the target is not empty \(it has a table billing\); use an empty database/)
      assert.deepEqual(tables, [{ tablename: 'billing' }])
    })

    await t.test('a target of another source', async () => {
      await using schema = await freshSchema()
      await using other = await startGateway({ config: standardConfig(upstream.url) })
      await move(other, [`sqlite:${other.dataDir}`], { DATABASE_URL: schema.url })

      const { code, stderr } = await move(gateway, [from], { DATABASE_URL: schema.url })

      assert.equal(code, 1)
      assert.match(stderr, /the target belongs to the migration of another source/)
    })

    await t.test('a source of another version or program, or no source', async () => {
      await using schema = await freshSchema()
      await using folder = await temporaryFolder()
      const env = { DATABASE_URL: schema.url }
      const [{ user_version: version } = {}] = change(file, 'PRAGMA user_version')
      change(file, 'PRAGMA user_version = 1')
      const older = await move(gateway, [from], env)
      change(file, 'PRAGMA user_version = 999')
      const newer = await move(gateway, [from], env)
      change(file, `PRAGMA user_version = ${version}`)
      change(join(folder.path, 'turnpike.db'), 'CREATE TABLE a (b)')
      const foreign = await move(gateway, [`sqlite:${folder.path}`], env)
      const none = await move(gateway, ['sqlite:./nowhere'], env)

      assert.deepEqual([older.code, newer.code, foreign.code, none.code], [1, 1, 1, 1])
      assert.match(older.stderr, /from an older version of Turnpike; start this version on it once/)
      assert.match(newer.stderr, /from a newer version of Turnpike \(schema 999/)
      assert.match(foreign.stderr, /is not a Turnpike database/)
      assert.match(none.stderr, /database not found/)
    })

    await t.test('a source that fails the audit', async () => {
      await using schema = await freshSchema()
      change(file, 'UPDATE account SET available = available + 1')
      const broken = await move(gateway, [from], { DATABASE_URL: schema.url })
      change(file, 'UPDATE account SET available = available - 1')

      assert.equal(broken.code, 1)
      assert.match(broken.stderr, /the source violates billing invariants \(I1, I2\)/)
    })

    await t.test('a target on which a gateway has started since rows were copied', async () => {
      await using schema = await freshSchema()
      const lock = holdLock(gateway.dataDir)
      await move(gateway, [from], { DATABASE_URL: schema.url })
      lock.close()
      await ask(schema.url, `INSERT INTO node (owner, since, renewed_at) VALUES ('other', 1, 1)`)

      const { code, stderr } = await move(gateway, [from], { DATABASE_URL: schema.url })

      assert.equal(code, 1)
      assert.match(stderr, /a gateway has started on the target; use an empty database/)
      assert.equal((await ask(schema.url, 'SELECT state FROM turnpike_move'))[0]?.state, 'copying')
    })

    await t.test('a target in which a copied row differs from the source', async () => {
      await using schema = await freshSchema()
      const lock = holdLock(gateway.dataDir)
      await move(gateway, [from], { DATABASE_URL: schema.url })
      lock.close()
      await ask(
        schema.url,
        `CREATE FUNCTION rename() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN NEW.name := NEW.name || ''!''; RETURN NEW; END';
         CREATE TRIGGER rename BEFORE INSERT ON account FOR EACH ROW EXECUTE FUNCTION rename()`,
      )

      const { code, stderr } = await move(gateway, [from], { DATABASE_URL: schema.url })

      assert.equal(code, 1)
      assert.match(stderr, /the copy differs in account, .*name.*: \d+ in the source, \d+ in the target/)
      assert.deepEqual(await ask(schema.url, "SELECT name FROM account WHERE name LIKE '%!'"), [])
      assert.equal((await ask(schema.url, 'SELECT state FROM turnpike_move'))[0]?.state, 'copying')
    })

    await t.test('invalid arguments', async () => {
      const calls = [
        [['--from', from], {}, /no target/],
        [['--to', 'postgres://localhost/x'], {}, /--from sqlite:DIR is required/],
        [['--from', 'postgres://localhost/x'], { DATABASE_URL: 'postgres://localhost/y' }, /--from must be sqlite:DIR/],
        [['--from', from, '--to', 'mysql://root:hush-hush@localhost'], {}, /must be a postgres:\/\/ URL/],
        [['--from', from, '--undo', '--wait'], {}, /--undo cannot be combined with --wait/],
        [['--from', from, '--to', 'postgres://a:hush-hush@localhost/x'], {}, /DATABASE_URL or --to-stdin/],
        [['--from', from, '--to', 'postgres://localhost/x?password=hush-hush'], {}, /DATABASE_URL or --to-stdin/],
        [['--from', from], { DATABASE_URL: 'postgres://a:hush-hush%@localhost/x' }, /write % as %25/],
        [['--from', from, '--to', 'postgres://localhost/100%'], {}, /write % as %25/],
      ] as const
      for (const [args, env, words] of calls) {
        const { code, stdout, stderr } = await cli(gateway, ['migrate', ...args], { env })

        assert.equal(code, 2, stderr)
        assert.match(stderr, words)
        assert.doesNotMatch(stdout + stderr, /hush-hush|\n +at /)
      }
      const help = await cli(gateway, ['migrate', '--help'])
      assert.equal(help.code, 0)
      assert.match(
        help.stdout,
        /--from sqlite:DIR[\s\S]*--wait[\s\S]*--undo[\s\S]*DATABASE_URL or on\s+stdin\. --to\s+does not accept\s+passwords/,
      )
      const undone = await cli(gateway, ['migrate', '--undo', '--from', from])
      assert.equal(undone.code, 1)
      assert.match(undone.stderr, /is not marked as migrated; nothing was changed/)
    })

    await t.test('a password is never printed, wherever it was given', async () => {
      const url = 'postgres://someone:hush%2Dhush@127.0.0.1:9/db'
      const results = [
        await cli(gateway, ['migrate', '--from', from], { env: { DATABASE_URL: url } }),
        await cli(gateway, ['migrate', '--from', from, '--to-stdin'], { stdin: `${url}\n` }),
      ]
      for (const { code, stdout, stderr } of results) {
        assert.equal(code, 1)
        assert.match(stderr, /ECONNREFUSED/)
        assert.doesNotMatch(stdout + stderr, /hush/)
      }
    })

    await t.test('a password that is part of other words does not redact them', async () => {
      const env = { DATABASE_URL: 'postgres://someone:CONN@127.0.0.1:9/db' }

      const { stderr } = await cli(gateway, ['migrate', '--from', from], { env })

      assert.match(stderr, /connect ECONNREFUSED 127\.0\.0\.1:9/)
    })

    await gateway.restart()
    assert.ok((await gateway.audit()).ok)
  })

  test('many rows are copied exactly, with unusual text, and rows deleted meanwhile are deleted there too', async () => {
    await using upstream = await startUpstream()
    await using schema = await freshSchema()
    await using gateway = await startGateway({ config: standardConfig(upstream.url) })
    const { id } = await gateway.createAccount()
    await gateway.addCredits(id, '9000000.123456789')
    const key = await gateway.createKey({ credits: '1000' })
    await gateway.chat({}, { key: key.secret })
    await gateway.stop({ hurry: true })
    multiplyRows(gateway.dataDir, 12_000)
    const file = join(gateway.dataDir, 'turnpike.db')
    change(file, `UPDATE account SET name = 'nul ' || char(0) || ' and \u{1F600}' WHERE id = '${id}'`)
    const from = `sqlite:${gateway.dataDir}`
    const lock = holdLock(gateway.dataDir)
    const ahead = await move(gateway, [from], { DATABASE_URL: schema.url })
    lock.close()
    change(file, 'DELETE FROM event WHERE id IN (SELECT id FROM event LIMIT 1)')

    const moved = await move(gateway, [from, '--json'], { DATABASE_URL: schema.url })

    assert.equal(ahead.code, 1)
    assert.match(ahead.stderr, /copy ahead: 12\d\d\d rows, 12\d\d\d copied/)
    assert.equal(moved.code, 0, moved.stderr)
    assert.equal(await assertSameRows(gateway.dataDir, schema.url), moved.json.rows)
  })
}

function move(gateway: Gateway, [from = '', ...rest]: readonly string[], env: Readonly<Record<string, string>>) {
  return cli(gateway, ['migrate', '--from', from, ...rest], { env })
}

function onPostgres(gateway: Gateway, url: string) {
  return { DATABASE_URL: url, TURNPIKE_ENCRYPTION_KEY: encryptionKey(gateway) }
}

function encryptionKey(gateway: Gateway): string {
  return readFileSync(join(gateway.dataDir, 'encryption.key'), 'utf8').trim()
}

async function enterProvider(gateway: Gateway): Promise<void> {
  const { status, text } = await gateway.admin('POST', '/providers', {
    id: 'entered',
    kind: 'openai',
    base_url: 'http://127.0.0.1:9/v1',
    api_key: SEALED_CANARY,
  })
  assert.equal(status, 201, text)
}

function change(file: string, text: string): readonly Record<string, unknown>[] {
  const db = new DatabaseSync(file)
  try {
    return db.prepare(text).all() as Record<string, unknown>[]
  } finally {
    db.close()
  }
}

// No command does this; rows missing in the source must be missing in the target.
function forgetAccount(file: string, accountId: string, keyId: string): void {
  for (const [table, column, id] of [
    ['secret', 'key_id', keyId],
    ['key_balance', 'key_id', keyId],
    ['api_key', 'id', keyId],
    ['ledger', 'account_id', accountId],
    ['account', 'id', accountId],
  ] as const) {
    change(file, `DELETE FROM ${table} WHERE ${column} = '${id}'`)
  }
}

// Like a running gateway.
function holdLock(dataDir: string): DatabaseSync {
  const db = new DatabaseSync(join(dataDir, 'turnpike.lock'))
  db.exec('BEGIN EXCLUSIVE')
  return db
}

async function rowsIn(url: string, where = 'true'): Promise<number> {
  return Number((await ask(url, `SELECT COUNT(*) AS n FROM usage WHERE ${where}`))[0]?.n)
}

async function ask(url: string, text: string): Promise<readonly Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    return (await client.query<Record<string, unknown>>(text)).rows
  } finally {
    await client.end()
  }
}
