// A silent upstream does not make a silent stream: comments keep the connection alive, and after a while the headers
// are sent without waiting for content. The gateway runs with shorter times here, in the same proportion.
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { BOUNDS } from '../../../../src/config/limits.ts'
import { withBounds } from '../../../support/bounds.ts'
import { openFixture } from '../../../support/fixture.ts'
import { standardConfig, standardModel } from '../../../support/standard-config.ts'
import { settledRow } from '../../../support/usage.ts'

const MODELS = ['pausing', 'late', 'failing', 'failing-in-time', 'quick']
const KEEP_ALIVE_MS = 1000
const HEADERS_MS = 1500
const { gateway, upstream } = await openFixture(
  url =>
    standardConfig(url, {
      models: MODELS.map(id => standardModel({ id: `test/${id}`, targets: [{ provider: 'up', model: id }] })),
    }),
  withBounds({ keepAliveAfterMs: KEEP_ALIVE_MS, headersLeaveAfterMs: HEADERS_MS }),
)
upstream.script({ words: ['Hello', ' there'], chunkDelayMs: KEEP_ALIVE_MS + 800 }, 'pausing')
upstream.script({ firstByteDelayMs: HEADERS_MS + 800 }, 'late')
upstream.script({ delayMs: HEADERS_MS + 800, status: 500 }, 'failing')
upstream.script({ delayMs: HEADERS_MS - 300, status: 500 }, 'failing-in-time')

test('the defaults are 10 seconds of silence and 15 without headers', () => {
  assert.deepEqual([BOUNDS.keepAliveAfterMs, BOUNDS.headersLeaveAfterMs], [10_000, 15_000])
})

test('silence', { concurrency: true }, async t => {
  t.test('in a stream is filled with a comment line', async () => {
    const startedAt = Date.now()
    const stream = await gateway.openChat({ model: 'test/pausing' })
    while ((await stream.nextEvent())?.kind !== 'comment');
    const ms = Date.now() - startedAt

    const { raw, comments, content, done } = await stream.rest()

    assert.ok(ms >= KEEP_ALIVE_MS - 50, `the comment came after ${ms} ms`)
    assert.deepEqual(comments, ['keep-alive'])
    assert.match(raw, /\n\n: keep-alive\ndata: /)
    assert.deepEqual([content, done], ['Hello there', true])
  })

  t.test('before the first content sends the headers early, with the provider in a trailer', async () => {
    const startedAt = Date.now()
    const stream = await gateway.openChat({ model: 'test/late' })
    const ms = Date.now() - startedAt

    const { content, done } = await stream.rest()

    assert.ok(ms >= HEADERS_MS - 50, `the headers came after ${ms} ms`)
    assert.equal(stream.status, 200)
    assert.equal(stream.headers['x-svc-provider'], undefined)
    assert.match(String(stream.headers.trailer), /x-svc-provider/i)
    assert.equal(stream.trailers['x-svc-provider'], 'up')
    assert.ok(Number(stream.trailers['x-svc-cost']) > 0)
    assert.deepEqual([content.length > 0, done], [true, true])
  })

  t.test(
    'that ends in a failure after the headers is an error event, and the row has the status the caller saw',
    async () => {
      const stream = await gateway.openChat({ model: 'test/failing' })

      const { chunks, done } = await stream.rest()

      assert.equal(stream.status, 200)
      assert.equal(chunks.at(-1)?.error?.code, 'all_providers_failed')
      assert.equal(chunks.at(-1)?.choices[0]?.finish_reason as string, 'error')
      assert.equal(done, true)
      assert.equal(stream.trailers['x-svc-cost'], '0')
      const row = await settledRow(gateway, stream.headers['x-request-id'])
      assert.deepEqual(
        [row.outcome, row.http_status, row.error_code, row.cost],
        ['upstream_failed', 200, 'all_providers_failed', '0'],
      )
    },
  )

  t.test('does not occur in a steady stream', async () => {
    const { comments, raw } = await (await gateway.openChat({ model: 'test/quick' })).rest()

    assert.deepEqual(comments, [])
    assert.doesNotMatch(raw, /^(id|event|retry):/m)
  })
})

test('a failure before the headers is reported by its status, also if its booking is late', async () => {
  const locked = new DatabaseSync(join(gateway.dataDir, 'turnpike.db'), { timeout: 5000 })
  const opening = gateway.openChat({ model: 'test/failing-in-time' })
  await setTimeout(HEADERS_MS - 600)
  locked.exec('BEGIN IMMEDIATE')
  await setTimeout(1100)
  locked.exec('ROLLBACK')
  locked.close()

  const stream = await opening

  assert.equal(stream.status, 502)
  assert.equal((await settledRow(gateway, stream.headers['x-request-id'])).http_status, 502)
})
