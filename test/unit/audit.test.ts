// The audit names every broken invariant, and none in a correct ledger. Each damage is planted in a correct ledger.
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { priceSnapshot, readPriceSnapshot } from '../../src/domain/catalog.ts'
import { auditDatabase } from '../../src/store/audit/audit.ts'
import { lockDataDir } from '../../src/store/sqlite/lock.ts'
import { migrate } from '../../src/store/sqlite/migrate.ts'

const NOW = Date.UTC(2026, 5, 1)
const PRICE = priceSnapshot({ prompt: 2_000n, completion: 10_000n, cacheRead: 1_000n, cacheWrite: 2_500n, request: 0n })

// The row with a prompt of ten tokens belongs to its tier.
const TIERED = priceSnapshot({
  ...readPriceSnapshot(PRICE),
  tiers: [{ abovePromptTokens: 9, prompt: 3_000n, completion: 10_000n, cacheRead: 1_000n, cacheWrite: 2_500n }],
})

// 10 credits paid in; one row that costs 60 nano, one open row that holds 500, one that was recovered at 20 and then
// corrected to 45, one refusal and one free call.
const SOUND = `
  INSERT INTO account (id, name, available, held, spent, owed, created_at) VALUES ('acct_a', 'a', 9999999395, 500, 105, 0, 1);
  INSERT INTO api_key (id, account_id, name, scopes, ip_allowlist, rpm_limit, daily_limit, credit_limit, max_concurrent, created_at)
    VALUES ('key_a', 'acct_a', 'a', '[]', '[]', 300, 10, 1000, 100, 1);
  INSERT INTO secret (hash, key_id, prefix, last4, created_at) VALUES ('h0', 'key_a', 'svc_live_', 'aaaa', 1);
  INSERT INTO key_balance (key_id, spent, held, day, day_count) VALUES ('key_a', 105, 500, 0, 5);
  INSERT INTO price (model_id, version, price, created_at) VALUES ('m', 'v1', '${PRICE}', 1);
  INSERT INTO ledger (account_id, id, kind, amount, request_id, created_at) VALUES
    ('acct_a', 'led_1', 'topup', 10000000000, NULL, 1), ('acct_a', 'r3-correction', 'correction', -25, 'r3', 4);
  INSERT INTO usage (request_id, account_id, key_id, secret_last4, endpoint, stream, state, outcome, finished_at,
      prompt_tokens, cached_tokens, completion_tokens, price_version, price, hold, cost, created_at, client_ip) VALUES
    ('r1', 'acct_a', 'key_a', 'aaaa', 'chat.completions', 0, 'settled', 'completed', 5, 10, 0, 4, 'v1', '${PRICE}', 300, 60, 1, '::1'),
    ('r2', 'acct_a', 'key_a', 'aaaa', 'chat.completions', 1, 'open', NULL, NULL, 0, 0, 0, 'v1', '${PRICE}', 500, 0, 1, '::1'),
    ('r3', 'acct_a', 'key_a', 'aaaa', 'chat.completions', 1, 'settled', 'client_left', 5, 10, 5, 3, 'v1', '${PRICE}', 300, 45, 1, '::1'),
    ('r4', 'acct_a', 'key_a', 'aaaa', 'chat.completions', 0, 'settled', 'refused', 5, 0, 0, 0, NULL, NULL, 0, 0, 1, '::1'),
    ('r5', 'acct_a', 'key_a', 'aaaa', 'models', 0, 'settled', 'completed', 5, 0, 0, 0, NULL, NULL, 0, 0, 1, '::1');
  INSERT INTO usage_rolled (hour, mark, rolled_mark) VALUES (0, 3, 3);
  INSERT INTO usage_hour VALUES
    (0, 'acct_a', 'key_a', '', '', 'chat.completions', 'completed', '', '', 1, 10, 0, 0, 4, 0, 60, 0, 0, 0, 0, 0, 0, 0, 0, 1),
    (0, 'acct_a', 'key_a', '', '', 'chat.completions', '', '', '', 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
    (0, 'acct_a', 'key_a', '', '', 'chat.completions', 'client_left', '', '', 1, 10, 5, 0, 3, 0, 45, 0, 0, 0, 0, 0, 0, 0, 0, 0),
    (0, 'acct_a', 'key_a', '', '', 'chat.completions', 'refused', '', '', 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0),
    (0, 'acct_a', 'key_a', '', '', 'models', 'completed', '', '', 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
  INSERT INTO usage_hour_ms VALUES (0, 15, 1);
  UPDATE usage SET error_code = 'model_not_found', model_requested = 'none' WHERE request_id = 'r4';
  UPDATE usage SET attempts = '[{"provider":"a"},{"provider":"b"}]' WHERE request_id = 'r1';
  INSERT INTO usage_rolled_total VALUES (0, 3);
  INSERT INTO usage_hour_total SELECT hour, endpoint, outcome, requests, prompt_tokens, cached_tokens, cache_write_tokens,
    completion_tokens, reasoning_tokens, cost, upstream_cost, overshoot, requests_without_upstream_cost,
    cost_without_upstream_cost, caller_errors, limits_errors, money_errors, provider_errors, failovers FROM usage_hour;
  INSERT INTO usage_hour_unknown VALUES (0, 'none');
  INSERT INTO usage_rolled_day VALUES (0, 3);
  INSERT INTO usage_day SELECT * FROM usage_hour;
  INSERT INTO usage_day_ms SELECT * FROM usage_hour_ms;
`

