// The bounds for holds, compared with OpenAI's own tokenizers: for any text and framing, no prompt has more tokens.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import * as cl100k from 'gpt-tokenizer/encoding/cl100k_base'
import * as o200k from 'gpt-tokenizer/encoding/o200k_base'
import { parseChat } from '../../src/chat/parse-request.ts'
import { promptBound, promptTexts, surelyExceeds, tokenizerOf } from '../../src/domain/prompt.ts'

const ENCODINGS = { o200k, cl100k }
const ANY_TEXT = { disallowedSpecial: new Set<string>() }
const MODEL = { mediaMaxTokens: 0, contextLength: 100_000_000 }

const letters = (from: number, to: number) =>
  fc.integer({ min: from, max: to }).map(point => String.fromCodePoint(point))
const text = (unit: fc.Arbitrary<string>) =>
  fc.oneof(fc.string({ unit, maxLength: 200 }), fc.string({ unit, minLength: 200, maxLength: 2000 }))
const TEXTS = {
  digits: text(letters(0x30, 0x39)),
  base64: text(fc.constantFrom(...'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/')),
  punctuation: text(fc.constantFrom(...'!"#$%&\'()*+,-./:;<=>?@[\\]^_`{|}~')),
  cuneiform: text(letters(0x12000, 0x12399)),
  'rare CJK': text(fc.oneof(letters(0x3400, 0x4dbf), letters(0x20000, 0x2a6df))),
  emoji: text(fc.oneof(letters(0x1f300, 0x1faff), fc.constantFrom('\u200d', '\ufe0f', '🇦', '🏽'))),
  'control characters': text(fc.oneof(letters(0, 0x1f), letters(0x7f, 0x9f))),
  newlines: text(fc.constantFrom('\n', '\r', ' ', '\t')),
  surrogates: text(letters(0xd800, 0xdfff)),
  anything: fc.string({ unit: 'binary', maxLength: 1000 }),
} as const
const mixed = fc.oneof(...Object.values(TEXTS))

for (const [name, texts] of Object.entries(TEXTS)) {
  test(`${name}: neither the bound by bytes nor the one by count is exceeded`, () => {
    fc.assert(
      fc.property(fc.array(texts, { minLength: 1, maxLength: 4 }), contents => {
        assertBounded({ messages: contents.map(content => ({ role: 'user', content })) })
      }),
      { numRuns: 60, endOnFailure: true },
    )
  })
}

test('many parts of a message, each tokenized separately, are within the bounds', () => {
  const texts = fc.oneof(fc.constantFrom('\n', ' ', '', '.', '\n\n', 'a', '1', ' \n'), mixed)
  fc.assert(
    fc.property(fc.array(texts, { minLength: 1, maxLength: 40, size: 'max' }), parts => {
      assertBounded({ messages: [{ role: 'user', content: parts.map(part => ({ type: 'text', text: part })) }] })
    }),
    { numRuns: 100, endOnFailure: true },
  )
})

test('tools, calls, names and a response schema are within the bounds', () => {
  const name = fc.stringMatching(/^[a-z][a-z0-9_]{0,20}$/)
  const property = fc.oneof(
    fc.record({ type: fc.constant('string'), description: mixed }),
    fc.record({ type: fc.constant('string'), enum: fc.array(mixed, { minLength: 1, maxLength: 5 }) }),
    fc.record({ type: fc.constantFrom('string', 'number', 'boolean') }),
  )
  const schema = fc.dictionary(name, property, { maxKeys: 8 })
  const tool = fc.record(
    { name, description: mixed, parameters: schema.map(properties => ({ type: 'object', properties })) },
    { requiredKeys: ['name'] },
  )
  fc.assert(
    fc.property(fc.array(tool, { minLength: 1, maxLength: 8 }), schema, mixed, name, (tools, wanted, said, who) => {
      const call = { id: 'call_1', type: 'function', function: { name: who, arguments: JSON.stringify({ said }) } }
      assertBounded({
        messages: [
          { role: 'system', content: said, name: who },
          { role: 'assistant', content: null, tool_calls: [call] },
          { role: 'tool', tool_call_id: 'call_1', content: said },
        ],
        tools: tools.map(each => ({ type: 'function', function: each })),
        response_format: {
          type: 'json_schema',
          json_schema: { name: who, schema: { type: 'object', properties: wanted } },
        },
      })
    }),
    { numRuns: 30, endOnFailure: true },
  )
})

test('a few tools without a description are within the bounds', () => {
  for (const count of [1, 2, 3, 10, 128]) {
    const tools = Array.from({ length: count }, (_, i) => ({ type: 'function', function: { name: `f${i}` } }))
    assertBounded({ messages: [{ role: 'user', content: '' }], tools })
  }
})

test('an image counts the declared tokens, whatever its bytes, and no prompt counts more than the context', () => {
  const url = `data:image/png;base64,${'A'.repeat(100_000)}`
  const chat = chatOf({ messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url } }] }] })

  const bytes = Buffer.byteLength('[{"role":"user","content":[]}]')
  assert.equal(promptBound(chat, { mediaMaxTokens: 1000, contextLength: 128_000 }), bytes + 16 + 1000)
  assert.equal(promptBound(chat, { mediaMaxTokens: 1000, contextLength: 500 }), 500)
})

