// Messages at providers of other protocols: Google's and Bedrock's reasoning, signatures and tool calls come back as blocks, and
// are sent to them again with the next turn.
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import * as bedrock from '../../../fixtures/wires/bedrock.ts'
import * as google from '../../../fixtures/wires/google.ts'
import { startGateway } from '../../../support/gateway.ts'
import { askMessages, eventsOf, type Fields } from '../../../support/messages.ts'
import { standardModel } from '../../../support/standard-config.ts'
import { settledRow } from '../../../support/usage.ts'
import { amazonAnswer, jsonAnswer, sseAnswer, startVendor, type VendorAnswer } from '../../../support/vendor.ts'
import { wiresConfig } from '../../../support/wires.ts'

const vendor = await startVendor()
const { providers, models } = wiresConfig(vendor.origin)
const aws = { id: 'aws', kind: 'anthropic', base_url: `${vendor.origin}/anthropic/v1`, api_key: 'bedrock-secret' }
const gateway = await startGateway({
  config: {
    providers: [...providers, aws],
    models: [...models, standardModel({ id: 'test/aws', targets: [{ provider: 'aws', model: 'anthropic.claude' }] })],
  },
})
after(async () => {
  await gateway[Symbol.asyncDispose]()
  await vendor[Symbol.asyncDispose]()
})
const { secret } = await gateway.createKey()

type Case = { readonly kind: string; readonly json: VendorAnswer; readonly stream: VendorAnswer; readonly sign: string }

const CASES: readonly Case[] = [
  {
    kind: 'google',
    json: jsonAnswer(google.json),
    stream: sseAnswer(google.stream, false),
    sign: 'CiIBzDzTfVg4mC1JbFfqHn8N0o3z',
  },
  {
    kind: 'bedrock',
    json: jsonAnswer(bedrock.json),
    stream: amazonAnswer(bedrock.stream),
    sign: 'EqQBCgIYAhIM1gbcDa9GJwZA2b3h',
  },
]

const TOOLS = [{ name: 'weather', input_schema: { type: 'object', properties: { city: { type: 'string' } } } }]
const QUESTION = {
  role: 'user',
  content: [{ type: 'text', text: 'The weather?', cache_control: { type: 'ephemeral' } }],
}

for (const { kind, json, stream, sign } of CASES) {
  test(`${kind}: an answer as JSON and as a stream has the same blocks, and its signature goes back`, async () => {
    vendor.next(json)
    vendor.next(stream)
    vendor.next(json)

    const whole = await ask(kind, {})
    const streamed = await ask(kind, { stream: true })
    const content = whole.body.content as Fields[]
    const call = content.find(({ type }) => type === 'tool_use') as Fields
    const next = await ask(kind, {
      messages: [
        QUESTION,
        { role: 'assistant', content },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: call.id, content: 'clear' }] },
      ],
    })

    const row = await settledRow(gateway, whole.headers['x-request-id'])
    const usage = whole.body.usage as Record<string, number>
    assert.deepEqual(
      content.map(({ type }) => type),
      ['thinking', 'text', 'tool_use'],
    )
    assert.deepEqual(
      [content[0]?.thinking, content[1]?.text, call.input],
      ['Oslo is in Norway.', 'Let me look.', { city: 'Oslo' }],
    )
    assert.equal(whole.body.stop_reason, 'tool_use')
    assert.equal(
      Number(usage.input_tokens) + Number(usage.cache_read_input_tokens) + Number(usage.cache_creation_input_tokens),
      row.prompt_tokens,
    )
    const kinds = eventsOf(streamed.text).flatMap(event => {
      const block = event.content_block as Fields | undefined
      return block === undefined ? [] : [block.type]
    })
    assert.deepEqual(kinds, ['thinking', 'text', 'tool_use'])
    assert.equal(next.status, 200, next.text)
    assert.match(String(call.id), /^[\w-]+$/)
    const sent = JSON.stringify(vendor.requests.at(-1)?.body)
    assert.ok(sent.includes(sign), sent)
    assert.ok(!sent.includes('_signed_'), sent)
  })
}

test('the Messages endpoint of Bedrock is reached as a provider of kind anthropic, also by chats', async () => {
  const message = {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: 'm',
    content: [{ type: 'text', text: 'Hi' }],
  }
  const answer = {
    ...message,
    stop_reason: 'end_turn',
    stop_sequence: null,
    usage: { input_tokens: 3, output_tokens: 1 },
  }
  vendor.next(jsonAnswer(answer))
  vendor.next(jsonAnswer(answer))

  const passed = await ask('aws', {})
  const chat = await gateway.chat({ model: 'test/aws' }, { key: secret })

  assert.deepEqual([passed.status, chat.status], [200, 200], passed.text + chat.text)
  for (const { path, headers, body } of vendor.requests.slice(-2))
    assert.deepEqual(
      [path, headers['x-api-key'], headers['anthropic-version'], body.model],
      ['/anthropic/v1/messages', 'bedrock-secret', '2023-06-01', 'anthropic.claude'],
    )
  assert.deepEqual(vendor.requests.at(-2)?.body.messages, [QUESTION])
})

function ask(kind: string, more: Fields) {
  const body = { model: `test/${kind}`, max_tokens: 2000, tools: TOOLS, messages: [QUESTION], ...more }
  return askMessages(gateway, secret, body)
}
