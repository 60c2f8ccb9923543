// A Responses caller on a provider that speaks chat completions: the request is translated to a chat and the answer back, as
// JSON and as a stream, with one cost everywhere.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openFixture } from '../../../support/fixture.ts'
import { eventsOf, respond, textOf, typesOf } from '../../../support/responses.ts'
import { balanceOf, chargedTo, nano, settledRow } from '../../../support/usage.ts'

const { gateway, upstream } = await openFixture()

test('a JSON answer is a response object with the exact cost in header, body, row and ledger', async () => {
  const { secret, accountId } = await gateway.createKey()
  upstream.next({ words: ['Hello', ' there'], usage: { prompt_tokens: 12, completion_tokens: 2 } })

  const answer = await respond(
    gateway,
    { instructions: 'Be brief.', metadata: { a: 'b' }, store: true },
    { key: secret },
  )

  assert.equal(answer.status, 200, answer.text)
  const { body } = answer
  assert.equal(body.id, `resp_${String(answer.headers['x-request-id'])}`)
  assert.deepEqual([body.object, body.status, body.model, body.store], ['response', 'completed', 'test/m1', false])
  assert.deepEqual([body.instructions, body.metadata, body.error], ['Be brief.', { a: 'b' }, null])
  const [item] = body.output as unknown as [{ content: [{ text: string }] }]
  assert.equal(item.content[0].text, 'Hello there')
  const row = await settledRow(gateway, answer.headers['x-request-id'])
  assert.deepEqual([row.outcome, row.prompt_tokens, row.completion_tokens], ['completed', 12, 2])
  assert.equal(nano(row.cost), 12n * 2500n + 2n * 10_000n)
  assert.equal(answer.headers['x-svc-cost'], row.cost)
  assert.ok(answer.text.includes(`"cost":${row.cost}`))
  assert.equal(await chargedTo(gateway, accountId), nano(row.cost))
  assert.equal((await balanceOf(gateway, accountId)).held, '0')
  const [sent] = upstream.journal.slice(-1)
  assert.deepEqual((sent as { body: { messages: unknown } }).body.messages, [
    { role: 'system', content: 'Be brief.' },
    { role: 'user', content: 'Say hello' },
  ])
})

test('a stream has all events in order, and its terminal event has usage and cost', async () => {
  const { secret } = await gateway.createKey()
  upstream.next({ words: ['Hello', ' there'], usage: { prompt_tokens: 12, completion_tokens: 2 } })

  const answer = await respond(gateway, { stream: true }, { key: secret })

  const events = eventsOf(answer.text)
  assert.deepEqual(typesOf(events), [
    'response.created',
    'response.in_progress',
    'response.output_item.added',
    'response.content_part.added',
    'response.output_text.delta',
    'response.output_text.done',
    'response.content_part.done',
    'response.output_item.done',
    'response.completed',
  ])
  assert.equal(textOf(events), 'Hello there')
  const row = await settledRow(gateway, answer.headers['x-request-id'])
  assert.equal(answer.trailers['x-svc-cost'], row.cost)
  assert.ok(answer.text.includes(`"total_tokens":14,"cost":${row.cost}`))
  const last = events.at(-1)?.response as unknown as { output: [{ content: [{ text: string }] }] }
  assert.equal(last.output[0].content[0].text, 'Hello there')
})
