// A Responses caller on a provider that has the Responses API: the request and the answer pass through unchanged, except for
// id, model, usage and identifiers.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openFixture } from '../../../support/fixture.ts'
import { type Event, eventsOf, respond, textOf } from '../../../support/responses.ts'
import { answersAs, callItem, textItem, USAGE } from '../../../support/responses-upstream.ts'
import { standardModel, standardProvider } from '../../../support/standard-config.ts'
import { until } from '../../../support/until.ts'
import type { JournalEntry } from '../../../support/upstream-journal.ts'
import { chargedTo, nano, settledRow } from '../../../support/usage.ts'

const { gateway, upstream } = await openFixture(url => ({
  providers: [standardProvider(url, { preset: 'openai' })],
  models: [standardModel()],
}))
const COST = 16n * 2500n + 4n * 1250n + 6n * 10_000n

const REASONING = { type: 'reasoning', id: 'rs_up_1', summary: [{ type: 'summary_text', text: 'I think.' }] }
const NAMESPACE = {
  type: 'namespace',
  name: 'agents',
  description: 'Agents',
  tools: [{ type: 'function', name: 'spawn', parameters: { type: 'object', properties: {} }, strict: false }],
}
const GRAMMAR = { type: 'grammar', syntax: 'lark', definition: 'start: "a"' }
const BODY = {
  instructions: 'Be brief.',
  input: [
    { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Do it' }] },
    { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'gAAAA-from-openai' },
    { type: 'function_call', call_id: 'call_1', name: 'spawn', namespace: 'agents', arguments: '{}' },
    { type: 'function_call_output', call_id: 'call_1', output: 'spawned' },
  ],
  tools: [NAMESPACE, { type: 'custom', name: 'patch', format: GRAMMAR }],
  tool_choice: 'auto',
  reasoning: { effort: 'high', summary: 'auto' },
  include: ['reasoning.encrypted_content'],
  text: { verbosity: 'low' },
  truncation: 'auto',
}

test('the request reaches the provider as it was sent, unstored and with hashed identifiers', async () => {
  const { secret } = await gateway.createKey()
  upstream.next(answersAs({ output: [textItem('Hello')] }))
  const sent = { ...BODY, prompt_cache_key: 'mine', max_output_tokens: 100, store: true, client_metadata: { a: 'b' } }

  const answer = await respond(gateway, sent, { key: secret })

  assert.equal(answer.status, 200, answer.text)
  const entry = upstream.journal.at(-1)
  assert.equal(entry?.path, '/v1/responses')
  const { model, store, max_output_tokens, prompt_cache_key, ...rest } = (entry as JournalEntry).body as Record<
    string,
    unknown
  >
  assert.deepEqual(rest, BODY)
  assert.deepEqual([model, store, max_output_tokens], ['m1', false, 100])
  assert.notEqual(prompt_cache_key, 'mine')
  assert.deepEqual([answer.body.prompt_cache_key, answer.body.store], ['mine', false])
  assert.equal(answer.headers['x-svc-ignored-fields'], undefined)
})

test('a JSON answer keeps what the gateway does not know, with one cost in header, body, row and ledger', async () => {
  const { secret, accountId } = await gateway.createKey()
  const call = callItem('spawn', '{"a":1}', { namespace: 'agents' })
  upstream.next(answersAs({ output: [{ ...REASONING, encrypted_content: 'gAAAA-new' }, call] }))

  const answer = await respond(gateway, BODY, { key: secret })

  assert.equal(answer.body.id, `resp_${String(answer.headers['x-request-id'])}`)
  assert.deepEqual([answer.body.model, answer.body.vendor_field], ['test/m1', { kept: true }])
  assert.deepEqual(answer.body.output, [{ ...REASONING, encrypted_content: 'gAAAA-new' }, call])
  const row = await settledRow(gateway, answer.headers['x-request-id'])
  assert.deepEqual(
    [row.prompt_tokens, row.cached_tokens, row.completion_tokens, row.reasoning_tokens, row.finish_reason],
    [20, 4, 6, 2, 'tool_calls'],
  )
  assert.equal(nano(row.cost), COST)
  assert.equal(answer.headers['x-svc-cost'], row.cost)
  assert.ok(answer.text.includes(`"total_tokens":26,"cost":${row.cost}`))
  assert.equal(await chargedTo(gateway, accountId), COST)
  assert.equal(row.upstream_id, 'resp_up_1')
})

test('a stream keeps every event, also unknown ones, and its terminal event waits for the cost', async () => {
  const { secret } = await gateway.createKey()
  const unknown = [{ type: 'response.something_new', payload: { a: [1] } }]
  const output = [{ ...REASONING, encrypted_content: 'gAAAA-new' }, textItem('Hello there')]
  upstream.next(answersAs({ output, unknown }))

  const answer = await respond(gateway, { ...BODY, stream: true }, { key: secret })

  const events = eventsOf(answer.text)
  assert.equal(textOf(events), 'Hello there')
  assert.deepEqual(events.find(({ type }) => String(type) === 'response.something_new')?.payload, { a: [1] })
  assert.equal(events.filter(({ obfuscation }) => String(obfuscation) === 'x').length, 3)
  const last = events.at(-1)
  assert.equal(last?.type, 'response.completed')
  const {
    id,
    model,
    output: items,
    usage,
  } = (last as Event).response as unknown as Record<string, Record<string, unknown>>
  const row = await settledRow(gateway, answer.headers['x-request-id'])
  assert.deepEqual([id, model, items], [`resp_${row.request_id}`, 'test/m1', output])
  assert.deepEqual(usage, { ...USAGE, input_tokens_details: usage?.input_tokens_details, cost: Number(row.cost) })
  assert.equal(answer.trailers['x-svc-cost'], row.cost)
  assert.equal(nano(row.cost), COST)
})

test('an incomplete answer ends as incomplete with the provider’s reason', async () => {
  const { secret } = await gateway.createKey()
  const cut = { output: [textItem('Hel')], status: 'incomplete', reason: 'max_output_tokens' } as const
  upstream.next(answersAs(cut), answersAs(cut))

  const stream = await respond(gateway, { stream: true }, { key: secret })
  const whole = await respond(gateway, {}, { key: secret })

  assert.equal(eventsOf(stream.text).at(-1)?.type, 'response.incomplete')
  assert.deepEqual([whole.body.status, whole.body.incomplete_details], ['incomplete', { reason: 'max_output_tokens' }])
  const row = await settledRow(gateway, whole.headers['x-request-id'])
  assert.equal(row.finish_reason, 'length')
})

test('an explanation of the routing leaves the caller’s own metadata alone', async () => {
  const { secret } = await gateway.createKey()
  upstream.next(answersAs({ output: [textItem('Hello')] }))

  const answer = await respond(gateway, { metadata: { a: 'b' } }, { key: secret, headers: { 'x-svc-explain': '1' } })

  const { candidates } = answer.body.routing as unknown as { candidates: { provider: string }[] }
  assert.deepEqual(
    candidates.map(({ provider }) => provider),
    ['up'],
  )
  assert.deepEqual(answer.body.metadata, { a: 'b' })
})

test('a revoke that ends streams ends a response in its own form, paid for what was sent', async () => {
  const { secret, id } = await gateway.createKey()
  upstream.next({ chunks: 10_000, chunkDelayMs: 20 })

  const answering = respond(gateway, { stream: true }, { key: secret })
  await until('content was sent', () => (upstream.journal.at(-1)?.chunks ?? 0) > 3)
  await gateway.admin('POST', `/keys/${id}/revoke`, { abort_streams: true })
  const answer = await answering

  const last = eventsOf(answer.text).at(-1)
  const row = await settledRow(gateway, answer.headers['x-request-id'])
  assert.equal(last?.type, 'response.failed')
  assert.deepEqual([answer.trailers['x-svc-cost'], last?.response?.usage?.cost], [row.cost, Number(row.cost)])
  assert.ok(row.completion_tokens > 0)
})
