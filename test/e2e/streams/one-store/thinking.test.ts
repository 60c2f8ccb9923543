// Reasoning models: until the first content their silence is bounded by the total timeout and not by the idle timeout,
// their timeout causes no failover, and after the first content they are treated like others.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openFixture } from '../../../support/fixture.ts'
import { standardConfig, standardModel, standardProvider } from '../../../support/standard-config.ts'
import type { Plan } from '../../../support/upstream-plan.ts'
import { settledRow } from '../../../support/usage.ts'

const IDLE = 0.5
const TOTAL = 6
const timeouts = { first_byte_stream: IDLE, first_byte_json: IDLE, idle: IDLE, total: TOTAL }
const targets = ['first', 'second'].map((provider, priority) => ({ provider, model: provider, priority }))
const { gateway, upstream } = await openFixture(url =>
  standardConfig(url, {
    providers: ['first', 'second'].map(id => standardProvider(url, { id, timeouts })),
    models: [
      standardModel({ id: 'test/thinker', hidden_reasoning: true, targets }),
      standardModel({ id: 'test/other', hidden_reasoning: false, targets }),
    ],
  }),
)

const SILENT: readonly (readonly [how: string, stream: boolean, plan: Plan])[] = [
  ['before the headers of a stream', true, { delayMs: 2000 }],
  ['after the headers of a stream', true, { firstByteDelayMs: 2000 }],
  ['before the headers of a JSON answer', false, { delayMs: 2000 }],
  ['after the headers of a JSON answer', false, { firstByteDelayMs: 2000 }],
]

for (const [how, stream, plan] of SILENT) {
  test(`silence ${how} is tolerated only with a reasoning model`, async () => {
    for (const [model, expected] of [
      ['test/thinker', ['first answered']],
      ['test/other', ['first timeout', 'second answered']],
    ] as const) {
      upstream.next(plan)
      const { status, headers } = await gateway.chat({ model, stream })

      assert.equal(status, 200)
      assert.deepEqual(await attemptsOf(headers['x-request-id']), expected)
    }
  })
}

test('silence past the total timeout is a timeout without failover', async () => {
  upstream.next({ delayMs: 60_000 })
  const { status, headers, body } = await gateway.chat({ model: 'test/thinker' })

  assert.deepEqual([status, body.error?.code], [504, 'upstream_timeout'])
  assert.deepEqual(await attemptsOf(headers['x-request-id']), ['first timeout'])
})

test('after the first content the idle timeout applies', async () => {
  upstream.next({ firstByteDelayMs: 1500, words: ['one', ' two'], stallAfterChunks: 2 })
  const stream = await gateway.openChat({ model: 'test/thinker' })
  const { chunks } = await stream.rest()
  const startedMs = upstream.journal.at(-1)?.startedAt ?? 0

  assert.equal(chunks.at(-1)?.error?.code, 'upstream_timeout')
  assert.ok(Date.now() - startedMs < TOTAL * 1000 - 500, 'the idle timeout ended it, not the total timeout')
})

async function attemptsOf(requestId: unknown): Promise<string[]> {
  const row = await settledRow(gateway, requestId)
  return row.attempts.map(({ provider, outcome }) => `${provider} ${outcome}`)
}
