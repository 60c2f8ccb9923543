// The audit names every broken invariant, and none where the books are right. Each damage is planted in sound books.
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { priceSnapshot } from '../../src/domain/catalog.ts'
import { auditDatabase } from '../../src/store/audit.ts'
import { lockDataDir } from '../../src/store/lock.ts'
import { migrate } from '../../src/store/migrate.ts'

const NOW = Date.UTC(2026, 5, 1)
const PRICE = priceSnapshot({ prompt: 2_000n, completion: 10_000n, cacheRead: 1_000n, cacheWrite: 2_500n, request: 0n })

// 10 credits paid in; one row that costs 60 nano, one open row that holds 500, one that was recovered at 20 and then
// corrected to 45, one refusal and one free call.
const SOUND = `
  INSERT INTO account (id, name, available, held, spent, owed, created_at) VALUES ('acct_a', 'a', 9999999395, 500, 105, 0, 1);
  INSERT INTO api_key (id, account_id, name, scopes, ip_allowlist, rpm_limit, daily_limit, credit_limit, max_concurrent, created_at)
    VALUES ('key_a', 'acct_a', 'a', '[]', '[]', 300, 10, 1000, 100, 1);
  INSERT INTO secret (hash, key_id, prefix, last4, created_at) VALUES ('h0', 'key_a', 'svc_live_', 'aaaa', 1);
  INSERT INTO key_balance (key_id, spent, held, day, day_count) VALUES ('key_a', 105, 500, 1, 4);
  INSERT INTO ledger (account_id, id, kind, amount, request_id, created_at) VALUES
    ('acct_a', 'led_1', 'topup', 10000000000, NULL, 1), ('acct_a', 'r1', 'charge', -60, 'r1', 2),
    ('acct_a', 'r3', 'charge', -20, 'r3', 3), ('acct_a', 'r3-correction', 'correction', -25, 'r3', 4);
  INSERT INTO usage (request_id, account_id, key_id, secret_last4, endpoint, stream, state, outcome, finished_at,
      prompt_tokens, cached_tokens, completion_tokens, price, hold, cost, created_at, client_ip) VALUES
    ('r1', 'acct_a', 'key_a', 'aaaa', 'chat.completions', 0, 'settled', 'completed', 5, 10, 0, 4, '${PRICE}', 300, 60, 1, '::1'),
    ('r2', 'acct_a', 'key_a', 'aaaa', 'chat.completions', 1, 'open', NULL, NULL, 0, 0, 0, '${PRICE}', 500, 0, 1, '::1'),
    ('r3', 'acct_a', 'key_a', 'aaaa', 'chat.completions', 1, 'settled', 'client_left', 5, 10, 5, 3, '${PRICE}', 300, 45, 1, '::1'),
    ('r4', 'acct_a', 'key_a', 'aaaa', 'chat.completions', 0, 'settled', 'refused', 5, 0, 0, 0, NULL, 0, 0, 1, '::1'),
    ('r5', 'acct_a', 'key_a', 'aaaa', 'models', 0, 'settled', 'completed', 5, 0, 0, 0, NULL, 0, 0, 1, '::1');
`

test('sound books pass, and every invariant was looked at', () => {
  using books = openBooks()

  const report = auditDatabase(books.path, { idle: false, now: NOW })

  assert.deepEqual(
    report.findings.filter(finding => finding.broken > 0),
    [],
  )
  assert.equal(report.ok, true)
  assert.deepEqual(
    report.findings.filter(finding => finding.checked === 0),
    [],
  )
})

