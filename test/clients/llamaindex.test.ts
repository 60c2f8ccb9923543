// LlamaIndex's OpenAI and OpenAIEmbedding, pointed at the gateway.
import assert from 'node:assert/strict'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { installedModules } from '../support/agents.ts'
import { MODEL, openClientFixture, TEXT, WEATHER } from '../support/client-fixture.ts'
import { dialectConfig } from '../support/dialects.ts'
import { vectorOf } from '../support/embedding-vendor.ts'

const installed = installedModules('@llamaindex/openai', '0.4.23')
const skip = typeof installed === 'string' ? installed : false
if (skip !== false) process.stderr.write(`\nNOT TESTED: LlamaIndex.\n${skip}\n\n`)

test('LlamaIndex works unchanged', { skip }, async t => {
  const { OpenAI, OpenAIEmbedding } = await loaded((installed as { path: string }).path)
  await using fixture = await openClientFixture(dialectConfig)
  const settings = { baseURL: fixture.baseUrl, apiKey: fixture.key }
  const llm = new OpenAI({ ...settings, model: MODEL })
  const messages: readonly Message[] = [{ role: 'user', content: 'Say hello' }]

  await t.test('chat returns the text, and the answer with its cost', async () => {
    const { message, raw } = await llm.chat({ messages })

    const row = await fixture.row(raw.id.replace(/^chatcmpl-/, ''))
    assert.equal(message.content, TEXT)
    assert.equal(raw.usage.cost, Number(row.cost))
  })

  await t.test('a stream gives the text in pieces', async () => {
    const pieces = await Array.fromAsync(await llm.chat({ messages, stream: true }))

    assert.ok(pieces.length > 10)
    assert.equal(pieces.map(({ delta }) => delta).join(''), TEXT)
  })

  await t.test('a tool is called and its result answered', async () => {
    fixture.upstream.reset()
    fixture.upstream.next(...WEATHER.turns)
    const tools = [{ metadata: WEATHER.tool, call: () => WEATHER.result }]

    const { message: call } = await llm.chat({ messages, tools })
    const toolResult = { id: call.options?.toolCall?.[0]?.id, result: WEATHER.result, isError: false }
    const result: Message = { role: 'user', content: WEATHER.result, options: { toolResult } }
    const { message: answer } = await llm.chat({ messages: [...messages, call, result], tools })

    const { id, name, arguments: input } = WEATHER.call
    assert.deepEqual(call.options?.toolCall, [{ id, name, input }])
    assert.equal(answer.content, WEATHER.text)
    WEATHER.assertTurns(fixture.upstream)
  })

  await t.test('embeddings', async () => {
    const embedding = new OpenAIEmbedding({ ...settings, model: 'test/vectors' })

    assert.deepEqual(await embedding.getTextEmbedding('A gate.'), vectorOf('A gate.', 8))
  })

  assert.equal((await fixture.gateway.audit()).ok, true)
})

// What is used of the package, which is no dependency and so has no types here.
type Message = {
  readonly role: string
  readonly content: string
  readonly options?: { readonly toolCall?: readonly { readonly id: string }[]; readonly toolResult?: object }
}
type Ask = { readonly messages: readonly Message[]; readonly tools?: readonly object[] }
type Llm = {
  chat(ask: Ask & { readonly stream: true }): Promise<AsyncIterable<{ readonly delta: string }>>
  chat(ask: Ask): Promise<{ readonly message: Message; readonly raw: { id: string; usage: { cost: number } } }>
}
type Settings = { readonly baseURL: string; readonly apiKey: string; readonly model: string }
type LlamaIndex = {
  readonly OpenAI: new (settings: Settings) => Llm
  readonly OpenAIEmbedding: new (settings: Settings) => { getTextEmbedding(text: string): Promise<number[]> }
}

async function loaded(modules: string): Promise<LlamaIndex> {
  const file = createRequire(join(modules, '../package.json')).resolve('@llamaindex/openai')
  return import(pathToFileURL(file).href)
}
