// A request on Postgres: a chat is billed, a revoke is in force, and an outage of the database causes 503s and costs
// neither a row nor a credit.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ENCRYPTION_KEY, standardConfig, startGateway } from '../../../support/gateway.ts'
import { hasPostgres, startServer } from '../../../support/postgres.ts'
import { until } from '../../../support/until.ts'
import { startUpstream } from '../../../support/upstream.ts'

type UsagePage = { readonly data: readonly { readonly state: string; readonly outcome: string }[] }
type HeldAccount = { readonly balance: { readonly held: string } }

if (hasPostgres()) {
  test('chats are billed on Postgres, before and after an outage, and a revoke applies at once', async t => {
    const postgres = await startServer()
    await using upstream = await startUpstream()
    const env = { DATABASE_URL: postgres.url, TURNPIKE_ENCRYPTION_KEY: ENCRYPTION_KEY }
    await using gateway = await startGateway({ config: standardConfig(upstream.url), env })
    const key = await gateway.createKey({ credits: '10' })
    const chat = () => gateway.chat({}, { key: key.secret })
    const balance = async () => (await gateway.admin<HeldAccount>('GET', `/accounts/${key.accountId}`)).body.balance

    await t.test('a chat and a stream are billed', async () => {
      const answer = await chat()
      const stream = await gateway.openChat({}, { key: key.secret })
      const { done } = await stream.rest()

      assert.deepEqual([answer.status, done], [200, true])
      assert.ok(Number(answer.headers['x-svc-cost']) > 0)
      const { data } = (await gateway.admin<UsagePage>('GET', '/usage')).body
      assert.deepEqual(
        data.map(row => [row.state, row.outcome]),
        [
          ['settled', 'completed'],
          ['settled', 'completed'],
        ],
      )
    })

    await t.test('an unavailable database means 503, never 401, and no upstream call', async () => {
      await postgres.stop()
      const sent = upstream.journal.length

      const [known, unknown, ready, health] = await Promise.all([
        chat(),
        gateway.chat({}, { key: key.secret.replace(/.{8}$/, '00000000') }),
        gateway.get('/ready'),
        gateway.get('/health'),
      ])

      assert.deepEqual([known.status, unknown.status, ready.status, health.status], [503, 503, 503, 200])
      assert.equal(upstream.journal.length, sent)
    })

    await t.test('once it is back, requests are served again', async () => {
      await postgres.start()
      await until('the gateway is ready again', async () => (await gateway.get('/ready')).status === 200)

      assert.equal((await chat()).status, 200)
    })

    await t.test('a stream that ends during the outage is settled afterwards', async () => {
      upstream.next({ words: ['one', ' two', ' three', ' four'], chunkDelayMs: 700 })
      const stream = await gateway.openChat({}, { key: key.secret })
      await stream.nextChunk()
      await postgres.stop()
      const { done } = await stream.rest()
      await postgres.start()

      assert.equal(done, true)
      assert.ok(gateway.lines.some(line => line.includes('settlement failed; retrying')))
      await until('nothing is held', async () => Number((await balance()).held) === 0)
    })

    await t.test('a revoked key is refused with the next request, also after a restart', async () => {
      assert.equal((await gateway.admin('POST', `/keys/${key.id}/revoke`, {})).status, 200)
      assert.equal((await chat()).status, 401)
      await gateway.restart()
      assert.equal((await chat()).status, 401)
    })

    const report = await gateway.audit()
    assert.ok(report.ok, JSON.stringify(report.output))
  })

  test('a start on Postgres without the admin token or the encryption key is refused by name', async () => {
    for (const missing of ['TURNPIKE_ADMIN_TOKEN', 'TURNPIKE_ENCRYPTION_KEY']) {
      const env = {
        DATABASE_URL: 'postgres://localhost/x',
        TURNPIKE_ENCRYPTION_KEY: ENCRYPTION_KEY,
        [missing]: undefined,
      }
      await using gateway = await startGateway({ env, awaitReady: false })

      assert.equal(await gateway.exited, 2)
      assert.match(gateway.lines.join('\n'), new RegExp(`DATABASE_URL requires ${missing}`))
    }
  })
}