const DAMAGES: readonly (readonly [promise: string, sql: string, invariants: readonly string[]])[] = [
  ['credits out of nothing', 'UPDATE account SET available = available + 1', ['I1', 'I2']],
  [
    'a top-up without its credits',
    `INSERT INTO ledger (account_id, id, kind, amount, created_at) VALUES ('acct_a', 'x', 'topup', 5, 1)`,
    ['I1', 'I2'],
  ],
  ["a key's spent that its rows do not add up to", 'UPDATE key_balance SET spent = 106', ['I2']],
  ["a key's hold that no row has", 'UPDATE key_balance SET held = 501', ['I2']],
  [
    "an account's spent that its rows do not add up to",
    'UPDATE account SET spent = 106, available = available - 1',
    ['I2'],
  ],
  [
    'a row on the account of another',
    `INSERT INTO account (id, name, created_at) VALUES ('acct_b', 'b', 1); UPDATE usage SET account_id = 'acct_b' WHERE request_id = 'r5'`,
    ['I2'],
  ],
  [
    'a balance below zero',
    "UPDATE account SET available = -5, held = held + 9999999400; UPDATE usage SET hold = 9999999900 WHERE state = 'open'; UPDATE key_balance SET held = 9999999900; UPDATE api_key SET credit_limit = NULL",
    ['I3'],
  ],
  ['a debt beside available credits', 'UPDATE account SET available = available + 7, owed = 7', ['I3']],
  ['a hold that no open row explains', 'UPDATE account SET held = held + 1, available = available - 1', ['I4']],
  ['an open row that is finished', `UPDATE usage SET finished_at = 9 WHERE request_id = 'r2'`, ['I5']],
  ['a settled row without an end', `UPDATE usage SET finished_at = NULL WHERE request_id = 'r1'`, ['I5']],
  ['a settled row without an outcome', `UPDATE usage SET outcome = NULL WHERE request_id = 'r5'`, ['I5']],
  [
    'a settled row that says it was recovered',
    `UPDATE usage SET outcome = 'recovered' WHERE request_id = 'r1'`,
    ['I5'],
  ],
  [
    'a correction of a row that is only recovered',
    `UPDATE usage SET state = 'recovered', outcome = 'recovered' WHERE request_id = 'r3'`,
    ['I5'],
  ],
  [
    'two charges for one request',
    `INSERT INTO ledger (account_id, id, kind, amount, request_id, created_at) VALUES ('acct_a', 'r1-again', 'charge', 0, 'r1', 1)`,
    ['I7'],
  ],
  [
    'a charge without a row',
    `INSERT INTO ledger (account_id, id, kind, amount, request_id, created_at) VALUES ('acct_a', 'r9', 'charge', 0, 'r9', 1)`,
    ['I7'],
  ],
  ['a key far past its credit limit', 'UPDATE api_key SET credit_limit = 100', ['I8']],
  ['a negative cost', `UPDATE usage SET cost = -1 WHERE request_id = 'r5'`, ['I2', 'I8', 'I10', 'I12', 'I13']],
  ['a refusal that costs', `UPDATE usage SET outcome = 'refused' WHERE request_id = 'r1'`, ['I10']],
  ['a failure that costs', `UPDATE usage SET outcome = 'upstream_failed' WHERE request_id = 'r1'`, ['I10']],
  ['a cost that the tokens do not explain', `UPDATE usage SET completion_tokens = 5 WHERE request_id = 'r1'`, ['I12']],
  [
    'tokens that were not charged',
    `UPDATE usage SET prompt_tokens = 5 WHERE request_id = 'r5'; UPDATE usage SET endpoint = 'chat.completions', price = '${PRICE}' WHERE request_id = 'r5'`,
    ['I12'],
  ],
  ['a cost without a price snapshot', `UPDATE usage SET price = NULL WHERE request_id = 'r1'`, ['I12']],
  [
    'more cached tokens than the prompt has',
    `UPDATE usage SET prompt_tokens = 4, cached_tokens = 5 WHERE request_id = 'r3'`,
    ['I12'],
  ],
  [
    'a charge that is not what the row costs',
    `UPDATE ledger SET amount = amount - 1 WHERE id = 'r1'; UPDATE ledger SET amount = amount + 1 WHERE id = 'led_1'`,
    ['I1', 'I13'],
  ],
  [
    'a charge that is missing',
    `DELETE FROM ledger WHERE id = 'r1'; UPDATE ledger SET amount = amount - 60 WHERE id = 'led_1'`,
    ['I1', 'I13'],
  ],
  ['more requests in a day than the limit', 'UPDATE key_balance SET day_count = 11', ['I14']],
  ['seven secrets of one key', seven(`${NOW + 1}`), ['I15']],
  ['a secret of a revoked key that was not ended', 'UPDATE api_key SET revoked_at = 5', ['I15']],
  ['a key of an account that is not there', `UPDATE api_key SET account_id = 'acct_x'`, ['file', 'I2']],
]

