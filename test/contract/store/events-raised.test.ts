// Events of keys and credits, on every engine: each once per change, in its transaction, with the data that webhooks send.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { NO_FILE } from '../../../src/config/file.ts'
import { GRACE_MS } from '../../../src/domain/key.ts'
import { ENGINES, OPERATOR, openRepositories, type Repositories } from '../../support/engines.ts'

const DAY_MS = 86_400_000
let made = 0

for (const { engine, open } of ENGINES) {
  test(`${engine}: the life of a key raises each of its events once`, async () => {
    await using store = await openWithKey()
    const { keys, clock } = store

    await keys.rotate('key_1', newSecret(), OPERATOR)
    clock.advance(GRACE_MS)
    await keys.markEnds()
    await keys.markEnds()
    await keys.rotate('key_1', newSecret(), OPERATOR)
    await keys.endGrace('key_1', undefined, OPERATOR)
    await keys.endGrace('key_1', undefined, OPERATOR)
    await keys.revoke('key_1', OPERATOR)
    await keys.revoke('key_1', OPERATOR)

    const raised = await raisedIn(store)
    assert.deepEqual(
      raised.map(({ type }) => type),
      ['key.created', 'key.rotated', 'key.grace_ended', 'key.rotated', 'key.grace_ended', 'key.revoked'],
    )
    assert.deepEqual(raised[0], {
      type: 'key.created',
      accountId: 'acct_1',
      data: {
        key_id: 'key_1',
        key_name: 'prod',
        key_label: 'svc_live_…s001',
        account_id: 'acct_1',
        actor: 'operator',
        expires_at: null,
      },
    })
    assert.equal(raised[1]?.data.grace_expires_at, '2026-01-01T01:00:00.000Z')
    assert.deepEqual([raised[2]?.data.ended, raised[4]?.data.ended], [['s001'], ['s002']])
    assert.equal(raised[5]?.data.key_label, 'svc_live_…s003')
  })

  test(`${engine}: a key is announced seven days before it expires, once per expiry`, async () => {
    await using store = await openWithKey()
    const { keys, clock } = store
    const expiring = async () => (await raisedIn(store)).filter(({ type }) => type === 'key.expiring')
    const expiresAt = clock.now() + 30 * DAY_MS

    await keys.update('key_1', { expiresAt }, OPERATOR)
    clock.advance(23 * DAY_MS - 1)
    await keys.markEnds()
    assert.equal((await expiring()).length, 0)
    clock.advance(1)
    for (let i = 0; i < 3; i++) await keys.markEnds()
    assert.deepEqual(
      (await expiring()).map(({ data }) => data.expires_at),
      [new Date(expiresAt).toISOString()],
    )
    await keys.update('key_1', { name: 'other' }, OPERATOR)
    await keys.update('key_1', { expiresAt: expiresAt + DAY_MS }, OPERATOR)
    for (let i = 0; i < 3; i++) await keys.markEnds()
    clock.advance(DAY_MS)
    for (let i = 0; i < 3; i++) await keys.markEnds()
    assert.equal((await expiring()).length, 2)
  })

  test(`${engine}: credits that are added or deducted are told with the new balance, once per entry`, async () => {
    await using store = await openWithKey()
    const add = (idempotencyKey: string, amount: bigint, note: string | null) =>
      store.accounts.addCredits(
        { id: `entry_${idempotencyKey}`, accountId: 'acct_1', amount, note, idempotencyKey },
        OPERATOR,
      )

    await add('a', 10_000_000_000n, 'invoice 7')
    await add('a', 10_000_000_000n, 'invoice 7')
    await add('b', -2_500_000_000n, null)
    assert.equal(await add('c', -20_000_000_000n, null), 'too_low')

    const told = (await raisedIn(store)).filter(({ type }) => type === 'credits.added')
    assert.deepEqual(
      told.map(({ data }) => data),
      [
        {
          account_id: 'acct_1',
          account_name: 'Acme',
          entry_id: 'entry_a',
          kind: 'topup',
          amount: '10',
          available: '10',
          note: 'invoice 7',
        },
        {
          account_id: 'acct_1',
          account_name: 'Acme',
          entry_id: 'entry_b',
          kind: 'adjustment',
          amount: '-2.5',
          available: '7.5',
          note: null,
        },
      ],
    )
  })

  async function openWithKey() {
    const store = await openRepositories(open)
    made = 0
    await store.accounts.create({ id: 'acct_1', name: 'Acme' }, OPERATOR)
    const controls = { ...NO_FILE.defaults, name: 'prod' }
    await store.keys.create({ ...controls, id: 'key_1', accountId: 'acct_1', secret: newSecret() }, OPERATOR)
    return store
  }
}

function newSecret() {
  made += 1
  const last4 = `s${String(made).padStart(3, '0')}`
  return { hash: last4.padEnd(64, 'a'), prefix: 'svc_live_', last4 }
}

async function raisedIn({ sql }: Repositories) {
  const rows = await sql.all('SELECT type, account_id, data FROM outbox ORDER BY id')
  return rows.map(row => ({
    type: String(row.type),
    accountId: row.account_id,
    data: JSON.parse(String(row.data)) as Record<string, unknown>,
  }))
}
