// Traces and metrics over OTLP, as a real receiver sees them: the tree of each request, the callers' traces, and nothing of content
// or secrets.
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { startGateway } from '../../../support/gateway.ts'
import { httpCall } from '../../../support/http-call.ts'
import { attributesOf, type OtlpSpan, startOtlpReceiver } from '../../../support/otlp-receiver.ts'
import {
  PROVIDER_KEY_CANARY,
  standardConfig,
  standardModel,
  standardProvider,
} from '../../../support/standard-config.ts'
import { until } from '../../../support/until.ts'
import { startUpstream } from '../../../support/upstream.ts'

const PROMPT = 'prompt-canary-0b61'
const ANSWER = 'answer-canary-93aa'
const WORDS = 'words-canary-77f1'
const [SERVER, CLIENT] = [2, 3]
const ERROR = 2
const TRACE = '0af7651916cd43dd8448eb211c80319c'
const PARENT = 'b7ad6b7169203331'
const messages = [{ role: 'user', content: PROMPT }]

const receiver = await startOtlpReceiver()
const upstream = await startUpstream()
const gateway = await startGateway({
  config: standardConfig(upstream.url, {
    providers: [
      standardProvider(upstream.url),
      standardProvider(upstream.url, { id: 'up2' }),
      standardProvider(upstream.url, { id: 'claude', kind: 'anthropic' }),
    ],
    models: [
      standardModel({ id: 'test/claude', targets: [{ provider: 'claude', model: 'c1' }] }),
      standardModel({
        targets: [
          { provider: 'up', model: 'm1', priority: 0 },
          { provider: 'up2', model: 'm2', priority: 1 },
        ],
      }),
    ],
    telemetry: { trust_traceparent: true, propagate_traceparent: true },
  }),
  env: {
    OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
    OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
    OTEL_EXPORTER_OTLP_HEADERS: 'x-collector-token=t0ken',
    OTEL_SERVICE_NAME: 'my-gateway',
    OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=test',
    OTEL_BSP_SCHEDULE_DELAY: '50',
    OTEL_METRIC_EXPORT_INTERVAL: '300',
  },
})
after(async () => {
  await gateway[Symbol.asyncDispose]()
  await upstream[Symbol.asyncDispose]()
  await receiver[Symbol.asyncDispose]()
})
const caller = await gateway.createKey()

// The spans of a request: its own, and those below it in the order of their start.
async function treeOf(requestId: unknown, attempts: number) {
  const spans = () => receiver.spans().filter(span => attributesOf(span)['turnpike.request_id'] === requestId)
  await until('the spans have arrived', () => spans().length === attempts + 1)
  const request = spans().find(span => span.kind === SERVER)
  assert.ok(request !== undefined)
  const below = spans()
    .filter(span => span.parentSpanId === request.spanId && span.traceId === request.traceId)
    .sort((a, b) => Number(BigInt(a.startTimeUnixNano) - BigInt(b.startTimeUnixNano)))
  assert.equal(below.length, attempts)
  return { request, below }
}

function assertWithin(outer: OtlpSpan, inner: OtlpSpan): void {
  assert.ok(BigInt(inner.startTimeUnixNano) >= BigInt(outer.startTimeUnixNano))
  assert.ok(BigInt(inner.endTimeUnixNano) <= BigInt(outer.endTimeUnixNano))
  assert.ok(BigInt(inner.endTimeUnixNano) >= BigInt(inner.startTimeUnixNano))
}

