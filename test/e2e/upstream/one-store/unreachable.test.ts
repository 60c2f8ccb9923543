// Upstreams that are unreachable or silent: refused, unknown, reset, and slow at each stage, each distinguished in the
// row and to the caller, at no cost if nothing was produced.
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { startFaultProxy } from '../../../support/fault-proxy.ts'
import { openFixture } from '../../../support/fixture.ts'
import { freePort } from '../../../support/free-port.ts'
import { standardConfig, standardModel, standardProvider } from '../../../support/standard-config.ts'
import { balanceOf, settledRow, type UsageRow } from '../../../support/usage.ts'

const QUICK = { connect: 0.4, first_byte_stream: 0.4, first_byte_json: 0.4, idle: 0.4, total: 1.2 }
const nobody = `http://127.0.0.1:${await freePort()}/v1`
const silent = await startFaultProxy(await freePort(), { kind: 'blackhole' })
const resetting = await startFaultProxy(await freePort(), { kind: 'reset' })
after(async () => {
  await silent[Symbol.asyncDispose]()
  await resetting[Symbol.asyncDispose]()
})
const { gateway, upstream } = await openFixture(url => {
  const urls = {
    quick: url,
    refused: nobody,
    dns: 'http://nowhere.invalid/v1',
    silent: `http://127.0.0.1:${silent.port}/v1`,
    reset: `http://127.0.0.1:${resetting.port}/v1`,
    tls: `https://127.0.0.1:${resetting.port}/v1`,
    handshake: `https://127.0.0.1:${silent.port}/v1`,
    plain: url.replace('http:', 'https:'),
    fresh: url,
  }
  const ids = Object.entries(urls)
  return standardConfig(url, {
    providers: ids.map(([id, base]) => standardProvider(base, { id, timeouts: id === 'handshake' ? {} : QUICK })),
    models: ids.map(([id]) => standardModel({ id: `test/${id}`, targets: [{ provider: id, model: 'm1' }] })),
  })
})

const UNREACHABLE = [
  ['refused', 502, 'all_providers_failed', /^refused$/],
  ['dns', 502, 'all_providers_failed', /^dns$/],
  ['reset', 502, 'all_providers_failed', /^reset$/],
  ['tls', 502, 'all_providers_failed', /^(reset|tls)$/],
  ['plain', 502, 'all_providers_failed', /^tls$/],
  ['silent', 504, 'upstream_timeout', /^timeout$/],
] as const

for (const [model, status, code, kind] of UNREACHABLE) {
  test(`an upstream that is ${model} gives ${status} ${code} to JSON and streams alike`, async () => {
    const ask = (stream: boolean) => gateway.chat({ model: `test/${model}`, stream })

    for (const answer of await Promise.all([ask(false), ask(true)])) {
      assert.equal(answer.status, status)
      assert.equal(answer.body.error?.code, code)
      assert.doesNotMatch(answer.text, /127\.0\.0\.1|nowhere|ECONN|ENOTFOUND|SSL/)
      const row = await settledRow(gateway, answer.headers['x-request-id'])
      assert.deepEqual([row.outcome, row.cost], ['upstream_failed', '0'])
      assert.match(String(row.attempts.at(-1)?.outcome), kind)
    }
  })
}

for (const stream of [false, true]) {
  test(`${stream ? 'a stream' : 'JSON'} that stalls before its headers or before its content is 504 and free`, async () => {
    const within = stream ? { stallAfterChunks: 0 } : { body: '{"choices":', neverEnd: true }
    upstream.next({ delayMs: 60_000 }, { firstByteDelayMs: 60_000 }, within)

    const answers = await Promise.all([1, 2, 3].map(() => gateway.chat({ model: 'test/quick', stream })))

    for (const answer of answers) {
      assert.equal(answer.status, 504)
      assert.equal((await settledRow(gateway, answer.headers['x-request-id'])).cost, '0')
    }
  })
}

test('a stream that stalls midway ends with an error chunk, and what was sent is billed', async () => {
  upstream.next({ stallAfterChunks: 3 })

  const stream = await gateway.openChat({ model: 'test/quick' })
  const { chunks, done, content } = await stream.rest()

  assert.equal(content, 'Hello there,')
  assert.equal(chunks.at(-1)?.error?.code, 'upstream_timeout')
  assert.equal(done, true)
  const row = await settledRow(gateway, stream.headers['x-request-id'])
  assert.deepEqual([row.outcome, row.completion_tokens], ['upstream_broke', 3])
  assert.equal(stream.trailers['x-svc-cost'], row.cost)
})

test('an upstream that sends slowly forever is ended by the total timeout', async () => {
  upstream.next({ chunks: 1_000_000, chunkDelayMs: 50 })
  const startedAt = Date.now()

  const stream = await gateway.openChat({ model: 'test/quick' })
  const { chunks } = await stream.rest()

  assert.equal(chunks.at(-1)?.error?.code, 'upstream_timeout')
  assert.ok(Date.now() - startedAt < 10_000)
  await upstream.idle()
})

test('a disconnect before the upstream connection is established costs nothing', async () => {
  const caller = await gateway.createKey({ credits: '1' })
  const leaving = new AbortController()
  const asked = gateway.chat({ model: 'test/handshake' }, { key: caller.secret, signal: leaving.signal })
  while ((await balanceOf(gateway, caller.accountId)).held === '0');
  leaving.abort()
  await assert.rejects(asked)

  const { body } = await gateway.admin<{ data: UsageRow[] }>('GET', `/usage?account_id=${caller.accountId}`)
  const row = await settledRow(gateway, body.data[0]?.request_id)

  assert.deepEqual([row.outcome, row.cost, row.usage_source], ['client_left', '0', 'none'])
})

test('a pooled connection that closes during the write is retried once, and both attempts are on the row', async () => {
  const rows: UsageRow[] = []
  for (let i = 0; i < 20; i++) {
    upstream.next({ closeAfterMs: 0 })
    const answer = await gateway.chat({ model: 'test/quick', max_tokens: 1 })

    assert.equal(answer.status, 200)
    rows.push(await settledRow(gateway, answer.headers['x-request-id']))
  }
  for (const row of rows) assert.equal(row.attempts.at(-1)?.outcome, 'answered')

  // A connection that has served, and was idle long enough to be reused.
  await gateway.chat({ model: 'test/quick' })
  await sleep(20)
  upstream.journal.length = 0
  upstream.next({ resetBeforeHeaders: true })
  const retried = await gateway.chat({ model: 'test/quick' })
  const row = await settledRow(gateway, retried.headers['x-request-id'])
  assert.equal(retried.status, 200)
  assert.deepEqual(
    row.attempts.map(attempt => attempt.outcome),
    ['reset', 'answered'],
  )
  assert.deepEqual(
    upstream.journal.map(entry => entry.requestId),
    [row.request_id, row.request_id],
  )
})

test('a reset of a new connection, or after the answer began, is not retried', async () => {
  upstream.journal.length = 0
  upstream.next({ resetBeforeHeaders: true })
  const fresh = await gateway.chat({ model: 'test/fresh' })
  const row = await settledRow(gateway, fresh.headers['x-request-id'])

  assert.equal(fresh.status, 502)
  assert.deepEqual(
    row.attempts.map(attempt => attempt.outcome),
    ['reset'],
  )
  assert.equal(upstream.journal.length, 1)
})
