// OpenTelemetry at its edges: nothing of it is loaded without its variables, an untrusted trace is only linked, protobuf is what
// OpenTelemetry itself decodes, and a collector that fails or stalls affects no request and no drain.
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { type Gateway, startGateway } from '../../../support/gateway.ts'
import {
  attributesOf,
  type OtlpReceiver,
  type OtlpSpan,
  startOtlpReceiver,
  type TraceRequest,
} from '../../../support/otlp-receiver.ts'
import { type Python, pythonWith } from '../../../support/python.ts'
import { runScript } from '../../../support/python-script.ts'
import { PROVIDER_KEY_CANARY, standardConfig } from '../../../support/standard-config.ts'
import { until } from '../../../support/until.ts'
import { startUpstream } from '../../../support/upstream.ts'

const SUPPORT = join(import.meta.dirname, '../../../support')
const TRACE = '0af7651916cd43dd8448eb211c80319c'
const PARENT = 'b7ad6b7169203331'
const headers = { traceparent: `00-${TRACE}-${PARENT}-01` }
const PROMPT = 'prompt-canary-5d0e'
const messages = [{ role: 'user', content: PROMPT }]
const upstream = await startUpstream()
after(() => upstream[Symbol.asyncDispose]())

function start(env: Readonly<Record<string, string>>, nodeArgs: readonly string[] = []): Promise<Gateway> {
  return startGateway({
    config: standardConfig(upstream.url),
    env: { OTEL_BSP_SCHEDULE_DELAY: '50', OTEL_METRIC_EXPORT_INTERVAL: '200', ...env },
    nodeArgs,
  })
}

const sentTo = (receiver: OtlpReceiver, path: string) => receiver.received.filter(each => each.path === path)

test('without an endpoint, or when disabled, nothing of the SDK is loaded', async () => {
  await using receiver = await startOtlpReceiver()
  const nodeArgs = ['--import', join(SUPPORT, 'opentelemetry-preload.ts')]
  const loaded = async (env: Readonly<Record<string, string>>) => {
    await using gateway = await start(env, nodeArgs)
    assert.equal((await gateway.chat({ messages }, { headers })).status, 200)
    return gateway.lines.filter(line => line.startsWith('loaded ')).length
  }

  assert.equal(await loaded({ OTEL_SERVICE_NAME: 'gateway', OTEL_TRACES_SAMPLER: 'always_on' }), 0)
  assert.equal(await loaded({ OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url, OTEL_SDK_DISABLED: 'true' }), 0)
  // The hook does see them where they are used.
  assert.ok((await loaded({ OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url })) > 0)
})

const python = pythonWith(join(SUPPORT, 'otlp-requirements.txt'))

test('protobuf is the default, and a trace that is not trusted is linked', {
  skip: typeof python === 'string' ? python : false,
}, async () => {
  await using receiver = await startOtlpReceiver()
  await using gateway = await start({ OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url, OTEL_METRICS_EXPORTER: 'none' })
  upstream.journal.length = 0

  const answer = await gateway.chat({ messages }, { headers })
  await until('spans have arrived', () => sentTo(receiver, '/v1/traces').length > 0)
  const sent = sentTo(receiver, '/v1/traces')
  const decoded = await runScript<readonly TraceRequest[]>(python as Python, join(SUPPORT, 'otlp_decode.py'), {
    requests: sent.map(({ bytes }) => bytes.toString('base64')),
  })

  const spans = decoded.flatMap(({ resourceSpans = [] }) =>
    resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap(each => each.spans)),
  )
  const hex = (base64: string | undefined) => Buffer.from(base64 ?? '', 'base64').toString('hex')
  const request = spans.find(span => span.kind === 'SPAN_KIND_SERVER') as OtlpSpan
  const attempt = spans.find(span => span.kind === 'SPAN_KIND_CLIENT') as OtlpSpan
  assert.equal(attributesOf(request)['turnpike.request_id'], answer.headers['x-request-id'])
  assert.equal(attempt.parentSpanId, request.spanId)
  assert.notEqual(hex(request.traceId), TRACE)
  assert.deepEqual(
    request.links?.map(link => [hex(link.traceId), hex(link.spanId)]),
    [[TRACE, PARENT]],
  )
  assert.ok(sent.every(each => each.headers['content-type'] === 'application/x-protobuf'))
  assert.equal(sentTo(receiver, '/v1/metrics').length, 0)
  // Providers see nothing of it unless that is allowed.
  assert.deepEqual(
    upstream.journal.map(each => each.headers.traceparent),
    [undefined],
  )
  for (const { bytes } of sent)
    for (const canary of [PROMPT, PROVIDER_KEY_CANARY]) assert.ok(!bytes.toString('latin1').includes(canary))
})

test('a sampler that samples nothing sends no spans, and metrics all the same', async () => {
  await using receiver = await startOtlpReceiver()
  await using gateway = await start({
    OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
    OTEL_TRACES_SAMPLER: 'traceidratio',
    OTEL_TRACES_SAMPLER_ARG: '0',
  })

  await gateway.chat({ messages })
  await until('metrics have arrived twice', () => sentTo(receiver, '/v1/metrics').length > 1)

  assert.equal(sentTo(receiver, '/v1/traces').length, 0)
})

for (const kind of ['silent', 'failing'] as const) {
  test(`a ${kind} collector affects no request, and the drain ends in time`, async () => {
    await using receiver = await startOtlpReceiver(kind)
    await using gateway = await start({
      OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
      OTEL_BSP_MAX_QUEUE_SIZE: '20',
      OTEL_BSP_MAX_EXPORT_BATCH_SIZE: '10',
    })

    const answers = await Promise.all(Array.from({ length: 60 }, () => gateway.chat({ messages })))
    await until('the collector was called', () => sentTo(receiver, '/v1/traces').length > 0)
    const started = performance.now()
    const code = await gateway.stop({ hurry: true, timeoutMs: 14_000 })

    assert.ok(answers.every(({ status }) => status === 200))
    assert.equal(code, 0)
    assert.ok(performance.now() - started < 10_000)
    if (kind === 'failing')
      assert.equal(gateway.lines.filter(line => line.includes('OpenTelemetry reported a problem')).length, 1)
  })
}
