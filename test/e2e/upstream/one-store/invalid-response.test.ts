// Upstreams that send an invalid answer: each is an upstream failure that costs nothing, and nothing of it reaches the
// caller or another address.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, createServer as createTcpServer } from 'node:net'
import { test } from 'node:test'
import { FORGETFUL, withBounds } from '../../../support/bounds.ts'
import { openFixture } from '../../../support/fixture.ts'
import { createServer } from '../../../support/node-http.ts'
import { standardConfig, standardModel, standardProvider } from '../../../support/standard-config.ts'
import type { Plan } from '../../../support/upstream-plan.ts'
import { settledRow } from '../../../support/usage.ts'

// A server whose answer is not HTTP.
const gibberish = createTcpServer(socket => {
  socket.on('error', () => {})
  socket.once('data', () => socket.end('+OK this is another protocol\r\n'))
}).listen(0, '127.0.0.1')
await once(gibberish, 'listening')
const { gateway, upstream } = await openFixture(url => {
  const other = `http://127.0.0.1:${(gibberish.address() as AddressInfo).port}/v1`
  return standardConfig(url, {
    providers: [standardProvider(url), standardProvider(other, { id: 'gibberish' })],
    models: [
      standardModel(),
      standardModel({ id: 'test/gibberish', targets: [{ provider: 'gibberish', model: 'm' }] }),
    ],
  })
}, withBounds(FORGETFUL))
gibberish.unref()

const CANARY = 'answer-canary'
const JSON_CASES: readonly (readonly [what: string, plan: Plan, status: number])[] = [
  ['a 200 with an error body', { body: '{"error":{"message":"no","type":"server_error"}}' }, 502],
  ['a 200 whose error is a 429', { body: '{"error":{"message":"slow down","code":429}}' }, 503],
  ['a 200 whose error is a 400', { body: '{"error":{"message":"bad tool","code":400}}' }, 400],
  ['HTML', { contentType: 'text/html', body: `<html>${CANARY}</html>` }, 502],
  ['an empty answer', { body: '' }, 502],
  ['a 204', { status: 204 }, 502],
  ['half a JSON object', { body: '{"choices":[{"message":{"content":"answer-canary' }, 502],
  ['a JSON list', { body: `["${CANARY}"]` }, 502],
  ['null', { body: 'null' }, 502],
  ['an object without choices', { body: `{"id":"x","object":"chat.completion","note":"${CANARY}"}` }, 502],
  ['choices that are not objects', { body: `{"choices":["${CANARY}"]}` }, 502],
  ['a choice without a message', { body: '{"choices":[{}]}' }, 502],
  ['an answer in gzip that was not requested', { gzipBomb: 100_000 }, 502],
  ['an answer that is cut off', { dieAfterBytes: 40 }, 502],
]

for (const [what, plan, status] of JSON_CASES) {
  test(`JSON: ${what} is ${status} and free`, async () => {
    upstream.script(plan)

    const answer = await gateway.chat({})

    assert.equal(answer.status, status)
    assert.ok(!answer.text.includes(CANARY))
    await assertFree(answer.headers['x-request-id'])
  })
}

const head = '{"id":"x","object":"chat.completion.chunk","choices":['
const STREAM_CASES: readonly (readonly [what: string, plan: Plan, status: number])[] = [
  ['a JSON error with status 200', { contentType: 'application/json', body: '{"error":{"message":"no"}}' }, 502],
  ['HTML', { contentType: 'text/html', body: `<html>${CANARY}</html>` }, 502],
  ['an error frame first', { rawFrames: ['data: {"error":{"message":"overloaded","code":503}}\n\n'] }, 503],
  ['a frame that is not JSON', { rawFrames: [`data: ${CANARY}\n\n`, 'data: [DONE]\n\n'] }, 502],
  ['a frame that is not an object', { rawFrames: ['data: "hello"\n\n'] }, 502],
  ['a choice that is not an object', { rawFrames: [`data: ${head}7]}\n\n`] }, 502],
  ['only a role', { rawFrames: [`data: ${head}{"index":0,"delta":{"role":"assistant"}}]}\n\n`] }, 502],
  ['no event', { rawFrames: [': hello\n\n'] }, 502],
  ['only [DONE]', { rawFrames: ['data: [DONE]\n\n'] }, 502],
  ['gzip', { gzipBomb: 100_000 }, 502],
]

