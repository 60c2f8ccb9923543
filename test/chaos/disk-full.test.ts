// A full disk: no upstream is called for a request whose row cannot be written, requests in flight are settled once
// space is available, and the gateway needs no restart.
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { after, test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { disks } from '../support/disk.ts'
import { standardConfig, startGateway } from '../support/gateway.ts'
import { assertRefusal } from '../support/refusal.ts'
import { until } from '../support/until.ts'
import { startUpstream } from '../support/upstream.ts'
import { balanceOf, credits, nano, settledRow } from '../support/usage.ts'

const all = await disks()
after(() => Promise.all(all.map(disk => disk[Symbol.asyncDispose]())))

for (const disk of all) {
  test(`${disk.what} returns 503 before dispatch, and everything is settled once space is available`, async () => {
    await using upstream = await startUpstream()
    await using gateway = await startGateway({ config: standardConfig(upstream.url), dataDir: disk.dataDir })
    const { secret, accountId } = await gateway.createKey()
    upstream.next({ chunks: 8, chunkDelayMs: 50 })
    const stream = await gateway.openChat({}, { key: secret })
    await stream.nextChunk()
    const calls = upstream.journal.length

    await disk.fill(gateway.pid)
    const refused = [
      await gateway.chat({}, { key: secret }),
      await gateway.chat({ stream: true }, { key: secret }),
      await gateway.get('/v1/models', secret),
    ]
    const topUp = await gateway.admin(
      'POST',
      `/accounts/${accountId}/credits`,
      { amount: '1' },
      { 'idempotency-key': 'k' },
    )
    const { done } = await stream.rest()

    for (const answer of refused) assertRefusal(answer, 'service_unavailable')
    assert.equal(topUp.status, 503)
    assert.equal(upstream.journal.length, calls)
    assert.equal((await gateway.get('/health')).status, 200)
    assert.equal(done, true, 'the answer in flight is still delivered')
    const cost = stream.trailers['x-svc-cost']
    assert.ok(Number(cost) > 0)

    await disk.free(gateway.pid)
    await until('chats are served again', async () => (await gateway.chat({}, { key: secret })).status === 200, 5_000)
    const row = await settledRow(gateway, stream.headers['x-request-id'])
    assert.deepEqual([row.state, row.outcome, row.cost], ['settled', 'completed', cost])
    assert.ok((await gateway.audit()).ok)
  })

  test(`${disk.what} during a write-back keeps the journal, and balances stay exact`, async () => {
    await using upstream = await startUpstream()
    await using gateway = await startGateway({ config: standardConfig(upstream.url), dataDir: disk.dataDir })
    const { secret, accountId } = await gateway.createKey()
    const cost = nano((await gateway.chat({}, { key: secret })).headers['x-svc-cost'])
    await disk.fill(gateway.pid)
    const before = entries(disk.dataDir)

    await setTimeout(WRITE_BACK_MS)
    const [left, balance] = [entries(disk.dataDir), await balanceOf(gateway, accountId)]
    await disk.free(gateway.pid)
    await until('the journal is applied', () => entries(disk.dataDir) === 0)

    assert.ok(before > 0)
    assert.equal(left, before)
    const spent = { available: credits(nano('100') - cost), held: '0', spent: credits(cost), owed: '0' }
    assert.deepEqual(balance, spent)
    assert.deepEqual(await balanceOf(gateway, accountId), spent)
    assert.ok((await gateway.audit()).ok)
  })
}

// A little more than the time between two write-backs.
const WRITE_BACK_MS = 1300

function entries(dataDir: string): number {
  using db = new DatabaseSync(join(dataDir, 'turnpike.db'))
  return Number(db.prepare('SELECT COUNT(*) AS n FROM balance_journal').get()?.n)
}
