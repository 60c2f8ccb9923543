// The streamed answer: chunks that OpenAI's clients accept for any upstream stream, one id, the role first, usage if
// requested, and nothing else.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { standardConfig, startGateway } from '../../../support/gateway.ts'
import { assertCommonHeaders } from '../../../support/refusal.ts'
import { assertChunk } from '../../../support/schemas.ts'
import type { SseBody, StreamChunk } from '../../../support/sse.ts'
import { startUpstream } from '../../../support/upstream.ts'

const data = (value: unknown) => `data: ${typeof value === 'string' ? value : JSON.stringify(value)}\n\n`
const frame = (delta: unknown, rest: object = {}) => data({ id: 'x', choices: [{ index: 0, delta, ...rest }] })
const finish = (reason: string | null = 'stop') => frame({}, { finish_reason: reason })
const DONE = data('[DONE]')
const token = { token: 'hi', logprob: -0.5, bytes: [104, 105], top_logprobs: [] }
const call = { index: 0, id: 'c', type: 'function', function: { name: 'f', arguments: '' } }

const VARIANTS: Readonly<Record<string, readonly string[]>> = {
  'no role at all': [frame({ content: 'hi' }), finish(), DONE],
  'a last chunk followed by a space': [frame({ content: 'hi' }), finish(), data('[DONE] ')],
  'a vendor-specific role': [frame({ role: 'model', content: 'hi' }), finish(), DONE],
  'a role on every delta': [
    frame({ role: 'assistant', content: 'h' }),
    frame({ role: 'assistant', content: 'i' }),
    finish(),
    DONE,
  ],
  'tool calls': [
    frame({ role: 'assistant', content: null, tool_calls: [call] }),
    frame({ tool_calls: [{ index: 0, function: { arguments: '{}' } }] }),
    finish('tool_calls'),
    DONE,
  ],
  'null tool calls': [
    frame({ role: 'assistant', content: 'hi', tool_calls: null, function_call: null, audio: null }),
    finish(),
    DONE,
  ],
  'a refusal': [frame({ role: 'assistant', refusal: 'n' }), frame({ refusal: 'o' }), finish('content_filter'), DONE],
  reasoning: [
    frame({ role: 'assistant', reasoning_content: 'hm', content: null }),
    frame({ content: 'hi' }),
    finish(),
    DONE,
  ],
  logprobs: [frame({ content: 'hi' }, { logprobs: { content: [token], refusal: null } }), finish(), DONE],
  'logprobs without a list of refusals': [frame({ content: 'hi' }, { logprobs: { content: [token] } }), finish(), DONE],
  'content in parts': [frame({ content: [{ type: 'text', text: 'hi' }] }), frame({ content: 5 }), finish(), DONE],
  'an unknown role in a later chunk': [
    frame({ role: 'assistant', content: 'h' }),
    frame({ role: '', content: 'i' }),
    finish(),
    DONE,
  ],
  'deltas that are not objects': [frame({ content: 'hi' }), frame([]), frame('x'), frame(null), finish(), DONE],
  'a vendor-specific finish reason': [frame({ content: 'hi' }), finish('eos_token'), DONE],
  'a finish reason in the last content chunk': [frame({ content: 'hi' }, { finish_reason: 'length' }), DONE],
  'a filter frame first': [
    data({ id: '', choices: [], prompt_filter_results: [] }),
    frame({ content: 'hi' }),
    finish(),
    DONE,
  ],
  'events with ids and names': [`event: message\nid: 7\nretry: 5\n${frame({ content: 'hi' })}`, finish(), DONE],
  'no [DONE]': [frame({ content: 'hi' }), finish()],
  'usage on every chunk': [
    data({ choices: [{ index: 0, delta: { content: 'hi' } }], usage: { prompt_tokens: 5, completion_tokens: 1 } }),
    finish(),
    DONE,
  ],
  'missing fields': [
    data({ choices: [{ delta: { content: 'hi' } }] }),
    data({ choices: [{ finish_reason: 'stop' }] }),
    DONE,
  ],
}