test('only a prompt that is certainly longer than the context is reported as such', () => {
  const said = (content: string) => chatOf({ messages: [{ role: 'user', content }] })

  assert.equal(surelyExceeds(said('word '.repeat(1001)), 1000), true)
  assert.equal(surelyExceeds(said('word '.repeat(1000)), 1000), false)
  assert.equal(surelyExceeds(said('a '.repeat(1001)), 1000), true)
  assert.equal(surelyExceeds(said('-'.repeat(128 * 1001)), 1000), true)
  // Many more bytes than the context has tokens, but not certainly many more tokens.
  assert.equal(surelyExceeds(said('12345678'.repeat(1000)), 1000), false)
  // One word of 12 MB, which a pattern cannot match at once, and words after it.
  assert.equal(surelyExceeds(said(`${'漢'.repeat(2 ** 22)} a b c`), 128_000), false)
  const calls = Array.from({ length: 100 }, (_, i) => ({
    id: `call_${i}`,
    type: 'function',
    function: { name: 'f', arguments: '{}' },
  }))
  assert.equal(surelyExceeds(chatOf({ messages: [{ role: 'assistant', tool_calls: calls }] }), 500), false)
})

test("OpenAI's own tokenizer is used exactly if name and address are OpenAI's", () => {
  const of = (model: string, baseUrl = 'https://api.openai.com/v1') => {
    const { encoding, isOpenai } = tokenizerOf({ model }, { baseUrl })
    return isOpenai ? encoding : 'other'
  }
  const azure = 'https://acme.openai.azure.com/openai/v1'
  const local = 'http://127.0.0.1:11434/v1'

  for (const name of [
    'gpt-4o',
    'gpt-4o-mini-2024-07-18',
    'gpt-4.1-nano',
    'gpt-5',
    'gpt-5.2-pro',
    'o1',
    'o3-2025-04-16',
  ]) {
    assert.equal(of(name), 'o200k', name)
    assert.equal(of(`openai/${name}`, 'https://openrouter.ai/api/v1'), 'o200k', name)
    assert.equal(of(name, local), 'other', name)
  }
  for (const name of ['gpt-4', 'gpt-4-turbo', 'gpt-4-0613', 'gpt-3.5-turbo']) assert.equal(of(name), 'cl100k', name)
  assert.equal(of('gpt-35-turbo', azure), 'cl100k')
  assert.equal(of('prod-chat', azure), 'other')
  assert.equal(of('openai/gpt-oss-120b', local), 'o200k')
  assert.equal(of('gpt-4o', 'https://api.openai.com.evil.example/v1'), 'other')
  assert.equal(of('claude-sonnet-4-5', 'https://api.anthropic.com'), 'other')
})

type Body = { readonly messages: readonly object[]; readonly [field: string]: unknown }

function chatOf(body: Body) {
  return parseChat(structuredClone({ model: 'm', ...body }) as Record<string, unknown>)
}

function assertBounded(body: Body): void {
  const chat = chatOf(body)
  for (const [encoding, { countTokens }] of Object.entries(ENCODINGS)) {
    const tokens = (said: string) => countTokens(said, ANY_TEXT)
    const rendered = renderedTokens(body, tokens)
    const texts = [...promptTexts(chat.messages, chat.forwarded)]
    const counts = { o200k: 0, cl100k: 0, [encoding]: tokens(texts.join('\n')) }
    const counted = promptBound(chat, MODEL, {
      prompt: { tokens: counts, texts: texts.length },
      tokenizers: [{ encoding: encoding as 'o200k' | 'cl100k', isOpenai: true }],
    })

    assert.ok(rendered <= promptBound(chat, MODEL), `${encoding}: ${rendered} by bytes, ${JSON.stringify(body)}`)
    assert.ok(rendered <= counted, `${encoding}: ${rendered} > ${counted} by count, ${JSON.stringify(body)}`)
  }
}

// OpenAI's known framing of a prompt: three tokens per message and its role, one more for a name, three for the start
// of the answer; tools as a TypeScript namespace, a schema under a heading.
function renderedTokens(body: Body, tokens: (said: string) => number): number {
  let sum = 3
  for (const message of body.messages as readonly Readonly<Record<string, unknown>>[]) {
    sum += 3 + tokens(String(message.role))
    if (typeof message.name === 'string') sum += 1 + tokens(message.name)
    if (typeof message.content === 'string') sum += tokens(message.content)
    if (Array.isArray(message.content)) for (const part of message.content) sum += tokens(part.text)
    for (const { function: called } of (message.tool_calls ?? []) as readonly Called[]) {
      sum += tokens(` to=functions.${called.name}`) + tokens(called.arguments) + 3
    }
  }
  const tools = body.tools as readonly { readonly function: RenderedTool }[] | undefined
  if (tools !== undefined) {
    sum += tokens('# Tools\n\n## functions\n\nnamespace functions {\n\n} // namespace functions')
    for (const tool of tools) sum += tokens(renderTool(tool.function))
  }
  const wanted = body.response_format as { readonly json_schema: { name: string; schema: object } } | undefined
  if (wanted !== undefined) {
    const { name, schema } = wanted.json_schema
    sum += tokens(`# Response Formats\n\n## ${name}\n\n${JSON.stringify(schema)}`)
  }
  return sum
}

type Called = { readonly function: { readonly name: string; readonly arguments: string } }
type Property = { readonly type: string; readonly description?: string; readonly enum?: readonly string[] }
type RenderedTool = {
  readonly name: string
  readonly description?: string
  readonly parameters?: { readonly properties: Readonly<Record<string, Property>> }
}

function renderTool({ name, description, parameters }: RenderedTool): string {
  const fields = Object.entries(parameters?.properties ?? {}).map(([field, property]) => {
    const type = property.enum?.map(value => JSON.stringify(value)).join(' | ') ?? property.type
    return `${property.description === undefined ? '' : `// ${property.description}\n`}${field}?: ${type},`
  })
  const argument = fields.length === 0 ? '()' : `(_: {\n${fields.join('\n')}\n})`
  return `${description === undefined ? '' : `// ${description}\n`}type ${name} = ${argument} => any;\n\n`
}