for (const [what, plan, status] of STREAM_CASES) {
  test(`stream: ${what} is ${status}, before any header left, and free`, async () => {
    upstream.script(plan)

    const answer = await gateway.chat({ stream: true })

    assert.equal(answer.status, status)
    assert.match(String(answer.headers['content-type']), /json/)
    assert.ok(!answer.text.includes(CANARY))
    await assertFree(answer.headers['x-request-id'])
  })
}

// Nested so deeply that serialising it overflows the stack; a numeric key makes V8 use its slow path.
const DEEP = `${'['.repeat(20_000)}{"0":1}${']'.repeat(20_000)}`

test('an answer nested too deeply is 502 and free, as JSON and as a stream', async () => {
  const frame = `data: ${head}{"index":0,"delta":{"content":"${CANARY}","x":${DEEP}}}]}\n\n`
  const body = `{"choices":[{"index":0,"message":{"role":"assistant","content":"${CANARY}","x":${DEEP}},"finish_reason":"stop"}]}`

  for (const [stream, plan] of [
    [false, { body }],
    [true, { rawFrames: [frame, 'data: [DONE]\n\n'] }],
    [true, { rawFrames: [`${frame}data: garbage\n\n`] }],
  ] as const) {
    upstream.next(plan)
    const answer = await gateway.chat({ stream })

    assert.equal(answer.status, 502)
    assert.ok(!answer.text.includes(CANARY))
    const row = await settledRow(gateway, answer.headers['x-request-id'])
    assert.deepEqual([row.http_status, row.cost], [502, '0'])
  }
})

test('a frame nested too deeply ends its stream and affects nobody else', async () => {
  const words = `data: ${head}{"index":0,"delta":{"content":"Hello"}}]}\n\n`
  const deep = `data: ${head}{"index":0,"delta":{"content":"${CANARY}","x":${DEEP}}}]}\n\n`
  for (const rawFrames of [
    [words, `${deep}data: garbage\n\n`],
    // In one read: earlier frames are still delivered.
    [`${words}${deep}`],
  ]) {
    upstream.next({ rawFrames, chunkDelayMs: 50 })

    const broken = await gateway.openChat()
    const sse = await broken.rest()
    upstream.next({})
    const next = await gateway.chat({})

    assert.equal(sse.content, 'Hello')
    assert.equal(next.status, 200)
    const row = await settledRow(gateway, broken.headers['x-request-id'])
    assert.equal(row.outcome, 'upstream_broke')
  }
})

test('bytes that are not HTTP are a 502', async () => {
  const answer = await gateway.chat({ model: 'test/gibberish' })

  assert.equal(answer.status, 502)
  await assertFree(answer.headers['x-request-id'])
})

test('a redirect is never followed', async () => {
  let visits = 0
  const elsewhere = createServer((_, res) => {
    visits += 1
    res.end('{}')
  }).listen(0, '127.0.0.1')
  await once(elsewhere, 'listening')
  const redirectTo = `http://127.0.0.1:${(elsewhere.address() as AddressInfo).port}/latest/meta-data`

  for (const status of [301, 302, 303, 307, 308]) {
    upstream.script({ status, redirectTo })
    const answer = await gateway.chat({})

    assert.equal(answer.status, 502)
    assert.equal(answer.headers.location, undefined)
  }
  elsewhere.close()
  assert.equal(visits, 0)
})

async function assertFree(requestId: unknown): Promise<void> {
  const row = await settledRow(gateway, requestId)
  assert.deepEqual([row.outcome, row.cost, row.usage_source], ['upstream_failed', '0', 'none'])
}
