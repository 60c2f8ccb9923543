// Where no upstream reports usage a tokenizer estimates it off the event loop: texts that would keep a tokenizer busy
// for minutes are answered soon, and other callers are not affected.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { countTokens } from 'gpt-tokenizer/encoding/o200k_base'
import { openFixture, warmTokenizer } from '../../../support/fixture.ts'
import { standardConfig, standardModel } from '../../../support/standard-config.ts'
import { settledRow } from '../../../support/usage.ts'

const eye = standardModel({ id: 'test/eye', input_modalities: ['text', 'image'], media_max_tokens: 1000 })
const { gateway, upstream } = await openFixture(url => standardConfig(url, { models: [standardModel(), eye] }))
await warmTokenizer({ gateway, upstream })
const CONTEXT = 128_000
const MAX_OUTPUT = 4096
// The cap on an estimate is 2 s, one for the prompt and one for the output; the rest is for a busy machine.
const SOON_MS = 10_000

test("an estimate of plain text is the tokenizer's count", async () => {
  const text = 'Der schnelle braune Fuchs springt über den faulen Hund. 你好，世界。 let x = a[i++] // 🙂\n'.repeat(20)
  upstream.next({ words: [text], usage: 'none' })

  const answer = await gateway.chat({ messages: [{ role: 'user', content: text }] })

  const row = await settledRow(gateway, answer.headers['x-request-id'])
  assert.equal(row.usage_source, 'estimate')
  assert.equal(row.completion_tokens, countTokens(text))
  assert.ok(row.prompt_tokens >= countTokens(text) && row.prompt_tokens <= countTokens(text) + 16)
})

test('each choice is counted separately, in JSON and in an interleaved stream', async () => {
  const said = ['The answer', ' is', ' 12.']
  const each = countTokens(said.join(''))
  const n = 4
  const choices = Array.from({ length: n }, (_, index) => index)
  const frame = (entries: readonly object[]) => `data: ${JSON.stringify({ choices: entries })}\n\n`
  const message = { role: 'assistant', content: said.join('') }
  upstream.next({
    body: JSON.stringify({ choices: choices.map(index => ({ index, message, finish_reason: 'stop' })) }),
  })
  upstream.next({
    rawFrames: [
      ...said.flatMap(content => choices.map(index => frame([{ index, delta: { content }, finish_reason: null }]))),
      frame(choices.map(index => ({ index, delta: {}, finish_reason: 'stop' }))),
      'data: [DONE]\n\n',
    ],
  })

  const answers = [await gateway.chat({ n }), await gateway.chat({ n, stream: true })]

  for (const { headers } of answers) {
    const row = await settledRow(gateway, headers['x-request-id'])
    assert.deepEqual([row.outcome, row.usage_source, row.completion_tokens], ['completed', 'estimate', n * each])
  }
})

test('tools and every message of a prompt are counted', async () => {
  const parameters = { type: 'object', properties: { city: { type: 'string', description: 'a '.repeat(200) } } }
  const tools = [{ type: 'function', function: { name: 'weather', parameters } }]
  const messages = Array.from({ length: 10 }, (_, i) => ({
    role: i % 2 === 0 ? 'user' : 'assistant',
    content: 'Hello there',
  }))
  upstream.next({ usage: 'none' })

  const answer = await gateway.chat({ messages, tools })

  const row = await settledRow(gateway, answer.headers['x-request-id'])
  assert.ok(row.prompt_tokens >= 200 + 20, `${row.prompt_tokens}`)
})

