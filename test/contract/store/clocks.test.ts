// The contract of the store under a wrong clock: a day, expiry or grace period written by a clock far ahead is trusted
// for at most a day, and retention deletes by time that has really passed.

import assert from 'node:assert/strict'
import { randomUUIDv7 } from 'node:crypto'
import { test } from 'node:test'
import { DAY_MS, dayOf, GRACE_MS, keyStatus } from '../../../src/domain/key.ts'
import { HOUR_MS } from '../../../src/domain/usage.ts'
import { NO_ERROR } from '../../../src/store/contract/store.ts'
import { makePartitions } from '../../../src/store/postgres/maintenance.ts'
import { dropHours, retentionClock } from '../../../src/store/sql/retention.ts'
import { text } from '../../../src/store/sql/sql.ts'
import { GATE_ENGINES, newKey, openFixture } from '../../support/billing-stores.ts'
import { ENGINES, OPERATOR, openRepositories, type Repositories } from '../../support/engines.ts'
import { type ManualClock, manualClock } from '../../support/manual-clock.ts'
import { rollAll } from '../../support/usage-hours.ts'
import { addRow } from '../../support/usage-rows.ts'

for (const { engine, make } of GATE_ENGINES) {
  test(`${engine}: a day counter in the future ends after tomorrow, and at once when an operator resets it`, async () => {
    await using fixture = await openFixture(make, 1_000_000n)
    const { store, tamper } = fixture
    const limited = await store.keys.update('key', { dailyLimit: 5 }, OPERATOR)
    assert.ok(typeof limited === 'object')
    const gate = (keyVersion: number) => store.billing.reserve(fixture.ask(randomUUIDv7(), { keyVersion, entry: FREE }))
    const today = dayOf(Date.now())
    await tamper(`UPDATE key_balance SET day = ${today + 30}, day_count = 5 WHERE key_id = 'key'`)

    const spent = [await gate(limited.version), await gate(limited.version)]
    await tamper(`UPDATE key_balance SET day = ${today - 1} WHERE key_id = 'key' AND day = ${today + 1}`)
    const dayAfter = await gate(limited.version)
    await tamper(`UPDATE key_balance SET day = ${today + 30}, day_count = 5 WHERE key_id = 'key'`)
    const reset = await store.keys.resetDay('key', OPERATOR)
    const stale = await gate(limited.version)
    const granted = await gate(reset?.version ?? 0)

    for (const verdict of spent) {
      assert.deepEqual(verdict, { kind: 'daily_spent', day: today + 1, dayCount: 5 })
    }
    assert.equal(dayAfter.kind, 'reserved', 'the trusted day is stored')
    assert.equal(stale.kind, 'key_changed', 'every node reads it again')
    assert.ok(granted.kind === 'reserved')
    assert.deepEqual([granted.day, granted.dayCount], [today, 1])
    const [event] = (await store.events.list({ limit: 1, subject: 'key' })).data
    const day = new Date((today + 30) * DAY_MS).toISOString().slice(0, 10)
    assert.deepEqual([event?.action, event?.detail], ['key.reset_day', JSON.stringify({ day, requests: 5 })])
    assert.equal(await store.keys.resetDay('key_nobody', OPERATOR), undefined)
  })
}

