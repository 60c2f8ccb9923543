// The lock order of a batch on Postgres: accounts before keys, each by id, whatever the order of its operations. Two
// nodes with different orders would deadlock until the server ends one of them.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import pg from 'pg'
import type { ReservationRequest } from '../../../src/store/contract/store.ts'
import { bill, type Fixture, GATE_ENGINES, newKey, openFixture } from '../../support/billing-stores.ts'
import { until } from '../../support/until.ts'

const ACTOR = { name: 'test', address: 'local' }
const postgres = GATE_ENGINES.find(({ engine }) => engine === 'postgres')

// What another transaction holds, and which locks a batch on both accounts has taken by then. Ids in lock order.
const CASES = [
  { held: 'account acct', taken: [] },
  { held: 'account bcct', taken: ['account acct'] },
  { held: 'api_key key', taken: ['account acct', 'account bcct'] },
  { held: 'api_key ley', taken: ['account acct', 'account bcct', 'api_key key'] },
] as const
const ALL = ['account acct', 'account bcct', 'api_key key', 'api_key ley']

if (postgres !== undefined) {
  const { make } = postgres

  for (const [what, turn] of [
    ['in the order of their ids', (ids: readonly string[]) => ids],
    ['in the opposite order', (ids: readonly string[]) => ids.toReversed()],
  ] as const) {
    for (const { held, taken } of CASES) {
      test(`a batch of reservations, and of settlements, ${what} that waits for ${held} has locked everything before it`, async () => {
        await using fixture = await openFixture(make, 10_000n)
        await addOther(fixture)
        const requests = turn(['r-a', 'r-b'])
        const billing = () => requests.map(id => fixture.store.billing.reserve(askFor(id, fixture)))
        const settlements = () => requests.map(id => fixture.store.billing.settle(bill(id, {})))

        assert.deepEqual(await takenWhileHeld(held, billing, fixture.url), taken)
        assert.deepEqual(await takenWhileHeld(held, settlements, fixture.url), taken)
      })
    }
  }

  test('the ends of keys are stored without locks on keys after the one that is waited for', async () => {
    await using fixture = await openFixture(make, 10_000n)
    await addOther(fixture)
    const now = Date.now()
    await fixture.tamper(`UPDATE api_key SET expires_at = ${now - 1000}, expiry_announced = 1 WHERE id = 'key';
      UPDATE api_key SET expires_at = ${now + 3_600_000} WHERE id = 'ley'`)

    const taken = await takenWhileHeld('api_key key', () => [fixture.store.keys.markEnds()], fixture.url)

    assert.deepEqual(taken, [])
    assert.deepEqual(
      (await fixture.outbox()).filter(({ type }) => type === 'key.expiring').map(({ data }) => data.key_id),
      ['ley'],
    )
  })
}

async function addOther({ store }: Fixture): Promise<void> {
  await store.accounts.create({ id: 'bcct', name: 'other' }, ACTOR)
  const credits = { id: 'credits-of-the-other', accountId: 'bcct', amount: 10_000n, note: null, idempotencyKey: 'once' }
  await store.accounts.addCredits(credits, ACTOR)
  await store.keys.create({ ...newKey('ley'), accountId: 'bcct' }, ACTOR)
}

function askFor(id: string, fixture: Fixture): ReservationRequest {
  const ask = fixture.ask(id)
  return id === 'r-a' ? ask : { ...ask, facts: { ...ask.facts, accountId: 'bcct', keyId: 'ley' } }
}

// One batch: all of its operations are submitted in one tick.
async function takenWhileHeld(held: string, batch: () => readonly Promise<unknown>[], url: string) {
  await using holder = await connected(url)
  await using looker = await connected(url)
  await holder.query('BEGIN')
  await holder.query(`SELECT 1 FROM ${rowOf(held)} FOR UPDATE`)
  const done = Promise.all(batch())
  await until('the batch waits', async () => (await looker.query(WAITING)).rows.length > 0)
  const taken: string[] = []
  for (const row of ALL) if (row !== held && (await isLocked(row, looker))) taken.push(row)
  await holder.query('COMMIT')
  await done
  return taken
}

const WAITING = `SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND state = 'active'
  AND application_name = 'turnpike' AND (query LIKE '%FOR NO KEY UPDATE%' OR query LIKE 'UPDATE api_key SET expired_at%')`

function rowOf(name: string): string {
  const [table, id] = name.split(' ')
  return `${table} WHERE id = '${id}'`
}

async function isLocked(row: string, looker: Connected): Promise<boolean> {
  return (await looker.query(`SELECT 1 FROM ${rowOf(row)} FOR UPDATE SKIP LOCKED`)).rows.length === 0
}

type Connected = Awaited<ReturnType<typeof connected>>

async function connected(url: string) {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  return { query: (text: string) => client.query(text), [Symbol.asyncDispose]: () => client.end() }
}
