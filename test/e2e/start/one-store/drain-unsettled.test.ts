// Drained means settled: a settlement that the store rejected is retried while the process ends, and one that cannot be
// booked is reported by the exit code and by its id.
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import pg from 'pg'
import type { Bounds } from '../../../../src/config/limits.ts'
import { withBounds } from '../../../support/bounds.ts'
import { temporaryFolder } from '../../../support/folder.ts'
import { ENCRYPTION_KEY, type Gateway, standardConfig, startGateway } from '../../../support/gateway.ts'
import { freshSchema, hasPostgres, startServer } from '../../../support/postgres.ts'
import { until } from '../../../support/until.ts'
import { startUpstream, type Upstream } from '../../../support/upstream.ts'
import { settledRow } from '../../../support/usage.ts'

const LATE = 'settlement failed; retrying'
const NOT_DRAINED = 'exiting with unsettled requests: the database did not accept them'
// The eighth consecutive failure is followed by a pause of 5 s, as is every later one.
const LONG_PAUSE_AFTER = 8

test('a store that is back during the drain: the waiting settlement is retried and booked', async () => {
  await using fixture = await openFixture()
  const { gateway, told, id } = await unsettled(fixture)
  await until('it is in its long pause', () => said(gateway, LATE) >= LONG_PAUSE_AFTER, 30_000)

  gateway.signal('SIGTERM')
  await until('it drains', () => said(gateway, 'draining') === 1)
  const before = said(gateway, LATE)
  const startedMs = performance.now()
  await until('it has been tried twice more', () => said(gateway, LATE) >= before + 2, 30_000)
  const tookMs = performance.now() - startedMs
  assert.ok(tookMs < 9500, `without a wake-up this takes 10 s, and took ${tookMs} ms`)
  fixture.release()

  assert.equal(await gateway.exited, 0)
  assert.equal(said(gateway, 'drained'), 1)
  await gateway.restart()
  const row = await settledRow(gateway, id)
  assert.deepEqual([row.state, row.cost], ['settled', told])
  assert.ok((await gateway.audit()).ok)
})

for (const { how, bounds, signals } of [
  { how: 'in time', bounds: { drainSettleMsMax: 1000 }, signals: 1 },
  { how: 'after a second SIGTERM', bounds: { drainSettleHurriedMsMax: 500 }, signals: 2 },
] as const) {
  test(`a store that does not come back ${how}: exit code 1 and the request id`, async () => {
    await using fixture = await openFixture(bounds)
    const { gateway, id } = await unsettled(fixture)

    gateway.signal('SIGTERM')
    await until('it drains', () => said(gateway, 'draining') === 1)
    if (signals === 2) gateway.signal('SIGTERM')

    assert.equal(await gateway.exited, 1)
    const [line] = gateway.logs.filter(({ msg }) => String(msg) === NOT_DRAINED)
    assert.deepEqual([line?.unsettled, line?.ids], [1, [id]])
    assert.equal(said(gateway, 'drained'), 0)
    fixture.release()
    await gateway.restart()
    assert.equal((await settledRow(gateway, id)).state, 'recovered')
    assert.ok((await gateway.audit()).ok)
  })
}