for (const { engine, open } of ENGINES) {
  test(`${engine}: a key expired by a clock far ahead is valid again, one whose expiry has passed is not`, async () => {
    const clock = manualClock()
    await using repositories = await openRepositories(open, clock)
    const began = clock.now()
    await repositories.accounts.create({ id: 'acct', name: 'test' }, OPERATOR)
    await repositories.keys.create({ ...newKey('key_later'), expiresAt: began + 20 * DAY_MS }, OPERATOR)
    await repositories.keys.create({ ...newKey('key_soon'), expiresAt: began + HOUR_MS }, OPERATOR)
    const statusOf = async (id: string) => keyStatus((await repositories.keys.get(id))!, clock.now())

    clock.set(began + 30 * DAY_MS)
    const ended = await repositories.keys.markEnds()
    clock.set(began)
    const revived = await repositories.keys.markEnds()
    const again = await repositories.keys.markEnds()

    assert.deepEqual([ended, revived, again], [['key_later', 'key_soon'], ['key_later'], []])
    assert.deepEqual([await statusOf('key_later'), await statusOf('key_soon')], ['active', 'expired'])
    clock.set(began + 21 * DAY_MS)
    await repositories.keys.markEnds()
    clock.set(began + 20 * DAY_MS - HOUR_MS)
    await repositories.keys.markEnds()
    assert.equal(await statusOf('key_later'), 'expired', 'it is trusted within a day')
  })

  test(`${engine}: links and sessions whose end has passed stay ended when the clock is set back`, async () => {
    const clock = manualClock()
    await using repositories = await openRepositories(open, clock)
    const { portal, sessions } = repositories
    const began = clock.now()
    const use = await openSessions(repositories)

    clock.set(began + 2 * HOUR_MS)
    await portal.markEnds()
    await sessions.markEnds()
    clock.set(began)

    assert.deepEqual(
      (await portal.findLinks(['used', 'unused'])).map(({ state }) => state),
      ['used', 'expired'],
    )
    assert.equal((await use('unused')).state, 'expired')
    assert.equal((await portal.bearers(['used']))[0]?.state, 'ended')
    assert.deepEqual((await portal.list('acct', { limit: 9 }))?.data, [])
    assert.deepEqual(await sessions.bearers(['s']), [undefined])
  })

  test(`${engine}: links and sessions of a clock that was ahead end when it is set right`, async () => {
    const clock = manualClock()
    await using repositories = await openRepositories(open, clock)
    const { portal, sessions } = repositories
    const began = clock.now()
    clock.set(began + 30 * DAY_MS)
    const use = await openSessions(repositories)
    const states = async () => [
      (await portal.findLinks(['unused']))[0]?.state,
      (await portal.bearers(['used']))[0]?.state,
      (await sessions.bearers(['s']))[0]?.id,
    ]

    clock.set(began + 30 * DAY_MS - HOUR_MS)
    for (const each of [portal, sessions]) await each.markEnds()
    assert.deepEqual(await states(), ['open', 'open', 'ses'], 'clocks are set back a little')
    clock.set(began)
    for (const each of [portal, sessions]) await each.markEnds()

    assert.deepEqual(await states(), ['expired', 'ended', undefined])
    assert.equal((await use('unused')).state, 'expired')

    // The next link removes them; they would stay until the time of that clock.
    const link = { tokenHash: 'next', accountId: 'acct', permissions: [], returnUrl: null, validMs: 300_000 }
    await portal.createLink(link, 9, OPERATOR)
    const links = await repositories.sql.all('SELECT token_hash FROM portal_link')
    assert.deepEqual(
      links.map(row => row.token_hash),
      ['next'],
    )
    assert.deepEqual(await repositories.sql.all('SELECT id FROM portal_session'), [])
  })

  test(`${engine}: many ends that nodes store at the same time are all stored, without a deadlock`, async () => {
    const clock = manualClock()
    await using repositories = await openRepositories(open, clock)
    const { portal, sessions, accounts, operators, sql } = repositories
    await accounts.create({ id: 'acct', name: 'test' }, OPERATOR)
    await operators.create({ id: 'op', name: 'op', role: 'admin', tokenHash: 't' }, 9, OPERATOR)
    const now = clock.now()
    // Expired and idle, in different orders of their ids and of both times.
    const timesOf = (i: number) => `${now - 5 * HOUR_MS - ((i * 7919) % 400)}, ${now - HOUR_MS + ((i * 104_729) % 400)}`
    const columns = 'secret_hash, address, created_at, used_at, expires_at'

    for (let round = 0; round < 5; round++) {
      const rowsOf = (owner: string, more = '') =>
        Array.from({ length: 400 }, (_, i) => {
          const id = `${round}_${i}`
          return `('s${id}', '${owner}', 'h${id}', '', 0, ${timesOf(i)}${more})`
        }).join()
      await sql.run(
        `INSERT INTO portal_session (id, account_id, ${columns}, permissions) VALUES ${rowsOf('acct', ", '[]'")}`,
      )
      await sql.run(`INSERT INTO session (id, operator_id, ${columns}) VALUES ${rowsOf('op')}`)
      const nodes = Array.from({ length: 12 }, async () => {
        for (let i = 0; i < 4; i++) for (const each of [portal, sessions]) await each.markEnds()
      })
      await Promise.all(nodes)
    }

    assert.deepEqual(await sql.all('SELECT id FROM portal_session WHERE ended_at IS NULL'), [])
    assert.deepEqual(await sql.all('SELECT id FROM session'), [])
  })

  test(`${engine}: a grace period set by a clock far ahead ends an hour from now`, async () => {
    const clock = manualClock()
    await using repositories = await openRepositories(open, clock)
    const began = clock.now()
    await repositories.accounts.create({ id: 'acct', name: 'test' }, OPERATOR)
    await repositories.keys.create(newKey('key'), OPERATOR)
    clock.set(began + 30 * DAY_MS)
    await repositories.keys.rotate('key', { hash: 'b'.repeat(64), prefix: 'svc_live_', last4: 'wxyz' }, OPERATOR)
    clock.set(began)

    const changed = await repositories.keys.markEnds()

    const key = await repositories.keys.get('key')
    assert.deepEqual(changed, ['key'])
    assert.deepEqual(
      key?.previous.map(secret => secret.graceExpiresAt),
      [began + GRACE_MS],
    )
  })

  if (engine === 'sqlite') retentionTests(open)
  else {
    test('postgres: partitions created by a clock far ahead do not prevent those of earlier months', async () => {
      const clock = manualClock(Date.now())
      await using repositories = await openRepositories(open, clock)
      const began = clock.now()
      clock.set(began + 400 * DAY_MS)
      await makePartitions(repositories.sql)
      clock.set(began)
      await makePartitions(repositories.sql)

      const row = await addRow(repositories, began + 32 * DAY_MS)

      const found = await repositories.sql.get(
        'SELECT tableoid::regclass::text AS name FROM usage WHERE request_id = $1',
        [row],
      )
      assert.notEqual(text(found?.name), 'usage_rest')
    })
  }
}

