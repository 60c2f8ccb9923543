// Ten thousand events at once: all arrive in order, memory stays bounded, and chats are not delayed noticeably.
import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import pg from 'pg'
import { eventIdAt } from '../../../../src/store/sql/outbox.ts'
import { ENCRYPTION_KEY, type Gateway, standardConfig, startGateway } from '../../../support/gateway.ts'
import { MIB, residentBytes } from '../../../support/memory.ts'
import { freshSchema, hasPostgres } from '../../../support/postgres.ts'
import { until } from '../../../support/until.ts'
import { startUpstream } from '../../../support/upstream.ts'
import { startReceiver } from '../../../support/webhook-receiver.ts'

const EVENTS = 10_000
const allow = { TURNPIKE_WEBHOOKS_ALLOW_PRIVATE: '1' }

test('sqlite: ten thousand events at once', async () => {
  await using upstream = await startUpstream()
  await using gateway = await startGateway({ env: allow, config: standardConfig(upstream.url) })
  await flood(gateway, async rows => {
    using db = new DatabaseSync(`${gateway.dataDir}/turnpike.db`, { timeout: 5000 })
    const insert = db.prepare('INSERT INTO outbox (id, type, created_at, data) VALUES (?, ?, ?, ?)')
    db.exec('BEGIN IMMEDIATE')
    for (const row of rows) insert.run(...row)
    db.exec('COMMIT')
  })
})

if (hasPostgres()) {
  test('postgres: ten thousand events at once', async () => {
    await using schema = await freshSchema()
    await using upstream = await startUpstream()
    const env = { ...allow, DATABASE_URL: schema.url, TURNPIKE_ENCRYPTION_KEY: ENCRYPTION_KEY }
    await using gateway = await startGateway({ env, config: standardConfig(upstream.url) })
    await flood(gateway, async rows => {
      const client = new pg.Client({ connectionString: schema.url })
      await client.connect()
      await client.query(
        `INSERT INTO outbox (id, type, created_at, data)
         SELECT r->>0, r->>1, (r->>2)::bigint, r->>3 FROM json_array_elements($1::json) AS r`,
        [JSON.stringify(rows)],
      )
      await client.end()
    })
  })
}

type Raised = readonly [id: string, type: string, at: number, data: string]

async function flood(gateway: Gateway, insert: (rows: readonly Raised[]) => Promise<void>): Promise<void> {
  await using receiver = await startReceiver()
  await gateway.admin('POST', '/webhooks', { url: receiver.url, events: ['balance.low'] })
  const { secret } = await gateway.createKey({ rpm_limit: 1_000_000, daily_limit: null })
  for (let i = 0; i < 100; i++) await gateway.chat({}, { key: secret })
  const usual = await chats(gateway, secret, 200)
  const before = await residentBytes(gateway)

  const now = Date.now()
  const data = (i: number) =>
    JSON.stringify({ account_id: `acct_${i}`, account_name: 'Acme', available: '1', threshold: '2' })
  await insert(Array.from({ length: EVENTS }, (_, i) => [eventIdAt(now), 'balance.low', now, data(i)] as const))
  // An event of this process wakes it.
  await gateway.createKey()
  await until('it has begun', () => receiver.received.length > 0)
  const from = performance.now()
  const during = await chats(gateway, secret, 200)
  const sentMeanwhile = receiver.received.length
  const peak = await residentBytes(gateway)
  await until('all have arrived', () => receiver.received.length >= EVENTS, 300_000)
  const seconds = (performance.now() - from) / 1000

  assert.deepEqual(
    receiver.received.map(({ body }) => body.data.account_id),
    Array.from({ length: EVENTS }, (_, i) => `acct_${i}`),
  )
  const figures = `${seconds.toFixed(1)} s; chats ${usual.toFixed(1)} ms, ${during.toFixed(1)} ms while ${sentMeanwhile} were sent; ${Math.round((peak - before) / MIB)} MiB more`
  process.stdout.write(`# ${EVENTS} events: ${figures}\n`)
  assert.ok(during < 2 * usual + 50, figures)
  assert.ok(peak - before < 100 * MIB, figures)
}

// The median, in milliseconds.
async function chats(gateway: Gateway, key: string, count: number): Promise<number> {
  const times: number[] = []
  for (let i = 0; i < count; i++) {
    const from = performance.now()
    const { status } = await gateway.chat({}, { key })
    assert.equal(status, 200)
    times.push(performance.now() - from)
  }
  return times.sort((a, b) => a - b)[count >> 1] ?? 0
}
