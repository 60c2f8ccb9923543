// A third-party mock as the upstream in the important cases: @copilotkit/aimock, with each answer checked against
// OpenAI's types and each bill by hand.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { AIMOCK_CASES, AIMOCK_TEXT, startAimock } from '../../../support/aimock.ts'
import { type Gateway, standardConfig, startGateway } from '../../../support/gateway.ts'
import type { Loose } from '../../../support/http-call.ts'
import { assertChatCompletion, assertChunk, assertErrorChunk } from '../../../support/schemas.ts'

// The estimate for one message: its words, four for the message and three for the prompt.
const FRAMING = 7

test('a third-party mock upstream is served and billed in every case', async t => {
  await using aimock = await startAimock()
  await using gateway = await startGateway({
    config: standardConfig(aimock.url),
  })
  const { secret: key, accountId } = await gateway.createKey({ credits: '1' })
  const ask = (content: string, more: object = {}) =>
    gateway.chat({ messages: [{ role: 'user', content }], ...more }, { key })
  const streamed = { stream: true, stream_options: { include_usage: true } }
  const rowOf = async ({ headers }: { headers: Record<string, unknown> }) =>
    (await gateway.get(`/v1/usage/${headers['x-request-id']}`, key)).body
  const costs: Loose['cost'][] = []

  await t.test('a JSON answer costs what its usage reports', async () => {
    const answer = await ask(AIMOCK_CASES.happy)

    const row = await rowOf(answer)
    costs.push(row.cost)
    assertChatCompletion(answer.body)
    assert.match(answer.text, new RegExp(AIMOCK_TEXT))
    assert.deepEqual(bill(row), { prompt: 12, completion: 10, source: 'upstream', cost: '0.00013' })
    assert.equal(answer.headers['x-svc-cost'], '0.00013')
  })

  await t.test('a stream costs the same', async () => {
    const answer = await ask(AIMOCK_CASES.happy, streamed)

    const row = await rowOf(answer)
    costs.push(row.cost)
    for (const chunk of answer.sse.chunks) assertChunk(chunk)
    assert.deepEqual([answer.sse.content, answer.sse.done], [AIMOCK_TEXT, true])
    assert.deepEqual(bill(row), { prompt: 12, completion: 10, source: 'upstream', cost: '0.00013' })
    assert.equal(answer.sse.chunks.at(-1)?.usage?.cost, 0.00013)
    assert.equal(answer.trailers['x-svc-cost'], '0.00013')
  })

  for (const form of [{}, streamed]) {
    const name = 'stream' in form ? 'a stream without usage' : 'a JSON answer whose usage is all zero'
    await t.test(`${name} is billed by the tokenizer, and the row records it`, async () => {
      const answer = await ask(AIMOCK_CASES.noUsage, form)

      const row = await rowOf(answer)
      costs.push(row.cost)
      const prompt = Number(row.prompt_tokens)
      const cost = decimal(prompt * 2_500 + 10 * 10_000)
      assert.ok(prompt > FRAMING && prompt < FRAMING + 10)
      assert.deepEqual(bill(row), { prompt, completion: 10, source: 'estimate', cost })
      if (!('stream' in form)) assertChatCompletion(answer.body)
      else for (const chunk of answer.sse.chunks) assertChunk(chunk)
    })
  }

  await t.test('a 429 becomes a 503 with its Retry-After and costs nothing', async () => {
    for (const form of [{}, streamed]) {
      const answer = await ask(AIMOCK_CASES.limited, form)

      const row = await rowOf(answer)
      assert.equal(answer.status, 503)
      assert.equal(answer.headers['retry-after'], '7')
      assert.equal(answer.body.error?.code, 'provider_unavailable')
      assert.deepEqual(bill(row), { prompt: 0, completion: 0, source: 'none', cost: '0' })
      assert.deepEqual([row.outcome, answer.headers['x-svc-cost']], ['upstream_failed', '0'])
    }
  })

  await t.test('a stream that breaks midway ends with an error chunk and is billed for what arrived', async () => {
    const answer = await ask(AIMOCK_CASES.breaks, streamed)

    const row = await rowOf(answer)
    costs.push(row.cost)
    const { chunks, content, done } = answer.sse
    // With include_usage the charge follows the error.
    for (const chunk of [...chunks.slice(0, -2), chunks.at(-1)]) assertChunk(chunk)
    assertErrorChunk(chunks.at(-2))
    assert.equal(chunks.at(-1)?.usage?.cost, Number(row.cost))
    assert.ok(done && AIMOCK_TEXT.startsWith(content) && content.length > 8 && content.length < AIMOCK_TEXT.length)
    const { prompt, completion, source, cost } = bill(row)
    assert.deepEqual([row.outcome, source], ['upstream_broke', 'estimate'])
    assert.ok(completion >= 3 && completion < 10)
    assert.equal(cost, decimal(prompt * 2_500 + completion * 10_000))
    assert.equal(answer.trailers['x-svc-cost'], cost)
  })

  await t.test('the account was charged exactly the sum of the costs, and each upstream call has a row', async () => {
    const spent = costs.reduce((sum, cost) => sum + nano(String(cost)), 0n)
    const { body: rows } = await gateway.get<{ data: { request_id: string }[] }>('/v1/usage', key)

    const called = aimock.requests.map(request => request.headers['x-request-id'])
    assert.deepEqual(
      called.toReversed(),
      rows.data.map(row => row.request_id),
    )
    assert.equal(await spentOf(gateway, accountId), spent)
    assert.equal((await gateway.audit()).ok, true)
  })
})

function bill(row: Loose) {
  return {
    prompt: Number(row.prompt_tokens),
    completion: Number(row.completion_tokens),
    source: row.usage_source,
    cost: row.cost as unknown as string,
  }
}

async function spentOf(gateway: Gateway, accountId: string): Promise<bigint> {
  const { body } = await gateway.admin('GET', `/accounts/${accountId}`)
  return nano(String(body.balance?.spent))
}

function nano(credits: string): bigint {
  const [whole = '0', fraction = ''] = credits.split('.')
  return BigInt(whole) * 1_000_000_000n + BigInt(fraction.padEnd(9, '0'))
}

function decimal(nanoCredits: number): string {
  return `0.${String(nanoCredits).padStart(9, '0')}`.replace(/0+$/, '')
}
