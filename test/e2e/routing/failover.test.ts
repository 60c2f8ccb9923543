// Any upstream failure before the first content fails over to the next target, over real sockets: the caller sees one
// answer at one price, and the row names every attempt.
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { FORGETFUL, withBounds } from '../../support/bounds.ts'
import { startFaultProxy } from '../../support/fault-proxy.ts'
import { openFixture } from '../../support/fixture.ts'
import { freePort } from '../../support/free-port.ts'
import { standardConfig, standardModel, standardProvider } from '../../support/standard-config.ts'
import type { Plan } from '../../support/upstream-plan.ts'
import { settledRow } from '../../support/usage.ts'

const QUICK = { connect: 0.5, first_byte_stream: 0.5, first_byte_json: 0.5, idle: 0.5, total: 30 }
const resetting = await startFaultProxy(await freePort(), { kind: 'reset' })
const silent = await startFaultProxy(await freePort(), { kind: 'blackhole' })
after(async () => {
  await resetting[Symbol.asyncDispose]()
  await silent[Symbol.asyncDispose]()
})
const nobody = `http://127.0.0.1:${await freePort()}/v1`

const UNREACHABLE: Readonly<Record<string, readonly [url: string, outcome: RegExp]>> = {
  refused: [nobody, /^refused$/],
  dns: ['http://nowhere.invalid/v1', /^dns$/],
  reset: [`http://127.0.0.1:${resetting.port}/v1`, /^reset$/],
  silent: [`http://127.0.0.1:${silent.port}/v1`, /^timeout$/],
  handshake: [`https://127.0.0.1:${silent.port}/v1`, /^connect_timeout$/],
}

const { gateway, upstream } = await openFixture(url => {
  const urls = [
    ...Object.entries(UNREACHABLE).map(([id, [at]]) => [id, at] as const),
    ['tls', url.replace('http:', 'https:')],
  ]
  const first = (id: string, model: string) =>
    standardModel({
      id: `test/${id}`,
      targets: [
        { provider: id, model, priority: 0 },
        { provider: 'sound', model: 'sound', priority: 1 },
      ],
    })
  return standardConfig(url, {
    providers: [
      ...urls.map(([id, at]) => standardProvider(String(at), { id, timeouts: QUICK })),
      standardProvider(url, { id: 'faulty', timeouts: QUICK }),
      standardProvider(url, { id: 'sound' }),
    ],
    models: [...urls.map(([id]) => first(String(id), 'm')), first('faulty', 'faulty')],
  })
}, withBounds(FORGETFUL))

for (const [id, outcome] of [
  ...Object.entries(UNREACHABLE).map(([id, [, kind]]) => [id, kind] as const),
  ['tls', /^tls$/] as const,
]) {
  test(`an upstream that is ${id} is replaced by the next, for JSON and streams`, async () => {
    await assertFailover(`test/${id}`, outcome)
  })
}

const FAULTS: Readonly<Record<string, Plan>> = {
  'a 500': { status: 500 },
  'a 503': { status: 503 },
  'a 429': { status: 429 },
  'a 401': { status: 401 },
  'a 403': { status: 403 },
  'a 404': { status: 404 },
  'a 204': { status: 204 },
  'a redirect to a metadata address': { status: 302, redirectTo: 'http://169.254.169.254/latest' },
  'a reset before the headers': { resetBeforeHeaders: true },
  'a 200 with an error body': { body: '{"error":{"message":"no","type":"server_error"}}' },
  HTML: { contentType: 'text/html', body: '<html>' },
  'an encoding that was not requested': { gzipBomb: 100_000 },
  silence: { delayMs: 60_000 },
  'headers followed by silence': { firstByteDelayMs: 60_000 },
}

for (const [fault, plan] of Object.entries(FAULTS)) {
  test(`${fault} before the first content fails over invisibly, for JSON and streams`, async () => {
    upstream.reset()
    upstream.script(plan, 'faulty')

    await assertFailover('test/faulty', /^(?!answered|rejected)/)
  })
}

test('after the first content there is no failover', async () => {
  for (const plan of [{ dieAfterChunks: 1 }, { stallAfterChunks: 1 }, { errorFrameAfterChunks: 1 }] as const) {
    upstream.reset()
    upstream.script(plan, 'faulty')

    const stream = await gateway.openChat({ model: 'test/faulty' })
    const { chunks } = await stream.rest()

    assert.ok(chunks.at(-1)?.error)
    assert.deepEqual(
      upstream.journal.map(({ model }) => model),
      ['faulty'],
    )
  }
})

async function assertFailover(model: string, outcome: RegExp): Promise<void> {
  for (const stream of [false, true]) {
    const answer = await gateway.chat({ model, stream }, { timeoutMs: 20_000 })

    assert.equal(answer.status, 200)
    assert.equal(answer.headers['x-svc-provider'], 'sound')
    const row = await settledRow(gateway, answer.headers['x-request-id'])
    assert.match(String(row.attempts[0]?.outcome), outcome)
    assert.equal(row.attempts.at(-1)?.outcome, 'answered')
    assert.deepEqual([row.outcome, row.provider], ['completed', 'sound'])
    // A connection that had served before may be reset twice: once as stale, and once as new.
    assert.ok(row.attempts.length === 2 || row.attempts[0]?.outcome === 'reset')
  }
}
