// Several targets for a model: a failure before the first content fails over invisibly, a later one never, and the row
// names every attempt.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { FORGETFUL, withBounds } from '../../support/bounds.ts'
import { openFixture } from '../../support/fixture.ts'
import { standardConfig, standardModel, standardProvider } from '../../support/standard-config.ts'
import type { Plan } from '../../support/upstream-plan.ts'
import { settledRow } from '../../support/usage.ts'

const PRIORITY: Record<string, number> = { first: 0, second: 1, third: 2 }
const QUICK = { first_byte_stream: 0.4, first_byte_json: 0.4, idle: 0.4, total: 30 }
// One server plays all three, identified by the requested model.
const { gateway, upstream } = await openFixture(
  url =>
    standardConfig(url, {
      providers: [
        ...['first', 'second', 'third'].map(id => standardProvider(url, { id, timeouts: QUICK })),
        standardProvider(url, { id: 'brief', timeouts: { total: 0.6 } }),
        standardProvider(url, { id: 'patient' }),
      ],
      models: [
        standardModel({
          targets: ['third', 'first', 'second'].map(id => ({ provider: id, model: id, priority: PRIORITY[id] })),
        }),
        standardModel({
          id: 'test/brief',
          targets: [
            { provider: 'brief', model: 'first', priority: 0 },
            { provider: 'patient', model: 'second', priority: 1 },
          ],
        }),
      ],
    }),
  withBounds(FORGETFUL),
)

const UNSEEN: readonly (readonly [what: string, plan: Plan, outcome: string])[] = [
  ['429', { status: 429, headers: { 'retry-after': '60' } }, 'limited'],
  ['500', { status: 500 }, 'status'],
  ['401', { status: 401 }, 'credential'],
  ['404', { status: 404 }, 'status'],
  ['an invalid response', { contentType: 'text/html', body: '<html>' }, 'invalid_response'],
  ['silence', { delayMs: 60_000 }, 'timeout'],
  ['headers followed by silence', { firstByteDelayMs: 60_000 }, 'timeout'],
]

for (const [what, plan, outcome] of UNSEEN) {
  test(`${what} from the first target fails over to the second, for JSON and streams`, async () => {
    upstream.reset()
    upstream.script(plan, 'first')

    const answers = await Promise.all([gateway.chat(), gateway.chat({ stream: true })])

    for (const answer of answers) {
      assert.equal(answer.status, 200)
      assert.equal(answer.headers['x-svc-provider'], 'second')
      const row = await settledRow(gateway, answer.headers['x-request-id'])
      assert.deepEqual(
        row.attempts.map(attempt => [attempt.provider, attempt.outcome]),
        [
          ['first', outcome],
          ['second', 'answered'],
        ],
      )
      assert.deepEqual([row.provider, row.outcome], ['second', 'completed'])
      assert.deepEqual(callsOf(row.request_id), ['first', 'second'])
    }
  })
}

test('a stream that breaks before its first content fails over invisibly', async () => {
  for (const plan of [
    { dieAfterChunks: 0 },
    { errorFrameAfterChunks: 0 },
    { garbageFrame: '{', words: [''] },
  ] as const) {
    upstream.reset()
    upstream.script(plan, 'first')

    const stream = await gateway.openChat()
    const { content, chunks } = await stream.rest()

    assert.equal(stream.headers['x-svc-provider'], 'second')
    assert.equal(content, 'Hello there, how can I help you today?')
    assert.equal(chunks.filter(chunk => chunk.choices[0]?.delta.role !== undefined).length, 1)
  }
})

test('after the first content there is no failover: the stream ends with an error', async () => {
  upstream.reset()
  upstream.script({ dieAfterChunks: 1 }, 'first')

  const stream = await gateway.openChat()
  const { chunks, content } = await stream.rest()

  assert.equal(content, 'Hello')
  assert.equal(chunks.at(-1)?.error?.code, 'all_providers_failed')
  assert.deepEqual(callsOf(stream.headers['x-request-id']), ['first'])
})

test('a request that an upstream rejects as invalid is not retried', async () => {
  upstream.reset()
  upstream.script({ status: 400 }, 'first')

  const answer = await gateway.chat()

  assert.equal(answer.body.error?.code, 'upstream_rejected')
  assert.deepEqual(callsOf(answer.headers['x-request-id']), ['first'])
})

test('a request that crashed two servers is not tried on a third', async () => {
  upstream.reset()
  upstream.script({ status: 500 })

  const answer = await gateway.chat()

  assert.equal(answer.status, 502)
  assert.deepEqual(callsOf(answer.headers['x-request-id']), ['first', 'second'])
})

test('if every target is rate limited the smallest Retry-After is reported', async () => {
  upstream.reset()
  upstream.script({ status: 429, headers: { 'retry-after': '90' } }, 'first')
  upstream.script({ status: 503, headers: { 'retry-after': '20' } }, 'second')
  upstream.script({ status: 429, headers: { 'retry-after': '40' } }, 'third')

  const answer = await gateway.chat()

  assert.deepEqual([answer.status, answer.headers['retry-after']], [503, '20'])
})

test('all targets share one deadline, the total timeout of the first', async () => {
  upstream.reset()
  upstream.script({ firstByteDelayMs: 60_000 }, 'first')
  const slowFirst = await gateway.chat({ model: 'test/brief' })
  upstream.script({ status: 500 }, 'first')
  upstream.script({ firstByteDelayMs: 60_000 }, 'second')
  const slowSecond = await gateway.chat({ model: 'test/brief' }, { timeoutMs: 20_000 })

  assert.deepEqual([slowFirst.status, slowSecond.status], [504, 504])
  assert.deepEqual(callsOf(slowFirst.headers['x-request-id']), ['first'])
  assert.deepEqual(callsOf(slowSecond.headers['x-request-id']), ['first', 'second'])
})

function callsOf(requestId: unknown): string[] {
  return upstream.journal.filter(entry => entry.requestId === requestId).map(entry => entry.model)
}
