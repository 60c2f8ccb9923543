// A settlement that the store did not take at first: no sweep takes its row away meanwhile, and it is booked as it was told.
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { settledRow } from '../kit/bookings.ts'
import { withBounds } from '../kit/bounds.ts'
import { temporaryFolder } from '../kit/folder.ts'
import { standardConfig, startGateway } from '../kit/gateway.ts'
import { until } from '../kit/until.ts'
import { startUpstream } from '../kit/upstream.ts'

const LATE = 'settlement failed and is tried again'

test('sweeps leave a row alone whose settlement is still being tried', async () => {
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
  const locked = new DatabaseSync(join(folder.path, 'turnpike.db'))
  locked.exec('BEGIN IMMEDIATE')
  ending.resolve()
  const { headers } = await asked
  const said = (words: string) => gateway.logs.filter(({ msg }) => String(msg) === words).length
  // After the sixth failure the next try comes in 1.6 s: time for thirty sweeps.
  await until('it has failed six times', () => said(LATE) >= 6, 60_000)
  locked.close()

  await until('it is booked', async () => (await settledRow(gateway, headers['x-request-id'])).state !== 'open', 30_000)
  const row = await settledRow(gateway, headers['x-request-id'])

  assert.deepEqual([row.state, row.cost], ['settled', headers['x-svc-cost']])
  assert.equal(said('rows of a dead process were recovered'), 0)
  assert.ok((await gateway.audit()).ok)
})
