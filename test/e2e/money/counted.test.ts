// An account that cannot afford a token for every byte of its prompt has the prompt counted before it is refused, and
// pays for the tokenizer's count.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { countTokens as older } from 'gpt-tokenizer/encoding/cl100k_base'
import { countTokens } from 'gpt-tokenizer/encoding/o200k_base'
import { PATIENT_COUNTS, withBounds } from '../../support/bounds.ts'
import { countedBound } from '../../support/counted-bound.ts'
import { openFixture } from '../../support/fixture.ts'
import type { NewKey } from '../../support/gateway.ts'
import { httpCall, type Loose } from '../../support/http-call.ts'
import { standardConfig, standardModel } from '../../support/standard-config.ts'
import { balanceOf, credits, nano, promptBound, settledRow } from '../../support/usage.ts'

const PROSE = 'The quick brown fox jumps over the lazy dog, and nobody is surprised. '.repeat(40)
const HINDI = 'नमस्ते दुनिया, यह एक परीक्षण है। '.repeat(40)
const messages = [{ role: 'user', content: PROSE }]
const MAX_TOKENS = 10
const OUTPUT = BigInt(MAX_TOKENS) * 10_000n
const COUNTED = BigInt(countedBound(messages)) * 2500n + OUTPUT
const BYTES = BigInt(promptBound(messages)) * 2500n + OUTPUT
const { gateway, upstream } = await openFixture(
  url =>
    standardConfig(url, {
      models: [
        standardModel(),
        standardModel({ id: 'test/own', targets: [{ provider: 'up', model: 'openai/gpt-4o-mini' }] }),
        standardModel({
          id: 'test/long-answers',
          max_output_tokens: 16_384,
          pricing: { prompt: '0.0000025', completion: '0.0001' },
        }),
        standardModel({ id: 'test/dear-prompts', pricing: { prompt: '0.001', completion: '0.00001' } }),
        standardModel({ id: 'test/older', targets: [{ provider: 'up', model: 'openai/gpt-4-turbo' }] }),
      ],
    }),
  withBounds(PATIENT_COUNTS),
)

test('the hold is by bytes if the balance covers them, otherwise by the token count plus half', async () => {
  assert.ok(COUNTED * 2n < BYTES)
  const rich = await gateway.createKey({ credits: credits(BYTES) })
  const poor = await gateway.createKey({ credits: credits(COUNTED) })
  const poorer = await gateway.createKey({ credits: credits(COUNTED - 1n) })

  assert.equal(await holdOf(rich), BYTES)
  assert.equal(await holdOf(poor), COUNTED)
  const refused = await ask(poorer)

  assert.equal(refused.body.error?.code, 'insufficient_credits')
  assert.equal(refused.body.error?.metadata?.required, credits(COUNTED))
  assert.equal(refused.body.error?.metadata?.affordable_max_tokens, MAX_TOKENS - 1)
})

test('a counted request and a refused one leave one row each', async () => {
  const poor = await gateway.createKey({ credits: credits(COUNTED) })
  await ask(poor)
  const before = nano((await balanceOf(gateway, poor.accountId)).available)

  const refused = await ask(poor)
  const { body } = await gateway.get<{ data: Loose[] }>('/v1/usage', poor.secret)

  assert.ok(before < COUNTED)
  assert.equal(refused.status, 402)
  assert.deepEqual(
    body.data.map(row => [row.outcome, row.http_status]),
    [
      ['refused', 402],
      ['completed', 200],
    ],
  )
})

for (const [model, count] of [
  ['test/own', countTokens],
  ['test/older', older],
] as const) {
  test(`${model}: a model of OpenAI is held by the exact count, without a margin`, async () => {
    const text = [{ role: 'user', content: HINDI }]
    const hold = BigInt(count(HINDI) + 1 + 16) * 2500n + OUTPUT
    const poor = await gateway.createKey({ credits: credits(hold) })

    const answer = await gateway.chat({ model, messages: text, max_tokens: MAX_TOKENS }, { key: poor.secret })

    assert.equal(answer.status, 200)
    assert.equal(nano((await settledRow(gateway, answer.headers['x-request-id'])).hold), hold)
  })
}

test("a key's own credit limit is checked in the same way", async () => {
  const limited = await gateway.createKey({ credits: '10', credit_limit: credits(COUNTED) })
  const less = await gateway.createKey({ credits: '10', credit_limit: credits(COUNTED - 1n) })

  assert.equal(await holdOf(limited), COUNTED)
  assert.equal((await ask(less)).body.error?.metadata?.limit, 'key')
})

test('without max_tokens, a balance that does not cover the bytes is capped by the count', async () => {
  const prompt = BigInt(countedBound(messages)) * 2500n
  const poor = await gateway.createKey({ credits: credits(2n * (prompt + 300n * 10_000n)) })
  assert.ok(prompt + 300n * 10_000n < BYTES - OUTPUT + 256n * 10_000n)

  const { body: quoted } = await httpCall<Loose>(`${gateway.url}/v1/chat/completions/quote`, {
    headers: { authorization: `Bearer ${poor.secret}` },
    body: { model: 'test/m1', messages },
  })
  const answer = await gateway.chat({ messages }, { key: poor.secret })

  assert.equal(answer.headers['x-svc-output-cap'], '300')
  assert.equal(quoted.output_cap, 300)
  assert.equal(quoted.hold, (await settledRow(gateway, answer.headers['x-request-id'])).hold)
  assert.equal((upstream.journal.at(-1)?.body as Loose | undefined)?.max_tokens, 300)
})

test('the cap follows the count, also if another listed model costs more by bytes', async () => {
  const models = ['test/long-answers', 'test/dear-prompts']
  const half = 1_300_000_000n
  const poor = await gateway.createKey({ credits: credits(2n * half) })

  const answer = await gateway.chat({ model: models[0], models, messages }, { key: poor.secret })

  const cap = (half - BigInt(countedBound(messages)) * 2500n) / 100_000n
  assert.ok(cap > 4096n && cap < 16_384n)
  assert.equal(answer.headers['x-svc-output-cap'], String(cap))
  assert.equal((upstream.journal.at(-1)?.body as Loose | undefined)?.max_tokens, Number(cap))
})

function ask(caller: NewKey) {
  return gateway.chat({ messages, max_tokens: MAX_TOKENS }, { key: caller.secret })
}

async function holdOf(caller: NewKey): Promise<bigint> {
  const answer = await ask(caller)
  assert.equal(answer.status, 200, answer.text)
  return nano((await settledRow(gateway, answer.headers['x-request-id'])).hold)
}
