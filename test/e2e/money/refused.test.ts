// 402: not enough credits, in the account or under the key's own limit, and credits that only requests in flight hold.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { PATIENT_COUNTS, withBounds } from '../../support/bounds.ts'
import { standardConfig, startGateway } from '../../support/gateway.ts'
import { assertRefusal } from '../../support/refusal.ts'
import { startUpstream } from '../../support/upstream.ts'

// The bytes of the one message (39) + 16, at 0.0000025, and 100 tokens at 0.00001; and the same with its two tokens,
// half as much again, instead of its bytes.
const HOLD = '0.0011375'
const COUNTED_HOLD = '0.0010525'
const body = { messages: [{ role: 'user', content: 'Say hello' }], max_tokens: 100 }

test('402 reports available credits, required credits and the affordable max_tokens', async t => {
  await using upstream = await startUpstream()
  await using gateway = await startGateway({ config: standardConfig(upstream.url), ...withBounds(PATIENT_COUNTS) })

  await t.test('an account without credits', async () => {
    const { secret } = await gateway.createKey({ credits: '0' })

    const error = assertRefusal(await gateway.chat(body, { key: secret }), 'insufficient_credits')

    const { request_id: _, ...figures } = { ...error.metadata }
    assert.deepEqual(figures, {
      available: '0',
      owed: '0',
      required: HOLD,
      affordable_max_tokens: 0,
      limit: 'account',
    })
  })

  await t.test('an account with too few credits, with the tokens it could afford', async () => {
    const { secret } = await gateway.createKey({ credits: '0.0005525' })

    const error = assertRefusal(await gateway.chat(body, { key: secret }), 'insufficient_credits')

    assert.equal(error.metadata?.available, '0.0005525')
    assert.equal(error.metadata?.affordable_max_tokens, 50)
    assert.equal((await gateway.chat({ ...body, max_tokens: 50 }, { key: secret })).status, 200)
  })

  await t.test("a key's own limit below the balance of its account", async () => {
    const { secret } = await gateway.createKey({ credit_limit: '0.001' })

    const error = assertRefusal(await gateway.chat(body, { key: secret }), 'insufficient_credits')

    assert.equal(error.metadata?.limit, 'key')
    assert.equal(error.metadata?.available, '0.001')
  })

  await t.test('credits held by a request in flight make the refusal retryable', async () => {
    const { secret } = await gateway.createKey({ credits: '0.002' })
    upstream.next({ delayMs: 2000 })
    const first = gateway.chat(body, { key: secret })
    await upstream.received(upstream.journal.length + 1)

    const error = assertRefusal(await gateway.chat(body, { key: secret }), 'credits_held')

    assert.equal(error.metadata?.required, COUNTED_HOLD)
    assert.equal((await first).status, 200)
    assert.equal((await gateway.chat(body, { key: secret })).status, 200)
  })

  await t.test('an account in debt, until a top-up pays it', async () => {
    const key = await gateway.createKey({ credits: '0.0003' })
    upstream.next({ usage: { prompt_tokens: 1000, completion_tokens: 10, total_tokens: 1010 } })
    const dear = await gateway.chat({ ...body, max_tokens: 10 }, { key: key.secret })
    assert.equal(dear.headers['x-svc-cost'], '0.0026')

    const error = assertRefusal(
      await gateway.chat({ ...body, max_tokens: 1 }, { key: key.secret }),
      'insufficient_credits',
    )

    assert.deepEqual([error.metadata?.available, error.metadata?.owed], ['0', '0.0023'])
    await gateway.addCredits(key.accountId, '1')
    assert.equal((await gateway.chat(body, { key: key.secret })).status, 200)
  })

  assert.ok((await gateway.audit()).ok)
})
