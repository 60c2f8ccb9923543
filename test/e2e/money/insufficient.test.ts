// Low credits: refusals that report what is missing, holds of others that end, and outputs capped by half of the
// balance.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { PATIENT_COUNTS, withBounds } from '../../support/bounds.ts'
import { countedBound } from '../../support/counted-bound.ts'
import { openFixture } from '../../support/fixture.ts'
import { standardConfig, standardModel, standardProvider } from '../../support/standard-config.ts'
import { credits, nano, promptBound, settledRow } from '../../support/usage.ts'

const passthrough = ['thinking', 'reasoning', 'thinking_budget']
// Priced per request only.
const flat = standardModel({ id: 'test/flat', pricing: { prompt: '0', completion: '0', request: '0.01' } })
const { gateway, upstream } = await openFixture(
  url => standardConfig(url, { providers: [standardProvider(url, { passthrough })], models: [standardModel(), flat] }),
  withBounds(PATIENT_COUNTS),
)
const messages = [{ role: 'user', content: 'Say hello' }]
// The prompt's hold if half of the balance covers its bytes, and if they would cost too much.
const BYTES = BigInt(promptBound(messages)) * 2500n
const PROMPT = BigInt(countedBound(messages)) * 2500n
const COMPLETION = 10_000n

test('402 reports available credits, required credits and the affordable max_tokens', async () => {
  const caller = await gateway.createKey({ credits: credits(PROMPT + 40n * COMPLETION + 1n) })

  const refused = await gateway.chat({ messages, max_tokens: 41 }, { key: caller.secret })

  assert.equal(refused.status, 402)
  assert.equal(refused.body.error?.type, 'insufficient_quota')
  assert.equal(refused.body.error?.code, 'insufficient_credits')
  assert.deepEqual(refused.body.error?.metadata, {
    request_id: refused.headers['x-request-id'],
    available: credits(PROMPT + 40n * COMPLETION + 1n),
    owed: '0',
    required: credits(PROMPT + 41n * COMPLETION),
    affordable_max_tokens: 40,
    limit: 'account',
  })
  assert.equal(refused.headers['x-svc-cost'], '0')
  assert.equal(refused.headers['retry-after'], undefined)
  const row = await settledRow(gateway, refused.headers['x-request-id'])
  assert.deepEqual(
    [row.outcome, row.http_status, row.error_code, row.hold, row.cost],
    ['refused', 402, 'insufficient_credits', '0', '0'],
  )

  const taken = await gateway.chat({ messages, max_tokens: 40 }, { key: caller.secret })
  assert.equal(taken.status, 200)
})

test('with free output nothing is capped, and the last credits pay for the last requests', async () => {
  const caller = await gateway.createKey({ credits: '0.03' })
  const ask = () => gateway.chat({ model: 'test/flat' }, { key: caller.secret })

  const answers = [await ask(), await ask(), await ask(), await ask()]

  assert.deepEqual(
    answers.map(({ status }) => status),
    [200, 200, 200, 402],
  )
  assert.equal(answers[2]?.headers['x-svc-output-cap'], undefined)
})

test('credits held by another request are a retryable 402 and are released when it ends', async () => {
  const caller = await gateway.createKey({ credits: credits(PROMPT + 60n * COMPLETION) })
  const going = Promise.withResolvers<void>()
  upstream.next(async () => {
    await going.promise
    return {}
  })
  upstream.journal.length = 0
  const first = gateway.chat({ messages, max_tokens: 50 }, { key: caller.secret })
  await upstream.received(1)

  const waits = await gateway.chat({ messages, max_tokens: 50 }, { key: caller.secret })
  const hopeless = await gateway.chat({ messages, max_tokens: 61 }, { key: caller.secret })
  going.resolve()

  assert.equal(waits.status, 402)
  assert.equal(waits.body.error?.code, 'credits_held')
  assert.ok(Number(waits.headers['retry-after']) >= 1)
  assert.equal(waits.headers['x-should-retry'], 'true')
  assert.equal(hopeless.body.error?.code, 'insufficient_credits')
  assert.equal((await first).status, 200)
  const again = await gateway.chat({ messages, max_tokens: 40 }, { key: caller.secret })
  assert.equal(again.status, 200)
})