if (hasPostgres()) {
  test('a Postgres that is back during the drain gets the settlement', async () => {
    const postgres = await startServer()
    await using fixture = await openFixture({}, { DATABASE_URL: postgres.url })
    const { gateway, told, id } = await unsettled(fixture, () => postgres.stop())

    gateway.signal('SIGTERM')
    await until('it drains', () => said(gateway, 'draining') === 1)
    await postgres.start()

    assert.equal(await gateway.exited, 0)
    await gateway.restart()
    const row = await settledRow(gateway, id)
    assert.deepEqual([row.state, row.cost], ['settled', told])
    assert.ok((await gateway.audit()).ok)
  })

  test('a Postgres that does not come back: exit code 1 and the request id', async () => {
    const postgres = await startServer()
    await using fixture = await openFixture({ drainSettleMsMax: 1000 }, { DATABASE_URL: postgres.url })
    const { gateway, id } = await unsettled(fixture, () => postgres.stop())

    gateway.signal('SIGTERM')

    assert.equal(await gateway.exited, 1)
    const [line] = gateway.logs.filter(({ msg }) => String(msg) === NOT_DRAINED)
    assert.deepEqual(line?.ids, [id])
    await postgres.start()
  })

  test('on Postgres the node keeps its lease until its last settlement is booked', async () => {
    await using schema = await freshSchema()
    const client = new pg.Client(schema.url)
    await client.connect()
    await using fixture = await openFixture({}, { DATABASE_URL: schema.url })
    const { gateway, told, id } = await unsettled(fixture, async () => {
      await client.query('BEGIN')
      await client.query('SELECT 1 FROM account FOR UPDATE')
    })
    const nodes = async () => (await client.query('SELECT owner FROM node')).rows.length

    gateway.signal('SIGTERM')
    await until('it drains', () => said(gateway, 'draining') === 1)
    const before = said(gateway, LATE)
    await until('it is tried while it drains', () => said(gateway, LATE) > before, 20_000)
    assert.equal(await nodes(), 1, 'its lease is not released')
    await client.query('COMMIT')

    assert.equal(await gateway.exited, 0)
    assert.equal(await nodes(), 0, 'now it is released')
    await gateway.restart()
    const row = await settledRow(gateway, id)
    assert.deepEqual([row.state, row.cost], ['settled', told])
    await client.end()
  })
}

type Fixture = AsyncDisposable & {
  readonly gateway: Gateway
  readonly upstream: Upstream
  // Unblocks the embedded store.
  release(): void
  lock(): void
  finish(): void
}

async function openFixture(bounds: Partial<Bounds> = {}, shared?: { readonly DATABASE_URL: string }): Promise<Fixture> {
  const upstream = await startUpstream()
  const ending = Promise.withResolvers<void>()
  upstream.script(async () => {
    await ending.promise
    return {}
  })
  const { nodeArgs, env } = withBounds({ settleWaitMs: 200, ...bounds })
  const folder = await temporaryFolder()
  const store = shared === undefined ? {} : { ...shared, TURNPIKE_ENCRYPTION_KEY: ENCRYPTION_KEY }
  const config = standardConfig(upstream.url, { drain_delay: 0 })
  const gateway = await startGateway({ config, nodeArgs, env: { ...env, ...store }, dataDir: folder.path })
  let locked: DatabaseSync | undefined
  return {
    gateway,
    upstream,
    finish: ending.resolve,
    lock() {
      locked = new DatabaseSync(join(gateway.dataDir, 'turnpike.db'), { timeout: 5000 })
      locked.exec('BEGIN IMMEDIATE')
    },
    release() {
      locked?.close()
      locked = undefined
    },
    async [Symbol.asyncDispose]() {
      locked?.close()
      ending.resolve()
      await gateway[Symbol.asyncDispose]()
      await upstream[Symbol.asyncDispose]()
      await folder[Symbol.asyncDispose]()
    },
  }
}

// A request that was answered, with its cost, while the store rejected its settlement.
async function unsettled(
  { gateway, upstream, lock, finish }: Fixture,
  takeAway: () => unknown = lock,
): Promise<{ readonly gateway: Gateway; readonly told: string; readonly id: string }> {
  const { secret } = await gateway.createKey()
  const asked = gateway.chat({}, { key: secret })
  await upstream.received(1)
  await takeAway()
  finish()
  const { status, headers } = await asked
  assert.equal(status, 200)
  await until('it is logged', () => said(gateway, LATE) > 0, 20_000)
  return { gateway, told: String(headers['x-svc-cost']), id: String(headers['x-request-id']) }
}

function said(gateway: Gateway, words: string): number {
  return gateway.logs.filter(({ msg }) => String(msg) === words).length
}