test('a request that failed over is a span with two attempts below it', async () => {
  upstream.journal.length = 0
  upstream.next({ status: 500, body: JSON.stringify({ error: { message: WORDS } }) })
  upstream.next({ words: [ANSWER, ' ', ANSWER], promptTokens: 11 })

  const answer = await gateway.chat({ messages }, { key: caller.secret })

  assert.equal(answer.status, 200)
  const { request, below } = await treeOf(answer.headers['x-request-id'], 2)
  assert.equal(request.name, 'POST /v1/chat/completions')
  assert.equal(request.parentSpanId ?? '', '')
  assert.equal(request.status?.code ?? 0, 0)
  const { 'turnpike.cost': cost, ...attributes } = attributesOf(request)
  assert.deepEqual(attributes, {
    'http.request.method': 'POST',
    'http.route': '/v1/chat/completions',
    'http.response.status_code': 200,
    'turnpike.request_id': answer.headers['x-request-id'],
    'turnpike.endpoint': 'chat.completions',
    'turnpike.outcome': 'completed',
    'turnpike.account_id': caller.accountId,
    'turnpike.key_id': caller.id,
    'turnpike.provider': 'up2',
    'gen_ai.operation.name': 'chat',
    'gen_ai.provider.name': 'openai',
    'gen_ai.request.model': 'test/m1',
    'gen_ai.request.stream': false,
    'gen_ai.response.model': 'test/m1',
    'gen_ai.response.finish_reasons': ['stop'],
    'gen_ai.usage.input_tokens': 11,
    'gen_ai.usage.output_tokens': 3,
  })
  assert.equal(Number(cost), Number(answer.headers['x-svc-cost']))
  const [failed, served] = below.map(span => ({ span, attributes: attributesOf(span) }))
  assert.ok(failed !== undefined && served !== undefined)
  assert.deepEqual([failed.span.name, failed.span.kind, failed.span.status?.code], ['chat m1', CLIENT, ERROR])
  assert.deepEqual([served.span.name, served.span.kind, served.span.status?.code ?? 0], ['chat m2', CLIENT, 0])
  assert.deepEqual([failed.attributes['error.type'], failed.attributes['http.response.status_code']], ['status', 500])
  assert.equal(served.attributes['error.type'], undefined)
  assert.equal(served.attributes['turnpike.provider'], 'up2')
  for (const { span } of [failed, served]) assertWithin(request, span)
  assert.ok(BigInt(failed.span.endTimeUnixNano) <= BigInt(served.span.startTimeUnixNano) + 1_000_000n)
  // Each provider got the span of its attempt.
  assert.deepEqual(
    upstream.journal.map(({ headers }) => headers.traceparent),
    below.map(({ spanId }) => `00-${request.traceId}-${spanId}-01`),
  )
})

test('a stream has the time to its first chunk, and its attempt lasts until its end', async () => {
  upstream.next({ words: ['a', ' b', ' c'], chunkDelayMs: 60 })

  const answer = await gateway.chat({ messages, stream: true }, { key: caller.secret })

  const { request, below } = await treeOf(answer.headers['x-request-id'], 1)
  const attributes = attributesOf(request)
  assert.equal(attributes['gen_ai.request.stream'], true)
  assert.deepEqual(attributes['gen_ai.response.finish_reasons'], ['stop'])
  assert.ok(Number(attributes['gen_ai.response.time_to_first_chunk']) > 0)
  const [attempt] = below
  assert.ok(attempt !== undefined)
  assertWithin(request, attempt)
  assert.ok(BigInt(attempt.endTimeUnixNano) - BigInt(attempt.startTimeUnixNano) > 100_000_000n)
})

test('refusals have their code and no attempts; a stream that broke is an error', async () => {
  const poor = await gateway.createKey({ credits: '0' })

  const unpaid = await gateway.chat({ messages }, { key: poor.secret })
  const unknown = await gateway.chat({ messages }, { key: `svc_live_${'x'.repeat(43)}` })
  upstream.next({ status: 400, body: JSON.stringify({ error: { message: WORDS } }) })
  const rejected = await gateway.chat({ messages }, { key: caller.secret })
  upstream.next({ dieAfterChunks: 1 })
  const broken = await gateway.chat({ messages, stream: true }, { key: caller.secret })

  const { request: of402 } = await treeOf(unpaid.headers['x-request-id'], 0)
  const { request: of401 } = await treeOf(unknown.headers['x-request-id'], 0)
  const { request: of400, below } = await treeOf(rejected.headers['x-request-id'], 1)
  const pick = (span: OtlpSpan) => {
    const { 'http.response.status_code': status, 'error.type': type, 'turnpike.key_id': key } = attributesOf(span)
    return [status, type, key, span.status?.code ?? 0]
  }
  assert.deepEqual(pick(of402), [402, 'insufficient_credits', poor.id, 0])
  assert.deepEqual(pick(of401), [401, 'invalid_api_key', undefined, 0])
  assert.deepEqual(pick(of400), [400, rejected.body.error?.code, caller.id, 0])
  const { request: ofBroken, below: ofAttempt } = await treeOf(broken.headers['x-request-id'], 1)
  assert.deepEqual([pick(ofBroken)[0], pick(ofBroken)[3], ofAttempt[0]?.status?.code], [200, ERROR, ERROR])
  assert.equal(attributesOf(below[0] as OtlpSpan)['error.type'], 'rejected')
})