function retentionTests(open: (typeof ENGINES)[number]['open']): void {
  test('retention deletes nothing by a clock that jumped a month, nor after a restart with it', async () => {
    const clock = manualClock()
    await using repositories = await openWithRows(open, clock)
    const began = clock.now()
    const running = clockOf(repositories, clock)
    await running.believed()
    clock.advance(60_000)
    await running.believed()

    clock.set(began + 31 * DAY_MS)
    clock.advance(60_000)
    const jumped = await running.believed()
    const restarted = clockOf(repositories, clock)
    const first = await restarted.believed()
    clock.advance(HOUR_MS)
    const later = await restarted.believed()

    assert.ok(jumped <= began + 3 * 60_000, `trusts ${jumped - began} ms after three minutes`)
    assert.ok(first <= began + 3 * 60_000)
    assert.ok(later <= began + 2 * HOUR_MS + 3 * 60_000)
    assert.equal(await drop(repositories, later), 0)
    assert.equal((await repositories.usage.list({ limit: 100 })).data.length, DAYS)
  })

  test('a clock that jumps drops no window of a budget', async () => {
    const clock = manualClock()
    await using repositories = await openWithRows(open, clock)
    await repositories.sql.run(
      `INSERT INTO budget_window (subject, period, began, spent, held) VALUES ('key', 'hour', $1, 1, 0)`,
      [clock.now() - (clock.now() % HOUR_MS)],
    )
    const windows = async () => Number((await repositories.sql.get('SELECT COUNT(*) AS n FROM budget_window'))?.n)
    const running = clockOf(repositories, clock)
    await running.believed()

    clock.set(clock.now() + 31 * DAY_MS)
    clock.advance(60_000)
    await repositories.keys.markEnds()
    await repositories.retention.dropWindows(await running.believed())
    assert.equal(await windows(), 1)
    await repositories.retention.dropWindows(clock.now())
    assert.equal(await windows(), 0)
  })

  test('after a pause retention catches up by at most a day per day', async () => {
    const clock = manualClock()
    await using repositories = await openWithRows(open, clock)
    const began = clock.now()
    await clockOf(repositories, clock).believed()
    clock.set(began + 4 * DAY_MS)
    const running = clockOf(repositories, clock)

    const believed: number[] = []
    for (let day = 0; day < 6; day++) {
      believed.push(((await running.believed()) - began) / DAY_MS)
      clock.advance(DAY_MS)
    }

    assert.deepEqual(believed, [0, 2, 4, 6, 8, 9])
  })

  test('several nodes that take turns catch up no faster than one', async () => {
    const clock = manualClock()
    await using repositories = await openWithRows(open, clock)
    const began = clock.now()
    const nodes = [clockOf(repositories, clock), clockOf(repositories, clock), clockOf(repositories, clock)]
    for (const node of nodes) await node.believed()
    clock.set(began + 30 * DAY_MS)

    let believed = began
    for (let turn = 0; turn < 6; turn++) {
      clock.advance(HOUR_MS)
      for (const node of nodes) believed = await node.believed()
    }

    assert.equal(believed - began, 12 * HOUR_MS)
  })

  test('without a stored time the newest row defines it', async () => {
    const clock = manualClock()
    await using repositories = await openWithRows(open, clock)
    const began = clock.now()
    clock.set(began + 300 * DAY_MS)

    const believed = await clockOf(repositories, clock).believed()

    assert.ok(believed <= began + DAY_MS)
  })

  test('a shortened retention is applied at once', async () => {
    const clock = manualClock()
    await using repositories = await openWithRows(open, clock)

    const dropped = await drop(repositories, await clockOf(repositories, clock).believed(), 5)

    assert.ok(dropped >= 24 * 4, `${dropped} hours`)
    assert.equal((await repositories.usage.list({ limit: 100 })).data.length, 5)
  })
}

