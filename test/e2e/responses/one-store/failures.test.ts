// A provider's Responses API that fails: before content another target serves, of whatever dialect; after content the stream
// ends in the dialect's own form; and an answer of another shape is never passed on.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openFixture, warmTokenizer } from '../../../support/fixture.ts'
import { type Event, eventsOf, respond, textOf } from '../../../support/responses.ts'
import { answersAs, textItem, USAGE } from '../../../support/responses-upstream.ts'
import { standardModel, standardProvider } from '../../../support/standard-config.ts'
import type { Plan } from '../../../support/upstream-plan.ts'
import { settledRow } from '../../../support/usage.ts'

const FAILOVERS = [
  ['own', 'chat'],
  ['own', 'claude'],
  ['chat', 'own'],
  ['claude', 'own'],
] as const

const { gateway, upstream } = await openFixture(url => ({
  providers: [
    standardProvider(url, { id: 'own', api: 'responses' }),
    standardProvider(url, { id: 'chat' }),
    standardProvider(url, { id: 'claude', kind: 'anthropic' }),
  ],
  models: [
    standardModel({ targets: [{ provider: 'own', model: 'alone' }] }),
    ...FAILOVERS.map(([first, second]) =>
      standardModel({
        id: `test/${first}-${second}`,
        targets: [
          { provider: first, model: 'failing', priority: 0 },
          { provider: second, model: 'serving', priority: 1 },
        ],
      }),
    ),
  ],
}))
await warmTokenizer({ gateway, upstream })
const { secret: key } = await gateway.createKey({ credits: '1000', rpm_limit: 1_000_000 })

type Fields = Readonly<Record<string, unknown>>

function frames(...events: readonly Fields[]): Plan {
  return { rawFrames: events.map(event => `event: ${String(event.type)}\ndata: ${JSON.stringify(event)}\n\n`) }
}

const created = { type: 'response.created', response: { id: 'resp_up', status: 'in_progress', output: [] } }
const word = (delta: string) => ({ type: 'response.output_text.delta', output_index: 0, content_index: 0, delta })
const completed = {
  type: 'response.completed',
  response: { id: 'resp_up', status: 'completed', output: [], usage: USAGE },
}
const failed = (error: object) => ({ type: 'response.failed', response: { id: 'resp_up', status: 'failed', error } })

for (const [first, second] of FAILOVERS) {
  test(`${first} fails before content: ${second} serves in the caller's dialect, at one cost`, async () => {
    upstream.script(first === 'own' ? frames(created, failed({ code: 'server_error' })) : { status: 500 }, 'failing')
    upstream.script({ words: ['Hello', ' there'] }, 'serving')

    const answer = await respond(gateway, { model: `test/${first}-${second}`, stream: true }, { key })

    assert.equal(answer.status, 200, answer.text)
    const events = eventsOf(answer.text)
    const last = events.at(-1) as Event
    assert.deepEqual(
      [events[0]?.type, textOf(events), last.type],
      ['response.created', 'Hello there', 'response.completed'],
    )
    const row = await settledRow(gateway, answer.headers['x-request-id'])
    assert.deepEqual(
      row.attempts.map(({ provider }) => provider),
      [first, second],
    )
    assert.deepEqual([answer.trailers['x-svc-cost'], last.response?.usage?.cost], [row.cost, Number(row.cost)])
  })
}

const BEFORE: readonly (readonly [what: string, plan: Plan, status: number, code: string])[] = [
  [
    'a limit in an event',
    frames(created, failed({ code: 'rate_limit_exceeded', message: 'slow' })),
    503,
    'provider_unavailable',
  ],
  [
    'an error event',
    frames({ type: 'error', code: 'server_error', message: 'no', param: null }),
    502,
    'all_providers_failed',
  ],
  [
    'an error event about the prompt',
    frames({ type: 'error', error: { code: 'invalid_prompt', message: 'not that' } }),
    400,
    'upstream_rejected',
  ],
  [
    'a stream of chat completions',
    frames({ choices: [{ index: 0, delta: { content: 'x' } }] }),
    502,
    'all_providers_failed',
  ],
  ['events without a terminal one', frames(created), 502, 'all_providers_failed'],
  ['an event that is not JSON', { rawFrames: ['data: {"type":\n\n'] }, 502, 'all_providers_failed'],
]

