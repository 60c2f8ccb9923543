// Every answer and every event has the type that the vendor's own package publishes for it, whatever the upstream answered.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { standardConfig, startGateway } from '../support/gateway.ts'
import { assertMessage, assertMessageEvent, assertResponse, assertResponseEvent } from '../support/schemas.ts'
import { startUpstream } from '../support/upstream.ts'
import type { Plan } from '../support/upstream-plan.ts'

type Dialect = {
  readonly path: string
  readonly body: object
  readonly tools: object
  checkAnswer(answer: unknown): void
  checkEvent(event: unknown): void
}

const schema = { type: 'object', properties: { city: { type: 'string' } } }

const DIALECTS: Readonly<Record<string, Dialect>> = {
  Messages: {
    path: '/v1/messages',
    body: { max_tokens: 100, messages: [{ role: 'user', content: 'Hello' }] },
    tools: { tools: [{ name: 'weather', input_schema: schema }] },
    checkAnswer: assertMessage,
    checkEvent: assertMessageEvent,
  },
  Responses: {
    path: '/v1/responses',
    body: { input: 'Hello' },
    tools: { tools: [{ type: 'function', name: 'weather', parameters: schema, strict: false }] },
    checkAnswer: assertResponse,
    checkEvent: assertResponseEvent,
  },
}

const call = { name: 'weather', arguments: '{"city":"Oslo"}' }
const PLANS: Readonly<Record<string, Plan>> = {
  'a text': {},
  'a text that was cut': { words: ['One', ' two'], finishReason: 'length' },
  'reasoning and a text': { reasoning: ['First', ' this'], words: ['Then', ' that'] },
  'a tool call': { toolCalls: [{ id: 'call_1', ...call }] },
  'two tool calls': {
    toolCalls: [
      { id: 'call_1', ...call },
      { id: 'call_2', ...call },
    ],
  },
  'tool calls without ids': { toolCalls: [call] },
  'a filtered answer': { words: ['Well'], finishReason: 'content_filter' },
  'an answer without usage': { usage: 'none' },
}

for (const [name, { path, body, tools, checkAnswer, checkEvent }] of Object.entries(DIALECTS)) {
  test(`answers and events of ${name} have the vendor's types`, async t => {
    await using upstream = await startUpstream()
    await using gateway = await startGateway({ config: standardConfig(upstream.url) })
    const { secret } = await gateway.createKey()
    const send = (fields: object) =>
      fetch(`${gateway.url}${path}`, {
        method: 'POST',
        headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json' },
        body: JSON.stringify({ model: 'test/m1', ...body, ...fields }),
      })

    for (const [what, plan] of Object.entries(PLANS)) {
      await t.test(what, async () => {
        const asked = plan.toolCalls === undefined ? {} : tools
        upstream.next(plan, plan)

        const whole = await send(asked)
        const stream = await send({ ...asked, stream: true })

        assert.deepEqual([whole.status, stream.status], [200, 200])
        checkAnswer(await whole.json())
        const events = eventsOf(await stream.text())
        assert.ok(events.length > 4, JSON.stringify(events))
        for (const { event, data } of events) {
          assert.equal(data.type, event)
          checkEvent(data)
        }
      })
    }
  })
}

type SentEvent = { readonly event: string; readonly data: { readonly type: string } }

function eventsOf(text: string): readonly SentEvent[] {
  return text
    .split('\n\n')
    .filter(frame => frame !== '')
    .map(frame => {
      const [, event = '', data = ''] = /^event: (\S+)\ndata: (.*)$/.exec(frame) ?? []
      return { event, data: JSON.parse(data) as { type: string } }
    })
}