for (const [damage, sql, invariants] of DAMAGES) {
  test(`the audit sees ${damage}`, () => {
    using books = openBooks(sql)

    const report = auditDatabase(books.path, { idle: false, now: NOW })

    const broken = report.findings.filter(finding => finding.broken > 0)
    assert.deepEqual(
      broken.map(finding => finding.invariant),
      invariants,
    )
    assert.equal(report.ok, false)
    assert.ok(broken.every(finding => finding.examples.length > 0 && finding.examples.length <= 5))
  })
}

const ALLOWED: readonly (readonly [what: string, sql: string])[] = [
  [
    'a limit that an operator lowered later',
    `UPDATE api_key SET credit_limit = 100, daily_limit = 1;
    INSERT INTO event (id, at, actor, address, action, subject) VALUES ('e1', 1, 'admin', '::1', 'key.update', 'key_a')`,
  ],
  ['old secrets whose grace has passed but is not written down yet', seven(`${NOW - 1}`)],
  [
    'an overshoot of the last request',
    "UPDATE usage SET hold = 10 WHERE request_id = 'r1'; UPDATE api_key SET credit_limit = 510",
  ],
]

for (const [what, sql] of ALLOWED) {
  test(`the audit allows ${what}`, () => {
    using books = openBooks(sql)

    const report = auditDatabase(books.path, { idle: false, now: NOW })

    assert.deepEqual(
      report.findings.filter(finding => finding.broken > 0),
      [],
    )
  })
}

test('with no request in flight, an open row and a hold are broken promises', () => {
  using books = openBooks()

  const report = auditDatabase(books.path, { idle: true, now: NOW })

  const broken = report.findings.filter(finding => finding.broken > 0)
  assert.deepEqual(
    broken.map(({ invariant, broken, examples }) => ({ invariant, broken, examples })),
    [{ invariant: 'I9', broken: 2, examples: ['r2: open', 'acct_a: holds 500'] }],
  )
})

test('the audit reads beside a writer in the middle of a transaction, and sees none of it', () => {
  using books = openBooks()
  const writer = new DatabaseSync(books.path)
  writer.exec('BEGIN IMMEDIATE; UPDATE account SET available = available + 1')

  const report = auditDatabase(books.path, { idle: false, now: NOW })

  assert.equal(report.ok, true)
  writer.close()
})

test('a file that is missing, foreign or no database is refused by name', () => {
  using books = openBooks()
  const foreign = join(books.dir, 'foreign.db')
  const other = new DatabaseSync(foreign)
  other.exec('CREATE TABLE t (x)')
  other.close()
  const junk = join(books.dir, 'junk.db')
  writeFileSync(junk, 'junk '.repeat(1000))

  for (const path of [join(books.dir, 'none.db'), foreign, junk]) {
    assert.throws(() => auditDatabase(path, { idle: false, now: NOW }), {
      name: 'NotAuditable',
      message: new RegExp(path),
    })
  }
})

test('a data dir is locked by one holder at a time, and free after its release', () => {
  using books = openBooks()
  const first = lockDataDir(books.dir)

  assert.notEqual(first, 'taken')
  assert.equal(lockDataDir(books.dir), 'taken')
  if (first !== 'taken') first.release()
  const second = lockDataDir(books.dir)
  assert.notEqual(second, 'taken')
  if (second !== 'taken') second.release()
})

function openBooks(damage = '') {
  const dir = mkdtempSync(join(tmpdir(), 'turnpike-audit-'))
  const path = join(dir, 'turnpike.db')
  const db = new DatabaseSync(path, { enableForeignKeyConstraints: false })
  db.exec('PRAGMA journal_mode = WAL')
  migrate(db)
  db.exec(SOUND)
  db.exec(`PRAGMA ignore_check_constraints = ON; ${damage}`)
  db.close()
  return { dir, path, [Symbol.dispose]: () => rmSync(dir, { recursive: true }) }
}

function seven(graceExpiresAt: string): string {
  const rows = Array.from({ length: 6 }, (_, i) => `('h${i + 1}', 'key_a', 'svc_live_', 'bbbb', 1, ${graceExpiresAt})`)
  return `INSERT INTO secret (hash, key_id, prefix, last4, created_at, grace_expires_at) VALUES ${rows.join(', ')}`
}
