// A request may name fallback models: the serving one is on the answer, the row and the bill, the hold covers the most
// expensive, and the explanation on request lists the candidates with reasons.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openFixture } from '../../support/fixture.ts'
import type { Loose } from '../../support/http-call.ts'
import { standardConfig, standardModel, standardProvider } from '../../support/standard-config.ts'
import { nano, settledRow } from '../../support/usage.ts'

const { gateway, upstream } = await openFixture(url =>
  standardConfig(url, {
    providers: ['up', 'up2', 'up3'].map(id => standardProvider(url, { id })),
    models: [
      standardModel({ id: 'test/small', context_length: 50, max_output_tokens: 10, targets: [target('up', 'small')] }),
      standardModel({ id: 'test/cheap', targets: [target('up', 'cheap')] }),
      standardModel({
        id: 'test/dear',
        pricing: { prompt: '0.00001', completion: '0.00005' },
        max_output_tokens: 100,
        aliases: ['test/precious'],
        targets: [target('up2', 'dear')],
      }),
    ],
  }),
)
const usage = { prompt_tokens: 10, completion_tokens: 7 }
upstream.script({ usage })

for (const stream of [false, true]) {
  const form = stream ? 'a stream' : 'a JSON answer'

  test(`${form}: a fallback model serves under its own name and at its own price`, async () => {
    upstream.reset()
    upstream.script({ usage })
    upstream.script({ status: 404 }, 'cheap')

    const answer = await gateway.chat({ model: 'test/cheap', models: ['test/precious'], stream })
    const row = await settledRow(gateway, answer.headers['x-request-id'])

    assert.equal(answer.status, 200)
    const models: unknown[] = stream ? answer.sse.chunks.map(chunk => chunk.model) : [answer.body.model]
    assert.deepEqual([...new Set(models)], ['test/dear'])
    assert.deepEqual([row.model_requested, row.model_served, row.provider], ['test/cheap', 'test/dear', 'up2'])
    assert.equal(nano(row.cost), 10n * 10_000n + 7n * 50_000n)
    assert.equal(row.price?.prompt, '0.00001')
    const versions = await Promise.all(['test/cheap', 'test/dear'].map(priceVersion))
    assert.equal((row as unknown as Loose).price_version, versions[1])
    assert.notEqual(versions[0], versions[1])
    assert.deepEqual(
      row.attempts.map(({ provider, model }) => [provider, model]),
      [
        ['up', 'cheap'],
        ['up2', 'dear'],
      ],
    )
  })
}

test("a caller that disconnects while a fallback model is called pays for the prompt at that model's price", async () => {
  upstream.reset()
  upstream.script({ status: 404 }, 'cheap')
  upstream.script({ delayMs: 60_000 }, 'dear')
  const leaving = new AbortController()

  const left = gateway
    .chat({ model: 'test/cheap', models: ['test/dear'], stream: true }, { signal: leaving.signal })
    .catch(() => 'left')
  await upstream.received(2)
  leaving.abort()

  assert.equal(await left, 'left')
  const row = await settledRow(gateway, upstream.journal[0]?.requestId)
  assert.deepEqual([row.outcome, row.price?.prompt], ['client_left', '0.00001'])
  assert.equal(nano(row.cost), BigInt(row.prompt_tokens) * 10_000n)
  assert.ok(row.prompt_tokens > 0)
})

test('the hold covers the most expensive model that may be tried, each with its own maximum', async () => {
  upstream.reset()
  upstream.script({ usage })

  const alone = await held({ model: 'test/cheap', max_tokens: 50 })
  const together = await held({ model: 'test/cheap', models: ['test/dear'], max_tokens: 50 })
  const dear = await held({ model: 'test/dear', max_tokens: 50 })

  assert.ok(together > alone)
  assert.equal(together, dear)
})

test("a cap above the serving model's maximum is lowered to it", async () => {
  upstream.reset()
  upstream.script({ usage })
  upstream.script({ status: 404 }, 'cheap')

  await gateway.chat({ model: 'test/cheap', models: ['test/dear'], max_tokens: 3000 })

  assert.deepEqual(
    upstream.journal.map(({ body }) => (body as Loose).max_tokens),
    [3000, 100],
  )
})

test('a prompt too long for the model goes to a listed model with a longer context', async () => {
  upstream.reset()
  upstream.script({ usage })
  const messages = [{ role: 'user', content: 'word '.repeat(100) }]

  const refused = await gateway.chat({ model: 'test/small', messages })
  const unhelped = await gateway.chat({ model: 'test/small', models: ['test/none', 'test/small'], messages })
  const served = await gateway.chat({ model: 'test/small', models: ['test/cheap'], messages })

  assert.deepEqual([refused.status, refused.body.error?.code], [400, 'context_length_exceeded'])
  assert.deepEqual([unhelped.status, unhelped.body.error?.code], [400, 'context_length_exceeded'])
  assert.deepEqual([served.status, served.body.model], [200, 'test/cheap'])
})

test('the explanation of a choice is returned only on request', async () => {
  upstream.reset()
  upstream.script({ usage })
  const body = { model: 'test/cheap', models: ['test/dear', 'test/none'] }
  const headers = { 'X-Svc-Explain': '1' }
  const expected = [
    { model: 'test/cheap', provider: 'up', position: 0, reason: 'priority' },
    { model: 'test/dear', provider: 'up2', position: 1, reason: 'fallback_model' },
    { model: 'test/none', provider: null, position: null, reason: 'unknown_model' },
  ]

  const answer = await gateway.chat(body, { headers })
  const streamed = await gateway.chat({ ...body, stream: true }, { headers })

  assert.deepEqual(answer.body.metadata, { candidates: expected })
  assert.deepEqual(
    streamed.sse.chunks.map(chunk => (chunk as unknown as Loose).metadata?.candidates),
    [expected, ...streamed.sse.chunks.slice(1).map(() => undefined)],
  )
  for (const other of [undefined, { 'X-Svc-Explain': '0' }]) {
    assert.equal((await gateway.chat(body, other === undefined ? {} : { headers: other })).body.metadata, undefined)
  }
})

test('operators see the explanation on every row; callers do not', async () => {
  upstream.reset()
  upstream.script({ usage })
  const key = await gateway.createKey()
  const { headers } = await gateway.chat({ model: 'test/cheap', models: ['test/dear'] }, { key: key.secret })
  const id = headers['x-request-id']

  const theirs = await gateway.get(`/v1/usage/${id}`, key.secret)
  const ours = await gateway.admin<{ routing: Loose[] }>('GET', `/usage/${id}`)

  assert.equal(theirs.body.routing, undefined)
  assert.deepEqual(
    ours.body.routing.map(({ provider, position }) => [provider, position]),
    [
      ['up', 0],
      ['up2', 1],
    ],
  )
})

function target(provider: string, model: string) {
  return { provider, model }
}

async function held(body: object): Promise<bigint> {
  const answer = await gateway.chat(body)
  const row = await settledRow(gateway, answer.headers['x-request-id'])
  return nano(row.hold)
}

async function priceVersion(model: string): Promise<unknown> {
  return (await gateway.admin<Loose>('GET', `/models/${encodeURIComponent(model)}`)).body.price_version
}