// In addition: the months and windows of budgets that these rows belong to. The week began on the last Monday of 1969.
const BUDGETED = `
  UPDATE account SET month = 23640; UPDATE key_balance SET month = 23640;
  INSERT INTO budget_window VALUES ('key_a', 'week', -259200000, 105, 500), ('acct_a', 'hour', 0, 105, 500);
`

const CHANGED = 'UPDATE usage_rolled SET mark = mark + 1'
// The same, with nothing open; and then without the rows. The correction's request has an id that begins with the time of 1970.
const WITHOUT_OPEN = `DELETE FROM usage WHERE request_id = 'r2'; DELETE FROM usage_hour WHERE outcome = '';
  DELETE FROM usage_day WHERE outcome = ''; DELETE FROM usage_hour_total WHERE outcome = ''; UPDATE account SET available = available + held, held = 0; UPDATE key_balance SET held = 0`
const DROPPED = `${WITHOUT_OPEN}; DELETE FROM usage; UPDATE usage_rolled SET dropped = 2;
  UPDATE ledger SET request_id = '00000000-0001-7-3' WHERE kind = 'correction'`

test('a correct ledger passes, and every invariant was checked', () => {
  using ledger = openLedger(BUDGETED)

  const report = auditDatabase(ledger.path, { idle: false, now: NOW })

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
  ['an hour with one request too many', `UPDATE usage_hour SET requests = 2 WHERE outcome = 'refused'`, ['sums']],
  ['an hour that costs too little', `UPDATE usage_hour SET cost = 59 WHERE cost = 60`, ['sums']],
  ['an hour with another margin', 'UPDATE usage_hour SET cost_without_upstream_cost = 1 WHERE cost = 60', ['sums']],
  [
    'an hour with errors of another cause',
    'UPDATE usage_hour SET caller_errors = 0, money_errors = 1 WHERE caller_errors = 1',
    ['sums'],
  ],
  ['an hour with another number of failovers', 'UPDATE usage_hour SET failovers = 0 WHERE cost = 60', ['sums']],
  ['an hour that knows too many costs', `UPDATE usage SET provider = 'p' WHERE request_id = 'r1'`, ['sums']],
  ['an hour with the sums of another model', `UPDATE usage_hour SET model = 'm' WHERE outcome = 'refused'`, ['sums']],
  ['an hour in which chats took longer', 'UPDATE usage_hour_ms SET bucket = 16', ['sums']],
  ['an hour without its sums', 'DELETE FROM usage_hour', ['sums']],
  ['a day that is not its hours', 'UPDATE usage_day SET prompt_tokens = 11 WHERE cost = 60', ['sums']],
  ['an hour whose totals are not its sums', `UPDATE usage_hour_total SET outcome = 'x' WHERE outcome = ''`, ['sums']],
  ['an hour without its totals', 'DELETE FROM usage_hour_total', ['sums']],
  ['an hour without the name of an unknown model', 'DELETE FROM usage_hour_unknown', ['sums']],
  ['an hour with a name that was never requested', `INSERT INTO usage_hour_unknown VALUES (0, 'other')`, ['sums']],
  [
    'a dropped hour that cost too little',
    DROPPED + '; UPDATE usage_hour SET cost = 59 WHERE cost = 60',
    ['I2', 'I13', 'sums'],
  ],
  ['a row that was deleted', `DELETE FROM usage WHERE request_id = 'r1'`, ['I2', 'I13', 'I14', 'sums']],
  ['credits from nowhere', 'UPDATE account SET available = available + 1', ['I1', 'I2']],
  [
    'a top-up without its credits',
    `INSERT INTO ledger (account_id, id, kind, amount, created_at) VALUES ('acct_a', 'x', 'topup', 5, 1)`,
    ['I1', 'I2'],
  ],
  ["a key's spent that differs from its rows", 'UPDATE key_balance SET spent = 106', ['I2']],
  ["a key's hold that no row has", 'UPDATE key_balance SET held = 501', ['I2']],
  [
    "an account's spent that differs from its rows",
    'UPDATE account SET spent = 106, available = available - 1',
    ['I2', 'I13'],
  ],
  [
    'a row on another account',
    `INSERT INTO account (id, name, created_at) VALUES ('acct_b', 'b', 1); UPDATE usage SET account_id = 'acct_b' WHERE request_id = 'r5'`,
    ['I2'],
  ],
  [
    'a balance below zero',
    "UPDATE account SET available = -5, held = held + 9999999400; UPDATE usage SET hold = 9999999900 WHERE state = 'open'; UPDATE key_balance SET held = 9999999900; UPDATE api_key SET credit_limit = NULL",
    ['I3'],
  ],
  ['a debt with available credits', 'UPDATE account SET available = available + 7, owed = 7', ['I3']],
  ['a hold that no open row explains', 'UPDATE account SET held = held + 1, available = available - 1', ['I4']],
  ['an open row that is finished', `UPDATE usage SET finished_at = 9 WHERE request_id = 'r2'`, ['I5']],
  ['a settled row without an end', `UPDATE usage SET finished_at = NULL WHERE request_id = 'r1'`, ['I5']],
  ['a settled row without an outcome', `UPDATE usage SET outcome = NULL WHERE request_id = 'r5'`, ['I5']],
  ['a settled row marked as recovered', `UPDATE usage SET outcome = 'recovered' WHERE request_id = 'r1'`, ['I5']],
  [
    'a correction of a row that is only recovered',
    `UPDATE usage SET state = 'recovered', outcome = 'recovered' WHERE request_id = 'r3'`,
    ['I5'],
  ],
  [
    'a correction of a request that does not exist',
    `INSERT INTO ledger (account_id, id, kind, amount, request_id, created_at) VALUES ('acct_a', 'r9-correction', 'correction', 1, 'r9', 1)`,
    ['I5', 'I7'],
  ],
  ['a key far past its credit limit', 'UPDATE api_key SET credit_limit = 100', ['I8']],
  ['a negative cost', `UPDATE usage SET cost = -1 WHERE request_id = 'r5'`, ['I2', 'I8', 'I10', 'I12', 'I13']],
  ['a refusal that costs', `UPDATE usage SET outcome = 'refused' WHERE request_id = 'r1'`, ['I10']],
  ['a failure that costs', `UPDATE usage SET outcome = 'upstream_failed' WHERE request_id = 'r1'`, ['I10']],
  [
    'cache writes for one hour that are part of no cache write',
    `UPDATE usage SET cache_write_1h_tokens = 1 WHERE request_id = 'r1'`,
    ['I12'],
  ],
  [
    'more images and audio than the prompt has tokens',
    `UPDATE usage SET image_tokens = 6, audio_tokens = 5 WHERE request_id = 'r1'`,
    ['I12'],
  ],
  [
    'a cost of the wrong price tier',
    `UPDATE usage SET price = '${TIERED}' WHERE request_id = 'r1'; UPDATE price SET model_id = 'n';
     INSERT INTO price (model_id, version, price, created_at) VALUES ('m', 'v1', '${TIERED}', 1)`,
    ['I12'],
  ],
  ['a cost that the tokens do not explain', `UPDATE usage SET completion_tokens = 5 WHERE request_id = 'r1'`, ['I12']],
  [
    'tokens that were not charged',
    `UPDATE usage SET prompt_tokens = 5 WHERE request_id = 'r5'; UPDATE usage SET endpoint = 'chat.completions', price_version = 'v1', price = '${PRICE}' WHERE request_id = 'r5'`,
    ['I12'],
  ],
  ['a cost without a price snapshot', `UPDATE usage SET price = NULL WHERE request_id = 'r1'`, ['I4', 'I12', 'prices']],
  [
    'more cached tokens than the prompt has',
    `UPDATE usage SET prompt_tokens = 4, cached_tokens = 5 WHERE request_id = 'r3'`,
    ['I12'],
  ],
  [
    'an entry of the journal that no row explains',
    `INSERT INTO balance_journal VALUES (1, 'acct_a', 'key_a', -7, 0, 7, 0, 7, 0, 0, 5, 0, 0, 0, 0)`,
    ['I2', 'I13'],
  ],
  [
    'an entry of the journal that was lost',
    `UPDATE account SET available = available - 3; DELETE FROM balance_journal`,
    ['I1', 'I2'],
  ],
  [
    'an entry of the journal with another count of the day',
    `INSERT INTO balance_journal VALUES (1, 'acct_a', 'key_a', 0, 0, 0, 0, 0, 0, 0, 6, 0, 0, 0, 0)`,
    ['I14'],
  ],
  [
    'an entry of the journal for a missing account',
    `INSERT INTO balance_journal VALUES (1, 'acct_x', 'key_a', 0, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0, 0)`,
    ['file'],
  ],
  ['a row that is missing in the index by key', `DELETE FROM usage_recent WHERE request_id = 'r1'`, ['file']],
  ['a row in the index of another key', `UPDATE usage_recent SET key_id = 'key_x' WHERE request_id = 'r1'`, ['file']],
  ['an entry of the index by key without a row', `INSERT INTO usage_by_key VALUES ('key_a', 'r0')`, ['file']],
  [
    'a day whose marks outnumber those of its hours',
    'UPDATE usage_rolled_day SET marks = 4; DELETE FROM usage_day_ms; DELETE FROM usage_day',
    ['sums'],
  ],
  [
    'rows in an hour that lost its sums',
    'UPDATE usage_rolled SET hour = 1; UPDATE usage_hour SET hour = 1; UPDATE usage_hour_ms SET hour = 1; DELETE FROM usage_day; DELETE FROM usage_day_ms; DELETE FROM usage_rolled_day',
    ['sums'],
  ],
  ['more requests in a day than the limit', 'UPDATE key_balance SET day_count = 11', ['I14']],
  ['seven secrets of one key', seven(`${NOW + 1}`), ['I15']],
  ['a secret of a revoked key that was not ended', 'UPDATE api_key SET revoked_at = 5', ['I15']],
  ['a key of a missing account', `UPDATE api_key SET account_id = 'acct_x'`, ['file', 'I2']],
]

for (const [damage, sql, invariants] of DAMAGES) {
  test(`the audit detects ${damage}`, () => {
    // A change of a row marks its hour; only where the sums themselves are damaged must they be valid.
    using ledger = openLedger(invariants.includes('sums') ? sql : `${sql}; ${CHANGED}`)

    const report = auditDatabase(ledger.path, { idle: false, now: NOW })

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
  ['old secrets whose grace period has passed but is not recorded yet', seven(`${NOW - 1}`)],
  [
    'an overshoot of the last request',
    "UPDATE usage SET hold = 10 WHERE request_id = 'r1'; UPDATE api_key SET credit_limit = 510",
  ],
]

for (const [what, sql] of ALLOWED) {
  test(`the audit allows ${what}`, () => {
    using ledger = openLedger(`${sql}; ${CHANGED}`)

    const report = auditDatabase(ledger.path, { idle: false, now: NOW })

    assert.deepEqual(
      report.findings.filter(finding => finding.broken > 0),
      [],
    )
  })
}

test('with no request in flight, an open row and a hold are violations', () => {
  using ledger = openLedger()

  const report = auditDatabase(ledger.path, { idle: true, now: NOW })

  const broken = report.findings.filter(finding => finding.broken > 0)
  assert.deepEqual(
    broken.map(({ invariant, broken, examples }) => ({ invariant, broken, examples })),
    [{ invariant: 'I9', broken: 2, examples: ['r2: open', 'acct_a: holds 500'] }],
  )
})

test('an hour with invalidated sums is not checked against them, nor is its day', () => {
  using ledger = openLedger(`UPDATE usage_hour SET cost = 1; UPDATE usage_rolled SET mark = 4`)

  assert.equal(auditDatabase(ledger.path, { idle: false, now: NOW }).ok, true)
})

test('sums replace the rows of an hour that was dropped, and those being deleted', () => {
  using gone = openLedger(DROPPED)
  using going = openLedger('UPDATE usage_rolled SET dropped = 1; ' + WITHOUT_OPEN)

  for (const { path } of [gone, going]) {
    const report = auditDatabase(path, { idle: true, now: NOW })
    assert.deepEqual(
      report.findings.filter(finding => finding.broken > 0),
      [],
    )
  }
})

test("the audit reads during a writer's transaction, and sees none of it", () => {
  using ledger = openLedger()
  const writer = new DatabaseSync(ledger.path)
  writer.exec('BEGIN IMMEDIATE; UPDATE account SET available = available + 1')

  const report = auditDatabase(ledger.path, { idle: false, now: NOW })

  assert.equal(report.ok, true)
  writer.close()
})

test('a missing, foreign or invalid file is refused by name', () => {
  using ledger = openLedger()
  const foreign = join(ledger.dir, 'foreign.db')
  const other = new DatabaseSync(foreign)
  other.exec('CREATE TABLE t (x)')
  other.close()
  const junk = join(ledger.dir, 'junk.db')
  writeFileSync(junk, 'junk '.repeat(1000))

  for (const path of [join(ledger.dir, 'none.db'), foreign, junk]) {
    assert.throws(() => auditDatabase(path, { idle: false, now: NOW }), {
      name: 'NotAuditable',
      message: new RegExp(path),
    })
  }
})

test('a ledger with an outdated schema is refused with an instruction', () => {
  using ledger = openLedger('PRAGMA user_version = 8')

  assert.throws(() => auditDatabase(ledger.path, { idle: false, now: NOW }), /older version .*start this version once/)
})

test('a data dir is locked by one holder at a time, and free after its release', () => {
  using ledger = openLedger()
  const first = lockDataDir(ledger.dir)

  assert.notEqual(first, 'taken')
  assert.equal(lockDataDir(ledger.dir), 'taken')
  if (first !== 'taken') first.release()
  const second = lockDataDir(ledger.dir)
  assert.notEqual(second, 'taken')
  if (second !== 'taken') second.release()
})

function openLedger(damage = '') {
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