const OWN_REASON: Readonly<Record<string, string>> = {
  'tool calls': 'tool_calls',
  'a refusal': 'content_filter',
  'a finish reason in the last content chunk': 'length',
}
// For cases whose content is not "hi".
const OWN_WORDS: Readonly<Record<string, string>> = {
  'tool calls': '"tool_calls":[{"index":0,"function":{"arguments":"{}"}}]',
  'a refusal': '"delta":{"refusal":"o"}',
  reasoning: '"reasoning_content":"hm"',
  logprobs: JSON.stringify({ content: [token], refusal: null }),
}

test('for any upstream stream the caller gets the chunks that OpenAI documents', async t => {
  await using upstream = await startUpstream()
  await using gateway = await startGateway({ config: standardConfig(upstream.url) })
  const key = await gateway.createKey({ rpm_limit: 10_000 })
  const stream = async (body: object = {}) => {
    const opened = await gateway.openChat(body, { key: key.secret })
    return { opened, answer: await opened.rest() }
  }

  for (const [what, rawFrames] of Object.entries(VARIANTS)) {
    for (const include_usage of [true, false]) {
      await t.test(`${what}, ${include_usage ? 'with' : 'without'} usage`, async () => {
        upstream.next({ rawFrames })

        const { opened, answer } = await stream({ stream_options: { include_usage } })

        assertIdentity(answer, String(opened.headers['x-request-id']))
        assertFraming(answer)
        assertUsage(answer, include_usage, String(opened.trailers['x-svc-cost']))
        assert.deepEqual(answer.chunks.flatMap(reasons), [OWN_REASON[what] ?? 'stop'])
        const kept = OWN_WORDS[what]
        if (kept === undefined) assert.equal(answer.content, 'hi')
        else assert.ok(answer.raw.includes(kept), answer.raw)
      })
    }
  }

  await t.test('the content type is case-insensitive', async () => {
    for (const contentType of ['TEXT/EVENT-STREAM', 'Text/Event-Stream; charset=utf-8']) {
      upstream.next({ contentType })

      assert.equal((await stream()).answer.done, true)
    }
  })

  await t.test('three choices each begin with their role', async () => {
    const { answer } = await stream({ n: 3 })

    assertFraming(answer)
    for (const index of [0, 1, 2]) {
      const deltas = answer.chunks.flatMap(chunk => chunk.choices.filter(choice => choice.index === index))
      assert.equal(deltas[0]?.delta.role, 'assistant')
      assert.equal(deltas.map(choice => choice.delta.content ?? '').join(''), 'Hello there, how can I help you today?')
      assert.equal(deltas.at(-1)?.finish_reason, 'stop')
    }
  })

  await t.test('usage is not sent to a caller that did not request it', async () => {
    for (const n of [1, 2, 3]) {
      for (const usage of ['normal', 'perChunk', 'withFinish'] as const) {
        upstream.next({ usage })
        const { answer } = await stream({ n })

        assertFraming(answer)
        for (const chunk of answer.chunks) {
          assert.ok(chunk.choices.length > 0, JSON.stringify(chunk))
          assert.ok(!('usage' in chunk), JSON.stringify(chunk))
        }
      }
    }
  })

  await t.test('tool calls without an index get one: a known id continues, a new id or name is the next', async () => {
    const begun = (id: string | undefined, name: string) => ({
      id,
      type: 'function',
      function: { name, arguments: '' },
    })
    const more = (args: string, rest: object = {}) => ({ ...rest, function: { arguments: args } })
    const pieces: readonly (readonly [piece: object, choice: number, index: number])[] = [
      [begun('a', 'f'), 0, 0],
      [more('1'), 0, 0],
      [begun('b', 'f'), 0, 1],
      [more('2', { id: 'a' }), 0, 0],
      [more('3', { id: 'b', index: null }), 0, 1],
      [begun(undefined, 'g'), 0, 2],
      [more('4', { id: '' }), 0, 2],
      [more('5'), 1, 0],
      [{ ...begun('x', 'h'), index: 5 }, 1, 5],
      [begun('y', 'h'), 1, 6],
      [more('6', { id: 'x', index: -1 }), 1, 5],
    ]
    const frames = pieces.map(([piece, index]) => data({ choices: [{ index, delta: { tool_calls: [piece] } }] }))
    const both = data({ choices: [{ index: 2, delta: { tool_calls: [begun('p', 'f'), begun('q', 'f')] } }] })
    const ends = [0, 1, 2].map(index => data({ choices: [{ index, delta: {}, finish_reason: 'tool_calls' }] }))
    upstream.next({ rawFrames: [...frames, both, ...ends, DONE] })

    const { answer } = await stream({ n: 3 })

    assertFraming(answer)
    const calls = answer.chunks.flatMap(chunk =>
      chunk.choices.flatMap(({ index, delta }) =>
        ((delta.tool_calls ?? []) as readonly { readonly index: number }[]).map(each => [index, each.index]),
      ),
    )
    assert.deepEqual(calls, [...pieces.map(([, choice, index]) => [choice, index]), [2, 0], [2, 1]])
  })

  await t.test('headers, trailer and row agree', async () => {
    const { opened, answer } = await stream({ stream_options: { include_usage: true } })

    assertCommonHeaders(opened.headers)
    assert.equal(opened.headers['content-type'], 'text/event-stream; charset=utf-8')
    assert.equal(opened.headers['cache-control'], 'no-cache, no-transform')
    assert.equal(opened.headers['x-accel-buffering'], 'no')
    assert.equal(opened.headers['x-svc-provider'], 'up')
    assert.equal(opened.headers.trailer, 'X-Svc-Cost')
    assert.equal(opened.headers['x-svc-cost'], undefined)
    const { body: row } = await gateway.get(`/v1/usage/${opened.headers['x-request-id']}`, key.secret)
    assert.equal(opened.trailers['x-svc-cost'], row.cost)
    const usage = answer.chunks.at(-1)?.usage
    assert.deepEqual([usage?.prompt_tokens, usage?.completion_tokens], [row.prompt_tokens, row.completion_tokens])
  })

  assert.ok((await gateway.audit()).ok)
})