for (const [what, plan, status, code] of BEFORE) {
  test(`${what} before content: ${status} ${code}, at no cost`, async () => {
    upstream.next(plan)

    const answer = await respond(gateway, { stream: true }, { key })

    assert.deepEqual([answer.status, answer.body.error?.code, answer.headers['x-svc-cost']], [status, code, '0'])
  })
}

const INVALID: readonly (readonly [what: string, body: object])[] = [
  ['a chat completion', { id: 'x', choices: [{ index: 0, message: { content: 'Hello' }, finish_reason: 'stop' }] }],
  ['a response without output', { id: 'x', object: 'response', status: 'completed' }],
  [
    'a response that has failed',
    { id: 'x', status: 'failed', error: { code: 'server_error', message: 'no' }, output: [] },
  ],
  ['a response that runs in the background', { id: 'x', status: 'queued', output: [] }],
]

for (const [what, body] of INVALID) {
  test(`${what} instead of a response: 502, at no cost`, async () => {
    upstream.next({ body: JSON.stringify(body) })

    const answer = await respond(gateway, {}, { key })

    assert.deepEqual([answer.status, answer.body.error?.code], [502, 'all_providers_failed'])
    assert.equal(answer.headers['x-svc-cost'], '0')
  })
}

const AFTER: readonly (readonly [what: string, last: Fields | undefined])[] = [
  ['fails', failed({ code: 'server_error', message: 'a secret of the provider' })],
  ['reports an error', { type: 'error', code: 'server_error', message: 'a secret of the provider' }],
  ['just ends', undefined],
]

for (const [what, last] of AFTER) {
  test(`a stream that ${what} after content ends in response.failed, and what was sent is paid for`, async () => {
    upstream.next(frames(created, word('Hello'), word(' there'), ...(last === undefined ? [] : [last])))

    const answer = await respond(gateway, { stream: true }, { key })

    const events = eventsOf(answer.text)
    const { type, response } = events.at(-1) as Event
    assert.deepEqual([type, response?.status, response?.error?.code], ['response.failed', 'failed', 'server_error'])
    assert.equal(textOf(events), 'Hello there')
    assert.ok(!answer.text.includes('a secret'))
    const row = await settledRow(gateway, answer.headers['x-request-id'])
    assert.deepEqual([row.outcome, row.completion_tokens], ['upstream_broke', 2])
    assert.deepEqual([answer.trailers['x-svc-cost'], response?.usage?.cost], [row.cost, Number(row.cost)])
  })
}

test('a second terminal event, and whatever follows the first, is ignored', async () => {
  const second = { ...completed, response: { ...completed.response, usage: { ...USAGE, output_tokens: 1 } } }
  upstream.next(frames(created, word('Hello'), completed, second, word('more')))

  const answer = await respond(gateway, { stream: true }, { key })

  const events = eventsOf(answer.text)
  assert.deepEqual([textOf(events), events.at(-1)?.type], ['Hello', 'response.completed'])
  assert.equal(events.filter(({ type }) => type === 'response.completed').length, 1)
  assert.equal((await settledRow(gateway, answer.headers['x-request-id'])).completion_tokens, USAGE.output_tokens)
})

test('events out of order and unknown ones pass, and a chat caller gets what they say', async () => {
  upstream.next(frames(word('Hello'), created, { type: 'response.new_thing', x: 1 }, word(' there'), completed))

  const stream = await gateway.openChat({}, { key })
  const sse = await stream.rest()

  assert.deepEqual([sse.content, sse.done], ['Hello there', true])
})

test('items that come only when they are complete are not lost', async () => {
  const done = { type: 'response.output_item.done', output_index: 0, item: textItem('Hello') }
  upstream.next(frames(created, done, completed))

  const stream = await gateway.openChat({}, { key })

  assert.equal((await stream.rest()).content, 'Hello')
})

test('a response without usage is estimated', async () => {
  upstream.next(answersAs({ output: [textItem('Hello there')], usage: null }))

  const answer = await respond(gateway, {}, { key })

  const row = await settledRow(gateway, answer.headers['x-request-id'])
  assert.deepEqual([answer.status, row.usage_source, row.completion_tokens], [200, 'estimate', 2])
})
