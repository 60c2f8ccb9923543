// One usage record, field by field: exact as soon as the last byte of the answer has arrived, and without any text of
// the chat.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { standardConfig, startGateway } from '../../support/gateway.ts'
import type { Loose } from '../../support/http-call.ts'
import { assertRefusal } from '../../support/refusal.ts'
import { standardModel } from '../../support/standard-config.ts'
import { startUpstream } from '../../support/upstream.ts'

const pricing = {
  prompt: '0.0000025',
  completion: '0.00001',
  input_cache_read: '0.00000125',
  input_cache_write: '0.000003',
}
const usage = {
  prompt_tokens: 100,
  completion_tokens: 20,
  total_tokens: 120,
  prompt_tokens_details: { cached_tokens: 40, cache_write_tokens: 10 },
  completion_tokens_details: { reasoning_tokens: 5 },
}

test('a usage record has everything about a request except its text, immediately', async t => {
  await using upstream = await startUpstream()
  const model = standardModel({ aliases: ['nick'], pricing })
  await using gateway = await startGateway({ config: standardConfig(upstream.url, { models: [model] }) })
  const key = await gateway.createKey({ rpm_limit: 10_000 })
  const row = async (id: unknown) => {
    const answer = await gateway.get(`/v1/usage/${id}`, key.secret)
    assert.equal(answer.status, 200, answer.text)
    return answer.body
  }

  for (const stream of [false, true]) {
    await t.test(`${stream ? 'a stream' : 'a JSON answer'}: every documented field`, async () => {
      upstream.next({ usage, words: ['answer-canary'] })
      const messages = [{ role: 'user', content: 'prompt-canary' }]
      const began = Date.now()
      const answer = await gateway.chat(
        { model: 'nick', messages, stream, max_tokens: 50 },
        { key: key.secret, headers: { 'x-client-request-id': 'my-id/1' } },
      )

      const record = await row(answer.headers['x-request-id'])

      const { attempts, created_at, first_byte_at, finished_at, price_version, ...rest } = record
      assert.deepEqual(rest, {
        object: 'usage',
        request_id: answer.headers['x-request-id'],
        client_request_id: 'my-id/1',
        account_id: key.accountId,
        key_id: key.id,
        secret_last4: key.secret.slice(-4),
        endpoint: 'chat.completions',
        model_requested: 'nick',
        model_served: 'test/m1',
        provider: 'up',
        stream,
        state: 'settled',
        outcome: 'completed',
        http_status: 200,
        error_code: null,
        finish_reason: 'stop',
        prompt_tokens: 100,
        cached_tokens: 40,
        cache_write_tokens: 10,
        cache_write_1h_tokens: 0,
        image_tokens: 0,
        audio_tokens: 0,
        tags: {},
        completion_tokens: 20,
        reasoning_tokens: 5,
        usage_source: 'upstream',
        price: { ...pricing, request: '0' },
        // (43 bytes + 16) at the highest prompt price, and 50 at the completion price.
        hold: '0.000677',
        cost: '0.000405',
        upstream_cost: null,
        client_ip: '127.0.0.1',
        upstream_id: 'chatcmpl-upstream-id-canary',
        requests: 1,
      })
      const [{ ms, ...attempt }] = attempts as unknown as [Loose]
      assert.deepEqual(attempt, { provider: 'up', model: 'm1', outcome: 'answered', status: 200 })
      assert.ok(Number(ms) >= 0 && typeof price_version === 'string')
      const times = [began, created_at, first_byte_at, finished_at, Date.now()].map(at =>
        new Date(at as never).getTime(),
      )
      assert.deepEqual(
        times,
        times.toSorted((a, b) => a - b),
      )
      assert.doesNotMatch(JSON.stringify(record), /prompt-canary|answer-canary|svc_live_/)
    })
  }

  await t.test('the row is exact right after [DONE], for 100 streams in a row', async () => {
    await Promise.all(
      Array.from({ length: 100 }, async () => {
        const stream = await gateway.openChat({}, { key: key.secret })
        while ((await stream.nextChunk()) !== undefined);

        const record = await row(stream.headers['x-request-id'])

        assert.deepEqual([record.state, record.outcome, record.completion_tokens], ['settled', 'completed', 10])
        await stream.rest()
        assert.equal(stream.trailers['x-svc-cost'], record.cost)
      }),
    )
  })

  await t.test('a client request id is stored only if it is visible ASCII of at most 128 characters', async () => {
    const given: [string, string | null][] = [
      ['x'.repeat(128), 'x'.repeat(128)],
      ['x'.repeat(129), null],
      ['with blank', null],
      ['na\xefve', null],
      ['', null],
    ]
    for (const [id, kept] of given) {
      const answer = await gateway.get('/v1/models', key.secret, { 'x-client-request-id': id })

      assert.equal((await row(answer.headers['x-request-id'])).client_request_id, kept)
    }
  })

  await t.test('every endpoint writes its row before it answers', async () => {
    const calls = {
      '/v1/models': 'models',
      '/v1/models/nick': 'models',
      '/v1/key/introspect': 'key.introspect',
      '/v1/usage': 'usage',
    }
    for (const [path, endpoint] of Object.entries(calls)) {
      const answer = await gateway.get(path, key.secret)

      const record = await row(answer.headers['x-request-id'])
      const { outcome, http_status, cost, hold, usage_source, provider } = record
      assert.deepEqual(
        { endpoint: record.endpoint, outcome, http_status, cost, hold, usage_source, provider },
        {
          endpoint,
          outcome: 'completed',
          http_status: 200,
          cost: '0',
          hold: '0',
          usage_source: 'none',
          provider: null,
        },
      )
    }
  })

  await t.test('the row of another key is not found, in the same account or another', async () => {
    const answer = await gateway.chat({}, { key: key.secret })
    const sibling = await gateway.createKey({ account_id: key.accountId })
    const unrelated = await gateway.createKey()

    for (const { secret } of [sibling, unrelated]) {
      const id = answer.headers['x-request-id']
      assertRefusal(await gateway.get(`/v1/usage/${id}`, secret), 'not_found')
      assert.deepEqual((await gateway.get('/v1/usage?endpoint=all', secret)).text.includes(String(id)), false)
    }
    assertRefusal(await gateway.get("/v1/usage/' OR 1=1 --", key.secret), 'not_found')
  })

  assert.ok((await gateway.audit()).ok)
})