const WORDS = 'many words of a long text '.repeat(500)
const CALL = { id: 'c', type: 'function', function: { name: 'f', arguments: '{}' } }
const HIDING_PLACES: Readonly<Record<string, object>> = {
  'the arguments of a function call': {
    role: 'assistant',
    content: null,
    function_call: { name: 'f', arguments: WORDS },
  },
  'a refusal': { role: 'assistant', content: null, refusal: WORDS },
  'a part that is a refusal': { role: 'assistant', content: [{ type: 'refusal', refusal: WORDS }] },
  'the arguments of a tool call': {
    role: 'assistant',
    tool_calls: [{ ...CALL, function: { name: 'f', arguments: WORDS } }],
  },
  'earlier reasoning': { role: 'assistant', content: 'hi', reasoning_content: WORDS },
  'details of earlier reasoning': { role: 'assistant', content: 'hi', reasoning_details: [{ text: WORDS }] },
  'a part of a tool answer': { role: 'tool', tool_call_id: 'c', content: [{ type: 'text', text: WORDS }] },
}
for (const [place, message] of Object.entries(HIDING_PLACES)) {
  test(`text in ${place} is counted, also for a caller that disconnects before the usage arrives`, async () => {
    const user = { role: 'user', content: 'Hello' }
    upstream.next({ usage: 'none', chunks: 10_000, chunkDelayMs: 30 })
    upstream.next({ usage: 'none' })

    const leaving = await gateway.openChat({ messages: [user, message] })
    leaving.abort()
    const whole = await gateway.chat({ messages: [user, message] })

    const words = countTokens(WORDS)
    for (const { headers } of [leaving, whole]) {
      const row = await settledRow(gateway, headers['x-request-id'])
      const tokens = Number(row.prompt_tokens)
      assert.equal(row.usage_source, 'estimate')
      assert.ok(tokens >= words && tokens <= words + 60, `${tokens} of ${words}`)
    }
  })
}

test('the bytes of an image are not counted as text', async () => {
  const url = `data:image/png;base64,${'A'.repeat(100_000)}`
  upstream.next({ usage: 'none' })

  const answer = await gateway.chat({
    model: 'test/eye',
    messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url } }] }],
  })

  const row = await settledRow(gateway, answer.headers['x-request-id'])
  assert.ok(Number(row.prompt_tokens) >= 1000 && Number(row.prompt_tokens) < 1100, `${row.prompt_tokens}`)
})

test('4 MB of one letter are answered quickly and delay nobody else', async () => {
  upstream.script(entry => (entry.rawBody.length > 100_000 ? { usage: 'none' } : {}))
  const hostile = ['a', ' ', 'ä', '\u{1f642}'].map(letter => letter.repeat(4_000_000 / Buffer.byteLength(letter)))
  await longestStallMs()
  const startedAt = Date.now()

  let isDone = false
  const heavy = Promise.all(hostile.map(content => gateway.chat({ messages: [{ role: 'user', content }] }))).finally(
    () => {
      isDone = true
    },
  )
  while (!isDone) assert.equal((await gateway.chat({ max_tokens: 5 })).status, 200)
  const answers = await heavy

  assert.ok(Date.now() - startedAt < SOON_MS, `took ${Date.now() - startedAt} ms`)
  const stall = await longestStallMs()
  assert.ok(stall < 1_000, `the gateway served nobody for ${stall} ms`)
  for (const answer of answers) {
    assert.equal(answer.status, 200)
    const row = await settledRow(gateway, answer.headers['x-request-id'])
    assert.equal(row.usage_source, 'estimate')
    assert.ok(row.prompt_tokens > 1000 && row.prompt_tokens <= CONTEXT, `${row.prompt_tokens}`)
  }
})

test('a stream of 1 MB of one letter is settled quickly, within its hold', async () => {
  upstream.next({ usage: 'none', chunks: 250, chunkBytes: 4000 })
  const startedAt = Date.now()

  const stream = await gateway.openChat()
  const { done } = await stream.rest()

  assert.ok(Date.now() - startedAt < SOON_MS)
  const row = await settledRow(gateway, stream.headers['x-request-id'])
  assert.deepEqual([done, row.completion_tokens, row.usage_source], [true, MAX_OUTPUT, 'estimate'])
})

// The longest time since the last call in which the gateway did nothing for anybody else.
async function longestStallMs(): Promise<number> {
  const { text } = await gateway.get('/metrics')
  return 1000 * Number(/^turnpike_event_loop_delay_seconds\{quantile="1"\} (\S+)$/m.exec(text)?.[1])
}