test("a caller's traceparent is the parent of its request, and its sampling decides; a bad one is ignored", async () => {
  upstream.journal.length = 0
  const sampled = { traceparent: `00-${TRACE}-${PARENT}-01`, tracestate: 'vendor=secret' }
  const bad = { traceparent: `00-${'0'.repeat(32)}-${PARENT}-01` }

  const traced = await gateway.chat({ messages }, { key: caller.secret, headers: sampled })
  const unsampled = { traceparent: `00-${TRACE}-${PARENT}-00` }
  const dropped = await gateway.chat({ messages }, { key: caller.secret, headers: unsampled })
  const ignored = await gateway.chat({ messages }, { key: caller.secret, headers: bad })

  const { request } = await treeOf(traced.headers['x-request-id'], 1)
  assert.deepEqual([request.traceId, request.parentSpanId], [TRACE, PARENT])
  const { request: root } = await treeOf(ignored.headers['x-request-id'], 1)
  assert.equal(root.parentSpanId ?? '', '')
  const ofDropped = receiver.spans().filter(span => {
    return attributesOf(span)['turnpike.request_id'] === dropped.headers['x-request-id']
  })
  assert.deepEqual(ofDropped, [])
  assert.match(String(upstream.journal[1]?.headers.traceparent), new RegExp(`^00-${TRACE}-[0-9a-f]{16}-00$`))
  for (const { headers } of upstream.journal) assert.equal(headers.tracestate, undefined)
})

test('a provider of another protocol gets the traceparent too, passed through or translated', async () => {
  upstream.journal.length = 0
  const headers = { authorization: `Bearer ${caller.secret}`, 'anthropic-version': '2023-06-01' }
  const body = { model: 'test/claude', max_tokens: 10, messages }

  const passed = await httpCall(`${gateway.url}/v1/messages`, { method: 'POST', body, headers })
  const translated = await gateway.chat({ model: 'test/claude', messages }, { key: caller.secret })

  const trees = [await treeOf(passed.headers['x-request-id'], 1), await treeOf(translated.headers['x-request-id'], 1)]
  assert.deepEqual(
    trees.map(({ request }) => request.name),
    ['POST /v1/messages', 'POST /v1/chat/completions'],
  )
  assert.deepEqual(
    upstream.journal.map(each => each.headers.traceparent),
    trees.map(({ request, below }) => `00-${request.traceId}-${below[0]?.spanId}-01`),
  )
  assert.equal(attributesOf(trees[0]?.request ?? {})['gen_ai.provider.name'], 'anthropic')
})

test('metrics are those of /metrics, with the attributes of the resource', async () => {
  const named = (name: string) => receiver.metrics().find(metric => metric.name === name)
  // Read again every 15 seconds, the first time perhaps before there was an account.
  await until('the balance was exported', () => {
    const points = named('turnpike_account_available_credits')?.gauge?.dataPoints ?? []
    return points.some(point => attributesOf(point).account === caller.accountId)
  })
  const { text } = await gateway.get('/metrics')

  const requests = named('turnpike_requests_total')?.sum
  const durations = named('turnpike_request_duration_seconds')?.histogram?.dataPoints[0]
  const buckets = durations?.bucketCounts?.map(Number) ?? []

  assert.equal(requests?.isMonotonic, true)
  assert.match(text, /turnpike_requests_total\{endpoint="chat.completions",status="200",outcome="completed"\} [1-9]/)
  assert.ok(requests.dataPoints.some(point => attributesOf(point).status === '200' && Number(point.asDouble) > 0))
  assert.equal(buckets.length, (durations?.explicitBounds?.length ?? 0) + 1)
  assert.equal(
    buckets.reduce((sum, count) => sum + count, 0),
    Number(durations?.count),
  )
  for (const resource of receiver.resources()) {
    assert.equal(resource['service.name'], 'my-gateway')
    assert.equal(resource['deployment.environment.name'], 'test')
    assert.equal(typeof resource['service.instance.id'], 'string')
  }
  assert.ok(receiver.received.every(({ headers }) => headers['x-collector-token'] === 't0ken'))
})

test('nothing that was sent contains a prompt, an answer, the words of a provider or a secret', () => {
  const all = Buffer.concat(receiver.received.map(({ bytes }) => bytes)).toString('latin1')

  for (const canary of [PROMPT, ANSWER, WORDS, PROVIDER_KEY_CANARY, caller.secret, 't0ken', 'vendor=secret'])
    assert.ok(!all.includes(canary), canary)
  assert.ok(all.includes('test/m1'))
})

test('a drain sends the last spans', async () => {
  await gateway.restart({ OTEL_BSP_SCHEDULE_DELAY: '60000' })
  const last = await gateway.chat({ messages }, { key: caller.secret })

  assert.equal(await gateway.stop({ hurry: true }), 0)

  await treeOf(last.headers['x-request-id'], 1)
})
