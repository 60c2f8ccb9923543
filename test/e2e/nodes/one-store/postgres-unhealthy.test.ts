// A Postgres that is reachable but read-only or hung: chats get 503, none that could not be billed is sent to a
// provider, and service resumes within seconds of its recovery.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { standardConfig, startGateway } from '../../../support/gateway.ts'
import { hasPostgres, startServer } from '../../../support/postgres.ts'
import { until } from '../../../support/until.ts'
import { startUpstream } from '../../../support/upstream.ts'

const BACK_WITHIN_MS = 5000
const ANSWERED_WITHIN_MS = 15_000

if (hasPostgres()) {
  test('a database that is read-only or hangs for a while causes 503s and nothing else', async t => {
    const postgres = await startServer()
    await using upstream = await startUpstream()
    const env = { DATABASE_URL: postgres.url, TURNPIKE_ENCRYPTION_KEY: 'ab'.repeat(32) }
    await using gateway = await startGateway({ config: standardConfig(upstream.url), env })
    const key = await gateway.createKey({ credits: '10' })
    const chat = () => gateway.chat({}, { key: key.secret })
    const isBack = () => until('chats are answered again', async () => (await chat()).status === 200, BACK_WITHIN_MS)
    assert.equal((await chat()).status, 200)

    await t.test('read-only', async () => {
      await postgres.setReadOnly(true)
      await until('it is noticed', async () => (await chat()).status === 503)
      const sent = upstream.journal.length

      assert.deepEqual([(await chat()).status, (await chat()).status], [503, 503])
      assert.equal(upstream.journal.length, sent)
      assert.equal((await gateway.admin('POST', '/accounts', { name: 'nobody' })).status, 503)
      await until('it is logged', () => gateway.logs.some(line => String(line.msg) === 'database operation failed'))
      assert.ok(!gateway.logs.some(line => String(line.msg) === 'unexpected error'))
      await postgres.setReadOnly(false)
      await isBack()
    })

    await t.test('hung', async () => {
      const sent = upstream.journal.length
      const asked = performance.now()
      postgres.pause()
      try {
        const [answer, health] = await Promise.all([chat(), gateway.get('/health')])

        assert.deepEqual([answer.status, health.status], [503, 200])
        assert.ok(performance.now() - asked < ANSWERED_WITHIN_MS)
        assert.equal(upstream.journal.length, sent)
      } finally {
        postgres.goOn()
      }
      await isBack()
    })

    const report = await gateway.audit()
    assert.ok(report.ok, JSON.stringify(report.output))
  })
}