const DAYS = 10
const KEEP_DAYS = 20

async function openWithRows(open: (typeof ENGINES)[number]['open'], clock: ManualClock): Promise<Repositories> {
  const repositories = await openRepositories(open, clock)
  for (let day = 0; day < DAYS; day++) await addRow(repositories, clock.now() - day * DAY_MS - HOUR_MS, { cost: 0 })
  await rollAll(repositories)
  return repositories
}

function clockOf(repositories: Repositories, clock: ManualClock) {
  return retentionClock({ ...clock, settings: repositories.settings, retention: repositories.retention })
}

async function drop(repositories: Repositories, now: number, keepDays = KEEP_DAYS): Promise<number> {
  return (await dropHours(now - keepDays * DAY_MS, repositories.retention)).dropped
}

const FREE = { kind: 'unbilled', outcome: 'completed', httpStatus: 200, ...NO_ERROR } as const

// A used link with its session, one that is not used, and an operator's session.
async function openSessions({ accounts, portal, sessions, operators }: Repositories) {
  await accounts.create({ id: 'acct', name: 'test' }, OPERATOR)
  const link = { accountId: 'acct', permissions: [], returnUrl: null, validMs: 300_000 }
  const use = (token: string) =>
    portal.open({ id: `pses_${token}`, tokenHash: token, secretHash: token, address: '', replaces: undefined }, 9)
  for (const tokenHash of ['used', 'unused']) await portal.createLink({ ...link, tokenHash }, 9, OPERATOR)
  await use('used')
  await operators.setRoot('root')
  await sessions.open({ id: 'ses', secretHash: 's', tokenHash: 'root', address: '', replaces: undefined }, 9)
  return use
}