test('without max_tokens, half of a low balance caps the output, and the cap is sent upstream', async () => {
  const caller = await gateway.createKey({ credits: credits(2n * (BYTES + 300n * COMPLETION)) })

  const json = await gateway.chat({ messages }, { key: caller.secret })

  assert.equal(json.headers['x-svc-output-cap'], '300')
  assert.equal(sentUpstream().max_tokens, 300)
  assert.equal(nano((await settledRow(gateway, json.headers['x-request-id'])).hold), BYTES + 300n * COMPLETION)

  const stream = await gateway.openChat({ messages }, { key: caller.secret })
  await stream.rest()
  const cap = Number(stream.headers['x-svc-output-cap'])
  assert.ok(cap > 256 && cap < 300, `${cap}`)
  assert.equal(sentUpstream().max_tokens, cap)
})

test('a cap below 256 tokens is refused', async () => {
  const just = await gateway.createKey({ credits: credits(2n * (PROMPT + 256n * COMPLETION)) })
  const below = await gateway.createKey({ credits: credits(2n * (PROMPT + 256n * COMPLETION) - 1n) })

  const capped = await gateway.chat({ messages }, { key: just.secret })
  const refused = await gateway.chat({ messages }, { key: below.secret })

  assert.equal(capped.headers['x-svc-output-cap'], '256')
  assert.equal(refused.status, 402)
  assert.equal(refused.body.error?.code, 'insufficient_credits')
  assert.equal(refused.body.error?.metadata?.required, credits(2n * (PROMPT + 256n * COMPLETION)))
})

test("the caller's max_tokens is never lowered, and none is added if the balance suffices", async () => {
  const caller = await gateway.createKey({ credits: '1' })

  const named = await gateway.chat({ messages, max_completion_tokens: 4096 }, { key: caller.secret })
  assert.equal(sentUpstream().max_tokens, 4096)
  const free = await gateway.chat({ messages }, { key: caller.secret })

  assert.equal(named.headers['x-svc-output-cap'], undefined)
  assert.equal(free.headers['x-svc-output-cap'], undefined)
  assert.equal('max_tokens' in sentUpstream(), false)
})

test('a reasoning budget is lowered to the cap', async () => {
  const caller = await gateway.createKey({ credits: '1' })
  const body = {
    thinking: { type: 'enabled', budget_tokens: 9000 },
    reasoning: { max_tokens: 40 },
    thinking_budget: 51,
  }

  await gateway.chat({ messages, max_tokens: 50, ...body }, { key: caller.secret })

  const { thinking, reasoning, thinking_budget } = sentUpstream()
  assert.deepEqual(thinking, { type: 'enabled', budget_tokens: 50 })
  assert.deepEqual([reasoning, thinking_budget], [{ max_tokens: 40 }, 50])
})

test('without max_tokens a reasoning budget is lowered to what was held', async () => {
  const caller = await gateway.createKey({ credits: '1' })

  await gateway.chat({ messages, thinking: { budget_tokens: 1_000_000 } }, { key: caller.secret })

  assert.deepEqual(sentUpstream().thinking, { budget_tokens: 4096 })
  assert.equal('max_tokens' in sentUpstream(), false)
})

test("a key's own credit limit caps the output as a low balance does", async () => {
  const limit = credits(2n * (BYTES + 280n * COMPLETION))
  const caller = await gateway.createKey({ credits: '100', credit_limit: limit })

  const answer = await gateway.chat({ messages }, { key: caller.secret })

  assert.equal(answer.headers['x-svc-output-cap'], '280')
})

function sentUpstream(): Readonly<Record<string, unknown>> {
  return upstream.journal.at(-1)?.body as Record<string, unknown>
}
