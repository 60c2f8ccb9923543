// A disk that hangs during a commit: chats and keys that wait for it get 503 in bounded time, and holds committed late
// are released.
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { withBounds } from '../../../support/bounds.ts'
import { temporaryFolder } from '../../../support/folder.ts'
import { type Gateway, standardConfig, startGateway } from '../../../support/gateway.ts'
import { assertRefusal } from '../../../support/refusal.ts'
import { until } from '../../../support/until.ts'
import { startUpstream } from '../../../support/upstream.ts'
import { settledRow } from '../../../support/usage.ts'

const WAIT_MS = 300
// On a busy machine.
const BACK_WITHIN_MS = 120_000
const SLOW = 'slow'

test('while the store hangs requests get 503, and nothing stays held', async () => {
  await using upstream = await startUpstream()
  await using folder = await temporaryFolder()
  await using gateway = await startGateway({
    config: standardConfig(upstream.url),
    dataDir: folder.path,
    ...withBounds({ gateWaitMsMax: WAIT_MS }),
  })
  const known = await gateway.createKey({ credits: '1' })
  const cold = await gateway.createKey({ credits: '1' })
  const quick = () => gateway.chat({}, { key: known.secret })
  assert.equal((await quick()).status, 200)
  makeSlow(gateway)
  const sent = upstream.journal.length

  const slow = gateway.chat({}, { key: known.secret, headers: { 'x-client-request-id': SLOW } })
  await until('the store is committing', () => isLocked(gateway))
  const behind = await Promise.all([quick(), gateway.chat({}, { key: cold.secret }), gateway.get('/health')])
  const late = await slow
  const stillHangs = isLocked(gateway)

  assert.ok(stillHangs, 'the commit ended before any request was refused: it must take longer')
  assertRefusal(late, 'service_unavailable')
  assert.deepEqual(
    behind.map(answer => answer.status),
    [503, 503, 200],
  )
  assert.equal(upstream.journal.length, sent)
  await until('the store responds again', () => !isLocked(gateway), BACK_WITHIN_MS)
  const row = await settledRow(gateway, late.headers['x-request-id'])
  assert.deepEqual([row.state, row.cost, row.http_status], ['settled', '0', 503])
  await until('it is fast again', async () => (await quick()).status === 200)
  const account = await gateway.admin<{ balance: { held: string } }>('GET', `/accounts/${known.accountId}`)
  assert.equal(account.body.balance.held, '0')
  assert.ok((await gateway.audit()).ok)
})

// A commit that takes seconds: a marked row makes SQLite count.
function makeSlow(gateway: Gateway): void {
  using db = new DatabaseSync(join(gateway.dataDir, 'turnpike.db'), { timeout: 10_000 })
  db.exec(`CREATE TRIGGER hanging BEFORE INSERT ON usage WHEN NEW.client_request_id = '${SLOW}' BEGIN
    SELECT COUNT(*) FROM (WITH RECURSIVE c (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c LIMIT 4000000) SELECT x FROM c);
  END`)
}

function isLocked(gateway: Gateway): boolean {
  using db = new DatabaseSync(join(gateway.dataDir, 'turnpike.db'), { timeout: 0 })
  try {
    db.exec('BEGIN IMMEDIATE; ROLLBACK')
    return false
  } catch {
    return true
  }
}
