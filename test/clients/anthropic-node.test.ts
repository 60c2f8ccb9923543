// Anthropic's own client for Node, unchanged but for its base URL: Messages work through the gateway, translated to a provider
// of another dialect and passed through to one of the same.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import Anthropic, {
  type APIError,
  AuthenticationError,
  BadRequestError,
  NotFoundError,
  RateLimitError,
} from '@anthropic-ai/sdk'
import { failureOf, openClientFixture, TEXT, WEATHER, WRONG_KEY } from '../support/client-fixture.ts'
import { dialectConfig } from '../support/dialects.ts'

const messages = [{ role: 'user' as const, content: 'Say hello' }]
type Usage = Anthropic.Usage & { readonly cost?: number }

const tool: Anthropic.Tool = {
  name: WEATHER.tool.name,
  description: WEATHER.tool.description,
  input_schema: { ...WEATHER.tool.parameters, type: 'object' },
}

for (const model of ['test/m1', 'test/claude']) {
  test(`Anthropic's client for Node works unchanged with ${model}`, async t => {
    await using fixture = await openClientFixture(dialectConfig)
    const client = new Anthropic({ baseURL: fixture.gateway.url, apiKey: fixture.key, maxRetries: 0 })

    await t.test('a JSON call gives the answer, the request id and the cost that the usage row holds', async () => {
      const created = client.messages.create({ model, max_tokens: 64, messages })
      const { data, response } = await created.withResponse()

      const row = await fixture.row(response.headers.get('x-request-id'))
      assert.deepEqual(
        data.content.map(block => (block.type === 'text' ? block.text : block.type)),
        [TEXT],
      )
      assert.deepEqual(
        [data.type, data.role, data.model, data.stop_reason],
        ['message', 'assistant', model, 'end_turn'],
      )
      assert.equal((data.usage as Usage).cost, Number(row.cost))
      assert.equal(response.headers.get('x-svc-cost'), row.cost)
      assert.deepEqual([data.usage.input_tokens, data.usage.output_tokens], [5, 10])
    })

    await t.test('a stream gives the text as it comes, and the final message with usage and cost', async () => {
      const stream = client.messages.stream({ model, max_tokens: 64, messages })
      let text = ''
      stream.on('text', piece => {
        text += piece
      })

      // The client keeps only the counts that it knows.
      let cost: number | undefined
      stream.on('streamEvent', event => {
        if (event.type === 'message_delta') cost = (event.usage as { readonly cost?: number }).cost
      })

      const final = await stream.finalMessage()

      const row = await fixture.row(final.id.slice('msg_'.length))
      assert.deepEqual([text, final.stop_reason, final.usage.output_tokens], [TEXT, 'end_turn', 10])
      assert.equal(cost, Number(row.cost))
    })

    await t.test('a tool call, its result and the answer, as JSON and as a stream', async () => {
      for (const isStream of [false, true]) {
        fixture.upstream.reset()
        fixture.upstream.next(...WEATHER.turns)
        const ask = (turns: Anthropic.MessageParam[]) => {
          const params = { model, max_tokens: 64, messages: turns, tools: [tool] }
          return isStream ? client.messages.stream(params).finalMessage() : client.messages.create(params)
        }

        const first = await ask(messages)
        const call = first.content.find(block => block.type === 'tool_use')
        assert.deepEqual([call?.name, call?.input, first.stop_reason], ['weather', { city: 'Oslo' }, 'tool_use'])
        const result = { type: 'tool_result' as const, tool_use_id: call?.id ?? '', content: WEATHER.result }
        const second = await ask([
          ...messages,
          { role: 'assistant', content: first.content },
          { role: 'user', content: [result] },
        ])

        assert.equal(second.content.map(block => (block.type === 'text' ? block.text : '')).join(''), WEATHER.text)
        if (model === 'test/m1') WEATHER.assertTurns(fixture.upstream)
      }
    })

    await t.test('thinking comes as a block of its own and may be sent back', async () => {
      fixture.upstream.reset()
      fixture.upstream.next({ reasoning: ['Let me', ' see'], words: ['Hi'] })
      const thinking = { type: 'enabled' as const, budget_tokens: 1024 }

      const final = await client.messages.stream({ model, max_tokens: 4000, messages, thinking }).finalMessage()
      const again = await client.messages.create({
        model,
        max_tokens: 4000,
        messages: [...messages, { role: 'assistant', content: final.content }, ...messages],
      })

      assert.deepEqual(
        final.content.map(block => (block.type === 'thinking' ? block.thinking : block.type === 'text' && block.text)),
        ['Let me see', 'Hi'],
      )
      assert.equal(again.stop_reason, 'end_turn')
    })

    await t.test('errors are of its own classes', async () => {
      const wrong = new Anthropic({ baseURL: fixture.gateway.url, apiKey: WRONG_KEY, maxRetries: 0 })
      const spent = new Anthropic({
        baseURL: fixture.gateway.url,
        apiKey: await fixture.spentKey('rpm'),
        maxRetries: 0,
      })
      const body = { model, max_tokens: 64, messages }

      const errors = [
        await failureOf(wrong.messages.create(body)),
        await failureOf(client.messages.create({ ...body, model: 'none' })),
        await failureOf(client.messages.create({ ...body, max_tokens: 0 })),
        await failureOf(spent.messages.create(body)),
      ]

      assert.deepEqual(
        errors.map(error => (error as APIError).constructor),
        [AuthenticationError, NotFoundError, BadRequestError, RateLimitError],
      )
      assert.equal((errors[1] as APIError).type, 'not_found_error')
    })

    await t.test('a stream that breaks after content throws an error', async () => {
      fixture.upstream.next({ dieAfterChunks: 4, chunkDelayMs: 5 })

      const error = await failureOf(client.messages.stream({ model, max_tokens: 64, messages }).finalMessage())

      assert.ok(error instanceof Error)
      assert.match(error.message, /provider/i)
    })

    await t.test('tokens are counted, and models listed', async () => {
      const { input_tokens: tokens } = await client.messages.countTokens({ model, messages })
      const ids: string[] = []
      for await (const { id } of client.models.list()) ids.push(id)

      // Exact once the tokenizer is loaded, by the bytes until then.
      assert.ok([9, 12].includes(tokens))
      assert.ok(ids.includes(model))
      assert.equal((await client.models.retrieve(model)).display_name, model)
    })
  })
}
