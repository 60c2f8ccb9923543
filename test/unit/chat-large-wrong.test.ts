// A large invalid body is refused as quickly as a valid one is accepted, and with the same message as a small one.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseChat } from '../../src/chat/parse-request.ts'
import { Refusal } from '../../src/domain/refusal.ts'

const MEMBERS = 24_000
const HI = [{ role: 'user', content: 'hi' }]
const text = { type: 'text', text: 'a' }
const many = <T>(entry: T, count = MEMBERS): T[] => Array.from({ length: count }, () => entry)
const named = (value: unknown) => Object.fromEntries(Array.from({ length: MEMBERS }, (_, i) => [`k${i}`, value]))

type Case = readonly [fields: Record<string, unknown>, param: string, words: RegExp]

const CASES: Readonly<Record<string, Case>> = {
  tools: [{ tools: many({ type: 'function', function: { name: 'f' } }) }, 'tools', /more than 128 items/],
  functions: [{ functions: many({ name: 'f' }) }, 'functions', /more than 128 items/],
  stop: [{ stop: many('a') }, 'stop', /more than 4 items/],
  models: [{ models: many('a') }, 'models', /more than 16 items/],
  order: [{ provider: { order: many('a') } }, 'provider.order', /more than 64 items/],
  messages: [{ messages: many(HI[0]) }, 'messages', /more than 2048 items/],
  'a wrong message': [{ messages: [...many(HI[0], 2000), 7] }, 'messages.2000', /must be an object/],
  'a part at the end': [
    { messages: [{ role: 'user', content: [...many(text), { type: 7 }] }] },
    `messages.0.content.${MEMBERS}.type`,
    /must be a string/,
  ],
  'a part without a type': [
    { messages: [{ role: 'user', content: [...many(text), {}] }] },
    `messages.0.content.${MEMBERS}.type`,
    /is missing/,
  ],
  'a field after many parts': [
    { messages: [{ role: 'user', name: 7, content: many(text) }] },
    'messages.0.name',
    /must be a string/,
  ],
  'a missing field after many parts': [
    { messages: [{ role: 'tool', content: many(text) }] },
    'messages.0.tool_call_id',
    /is missing/,
  ],
  'tool calls': [
    {
      messages: [
        { role: 'assistant', tool_calls: many({ id: 'a', type: 'function', function: { name: 'f', arguments: '' } }) },
      ],
    },
    'messages.0.tool_calls',
    /more than 128 items/,
  ],
  metadata: [{ metadata: { ...named('a'), wrong: 7 } }, 'metadata.wrong', /must be a string/],
  'logit bias': [{ logit_bias: { ...named(1), wrong: 'a' } }, 'logit_bias.wrong', /must be a number/],
}

for (const [name, [fields, param, words]] of Object.entries(CASES)) {
  test(`refused by the invalid path: ${name}`, () => {
    const refusal = refusalOf({ model: 'a', messages: HI, ...structuredClone(fields) })
    assert.equal(refusal.detail.param, param)
    assert.match(refusal.message, words)
  })
}

function refusalOf(body: Record<string, unknown>): Refusal {
  try {
    parseChat(body)
  } catch (error) {
    if (error instanceof Refusal) return error
    throw error
  }
  throw new Error('it was not refused')
}
