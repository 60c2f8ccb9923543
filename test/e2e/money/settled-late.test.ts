// A settlement that the store rejected at first: no sweep recovers its row meanwhile, and it is booked at the reported
// cost.
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { openSqlite } from '../../../src/store/sqlite/sqlite.ts'
import { withBounds } from '../../support/bounds.ts'
import { temporaryFolder } from '../../support/folder.ts'
import { standardConfig, startGateway } from '../../support/gateway.ts'
import { until } from '../../support/until.ts'
import { startUpstream } from '../../support/upstream.ts'
import { settledRow } from '../../support/usage.ts'

const LATE = 'settlement failed; retrying'

test('recovery skips a row whose settlement is still being retried', async () => {
  await using folder = await temporaryFolder()
  await using upstream = await startUpstream()
  await using gateway = await startGateway({
    ...withBounds({ sweepEveryMs: 50, settleWaitMs: 100 }),
    config: standardConfig(upstream.url),
    dataDir: folder.path,
  })
  const ending = Promise.withResolvers<void>()
  upstream.next(async () => {
    await ending.promise
    return {}
  })
  const asked = gateway.chat()
  await upstream.received(1)
  const locked = new DatabaseSync(join(folder.path, 'turnpike.db'), { timeout: 5000 })
  locked.exec('BEGIN IMMEDIATE')
  ending.resolve()
  const { headers } = await asked
  const said = (words: string) => gateway.logs.filter(({ msg }) => String(msg) === words).length
  // After the sixth failure the next attempt is 1.6 s later: time for thirty sweeps.
  await until('it has failed six times', () => said(LATE) >= 6, 60_000)
  locked.close()

  await until('it is booked', async () => (await settledRow(gateway, headers['x-request-id'])).state !== 'open', 30_000)
  const row = await settledRow(gateway, headers['x-request-id'])

  assert.deepEqual([row.state, row.cost], ['settled', headers['x-svc-cost']])
  assert.equal(said('recovered open rows of a crashed process'), 0)
  assert.ok((await gateway.audit()).ok)
})

for (const [what, settled, words, strike] of [
  ['was recovered meanwhile', 'corrected', /recovered before it was settled/, recoverAll],
  ['is gone', 'unknown', /not found; nothing was charged/, deleteOpen],
] as const) {
  test(`a settlement whose row ${what} is logged with its request id and counted as an alarm`, async () => {
    await using folder = await temporaryFolder()
    await using upstream = await startUpstream()
    await using gateway = await startGateway({ config: standardConfig(upstream.url), dataDir: folder.path })
    const alarm = async () => {
      const { text } = await gateway.get('/metrics')
      return Number(text.match(new RegExp(`turnpike_alarms_total\\{alarm="settlement_${settled}"\\} (\\d+)`))?.[1] ?? 0)
    }
    const plain = await gateway.chat()
    assert.deepEqual([plain.status, await alarm()], [200, 0])
    const ending = Promise.withResolvers<void>()
    upstream.next(async () => {
      await ending.promise
      return {}
    })
    const asked = gateway.chat()
    await upstream.received(2)
    await strike(join(folder.path, 'turnpike.db'))
    ending.resolve()

    const { status, headers } = await asked

    assert.equal(status, 200)
    assert.equal(await alarm(), 1)
    const told = () => gateway.logs.filter(({ msg }) => words.test(String(msg)))
    await until('it is logged', () => told().length > 0)
    assert.deepEqual(
      told().map(({ id, level }) => [id, level]),
      [[headers['x-request-id'], 'warn']],
    )
    // A hold lost with its row must be visible to the operator.
    assert.equal((await gateway.audit()).ok, settled === 'corrected')
  })
}

// Like another process that considers the gateway dead.
async function recoverAll(path: string): Promise<void> {
  const other = await openSqlite({ path, owner: 'another' })
  assert.equal(await other.billing.sweep([]), 1)
  await other.close()
}

async function deleteOpen(path: string): Promise<void> {
  using db = new DatabaseSync(path, { timeout: 5000 })
  assert.equal(db.prepare(`DELETE FROM usage WHERE state = 'open'`).run().changes, 1)
}
