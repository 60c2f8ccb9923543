// A kill inside a write-back, inside a replay of the journal, and while rows are moved to the index by key: the next start has
// every answered chat once in the balances, and every row once in the lists.
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { type Gateway, type NewKey, standardConfig, startGateway } from '../support/gateway.ts'
import { multiplyRows } from '../support/transfer.ts'
import { until } from '../support/until.ts'
import { startUpstream } from '../support/upstream.ts'
import { balanceOf, credits, nano } from '../support/usage.ts'

const WRITE_BACK = ['in_write_back', 'before_write_back_commit', 'after_write_back_commit']
const REPLAY = ['in_replay', 'before_replay_commit', 'after_replay_commit']
// Rows of few keys are moved as they are deleted.
const INDEX_MOVES = [
  {
    keys: 41,
    rows: 'rows of many keys',
    points: ['in_index_move', 'after_index_move', 'in_index_delete', 'after_index_delete'],
  },
  { keys: 1, rows: 'rows of one key', points: ['in_index_delete', 'after_index_delete'] },
]
// A move of the index begins with 32,768 rows.
const ROWS = 33_000

test('after a kill inside a write-back or a replay every answered chat is in the balances once', async t => {
  await using upstream = await startUpstream()
  await using gateway = await startGateway({ config: standardConfig(upstream.url) })
  const keys = await Promise.all(Array.from({ length: 3 }, () => gateway.createKey()))
  const spent = new Map(keys.map(({ accountId }) => [accountId, 0n]))

  for (const point of WRITE_BACK) {
    await t.test(point, async () => {
      await gateway.restart(killAt(point))
      await chats(gateway, keys, spent)
      assert.equal(await gateway.exited, null)

      await gateway.restart(killAt(undefined))

      await assertSpent(gateway, spent)
    })
  }

  await t.test('a replay that is interrupted three times', async () => {
    await chats(gateway, keys, spent)
    await gateway.kill()
    // The chats took less than the second after which a write-back follows, or they are repeated.
    await until('the journal has entries', async () => {
      if (journalOf(gateway) > 0) return true
      await gateway.restart(killAt(undefined))
      await chats(gateway, keys, spent)
      await gateway.kill()
      return false
    })

    const left: number[] = []
    for (const point of REPLAY) {
      await assert.rejects(gateway.restart(killAt(point)), /ended with null/)
      left.push(journalOf(gateway))
    }
    await gateway.restart(killAt(undefined))

    assert.deepEqual(
      left.map(entries => entries > 0),
      [true, true, false],
      'only the third was committed',
    )
    await assertSpent(gateway, spent)
  })

  assert.equal((await gateway.chat({}, { key: keys[0]?.secret ?? '' })).status, 200)
  assert.ok((await gateway.audit()).ok)
})

for (const { keys, rows, points } of INDEX_MOVES) {
  test(`after a kill while ${rows} are moved to the index by key, lists have every row once`, async () => {
    await using upstream = await startUpstream()
    await using gateway = await startGateway({ config: standardConfig(upstream.url) })
    const { id: accountId } = await gateway.createAccount()
    await gateway.addCredits(accountId, '100000')
    const [key] = await Promise.all(Array.from({ length: keys }, () => chatWithNewKey(gateway, accountId)))
    await gateway.stop({ hurry: true })
    multiplyRows(gateway.dataDir, ROWS)

    // A kill at the last point leaves too few rows for another move.
    for (const point of points) {
      await dieAt(point, gateway)

      assert.deepEqual(rowsOf(gateway), { rows: ROWS + keys, listed: ROWS + keys }, point)
    }
    await gateway.restart(killAt(undefined))

    assert.equal((await gateway.chat({}, { key: key!.secret })).status, 200)
    const audit = await gateway.audit()
    assert.ok(audit.ok, JSON.stringify(audit.output))
  })
}

async function chatWithNewKey(gateway: Gateway, accountId: string): Promise<NewKey> {
  const key = await gateway.createKey({ account_id: accountId, daily_limit: null })
  assert.equal((await gateway.chat({}, { key: key.secret })).status, 200)
  return key
}

// The move begins with the start, which may be ready before it gets there.
async function dieAt(point: string, gateway: Gateway): Promise<void> {
  try {
    await gateway.restart(killAt(point))
  } catch (error) {
    assert.match((error as Error).message, /ended with null/)
    return
  }
  assert.equal(await gateway.exited, null, point)
}

function killAt(point: string | undefined): Record<string, string | undefined> {
  return { TURNPIKE_FAILPOINTS: point && `${point}=kill` }
}

async function chats(gateway: Gateway, keys: readonly NewKey[], spent: Map<string, bigint>): Promise<void> {
  const answers = await Promise.all(keys.map(({ secret }) => gateway.chat({}, { key: secret })))
  for (const [i, { accountId }] of keys.entries()) {
    assert.equal(answers[i]?.status, 200)
    spent.set(accountId, (spent.get(accountId) ?? 0n) + nano(answers[i]?.headers['x-svc-cost']))
  }
}

async function assertSpent(gateway: Gateway, spent: ReadonlyMap<string, bigint>): Promise<void> {
  for (const [accountId, cost] of spent) {
    const available = credits(nano('100') - cost)
    assert.deepEqual(await balanceOf(gateway, accountId), { available, held: '0', spent: credits(cost), owed: '0' })
  }
  const audit = await gateway.audit()
  assert.ok(audit.ok, JSON.stringify(audit.output))
}

function journalOf(gateway: Gateway): number {
  return ask(gateway, 'SELECT COUNT(*) AS n FROM balance_journal').n ?? 0
}

// Rows of the table, and of the lists of their keys, which have a row that is being moved only once.
function rowsOf(gateway: Gateway): Record<string, number> {
  return ask(
    gateway,
    `SELECT (SELECT COUNT(*) FROM usage) AS rows,
       (SELECT COUNT(*) FROM (SELECT DISTINCT key_id, request_id FROM usage_of_key)) AS listed`,
  )
}

function ask(gateway: Gateway, statement: string): Record<string, number> {
  using db = new DatabaseSync(join(gateway.dataDir, 'turnpike.db'), { timeout: 5000 })
  return { ...(db.prepare(statement).get() as Record<string, number>) }
}