function assertIdentity({ chunks }: SseBody, requestId: string): void {
  const identities = new Set(
    chunks.map(({ id, object, created, model }) => JSON.stringify([id, object, created, model])),
  )
  assert.equal(identities.size, 1)
  const first = chunks[0] as StreamChunk
  assert.deepEqual([first.id, first.object, first.model], [`chatcmpl-${requestId}`, 'chat.completion.chunk', 'test/m1'])
  assert.ok(Math.abs(first.created - Date.now() / 1000) < 60)
}

function assertFraming(answer: SseBody): void {
  for (const chunk of answer.chunks) {
    assertChunk(chunk)
    assert.equal(typeof chunk.system_fingerprint, 'string')
  }
  assert.equal(answer.chunks[0]?.choices[0]?.delta.role, 'assistant')
  assert.deepEqual([answer.doneCount, answer.afterDone, answer.others, answer.comments], [1, 0, [], []])
}

function assertUsage({ chunks, raw }: SseBody, asked: boolean, trailer: string): void {
  if (!asked) {
    assert.ok(chunks.every(chunk => !Object.hasOwn(chunk, 'usage') && chunk.choices.length > 0))
    return
  }
  const last = chunks.at(-1) as StreamChunk
  assert.deepEqual(last.choices, [])
  assert.ok(Number(last.usage?.prompt_tokens) > 0 && Number(last.usage?.completion_tokens) > 0)
  assert.match(raw, new RegExp(`"cost":${trailer.replace('.', '\\.')}\\}\\}\\n\\ndata: \\[DONE\\]\\n\\n$`))
  assert.ok(chunks.slice(0, -1).every(chunk => chunk.usage === null))
}

function reasons(chunk: StreamChunk): string[] {
  return chunk.choices.flatMap(choice => choice.finish_reason ?? [])
}
