// The OTEL_* variables: what turns the exports on, and what is refused by name.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { BadConfig } from '../../src/config/bad-config.ts'
import { readOtel } from '../../src/config/otel.ts'

const ENDPOINT = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318' }

test('an endpoint or a named exporter turns a signal on; nothing else does', () => {
  const on = (env: Record<string, string>) => {
    const { traces, metrics } = readOtel(env)
    return [traces !== undefined, metrics !== undefined]
  }

  assert.deepEqual(on({}), [false, false])
  assert.deepEqual(on({ OTEL_SERVICE_NAME: 'a', OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' }), [false, false])
  assert.deepEqual(on(ENDPOINT), [true, true])
  assert.deepEqual(on({ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'https://a.example/v1/traces' }), [true, false])
  assert.deepEqual(on({ OTEL_METRICS_EXPORTER: 'otlp' }), [false, true])
  assert.deepEqual(on({ ...ENDPOINT, OTEL_METRICS_EXPORTER: 'none' }), [true, false])
  assert.deepEqual(on({ ...ENDPOINT, OTEL_SDK_DISABLED: 'TRUE' }), [false, false])
  assert.deepEqual(on({ ...ENDPOINT, OTEL_SDK_DISABLED: 'no' }), [true, true])
})

test('settings have the defaults of the specification', () => {
  const { traces, metrics } = readOtel(ENDPOINT)

  assert.deepEqual(traces, {
    protocol: 'http/protobuf',
    sampling: { kind: 'always_on', ratio: 1, isParentBased: true },
    delayMs: 5000,
    queueMax: 2048,
    batchMax: 512,
    exportMsMax: 30_000,
  })
  assert.deepEqual(metrics, { protocol: 'http/protobuf', everyMs: 60_000, exportMsMax: 30_000 })
})

test('the protocol of a signal takes precedence, and samplers have their ratio', () => {
  const { traces, metrics } = readOtel({
    ...ENDPOINT,
    OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
    OTEL_EXPORTER_OTLP_METRICS_PROTOCOL: 'http/protobuf',
    OTEL_TRACES_SAMPLER: 'traceidratio',
    OTEL_TRACES_SAMPLER_ARG: '0.25',
    OTEL_METRIC_EXPORT_INTERVAL: '10000',
  })

  assert.deepEqual([traces?.protocol, metrics?.protocol], ['http/json', 'http/protobuf'])
  assert.deepEqual(traces?.sampling, { kind: 'traceidratio', ratio: 0.25, isParentBased: false })
  assert.deepEqual([metrics?.everyMs, metrics?.exportMsMax], [10_000, 10_000])
})

const BAD = {
  OTEL_TRACES_EXPORTER: ['zipkin', 'otlp or none'],
  OTEL_METRICS_EXPORTER: ['prometheus', 'otlp or none'],
  OTEL_EXPORTER_OTLP_ENDPOINT: ['collector:4317', 'an http:// or https:// URL'],
  OTEL_EXPORTER_OTLP_PROTOCOL: ['grpc', 'http/protobuf or http/json'],
  OTEL_TRACES_SAMPLER: ['jaeger_remote', 'one of always_on'],
  OTEL_TRACES_SAMPLER_ARG: ['2', 'a number from 0 to 1'],
  OTEL_BSP_MAX_QUEUE_SIZE: ['1000000000', '1 to 65536'],
  OTEL_METRIC_EXPORT_INTERVAL: ['0', 'a whole number'],
} as const

for (const [name, [value, rule]] of Object.entries(BAD)) {
  test(`${name}=${value} is refused by name, with its rule`, () => {
    const sampler = name === 'OTEL_TRACES_SAMPLER_ARG' ? { OTEL_TRACES_SAMPLER: 'traceidratio' } : {}

    assert.throws(
      () => readOtel({ ...ENDPOINT, ...sampler, [name]: value }),
      (error: unknown) => {
        assert.ok(error instanceof BadConfig)
        assert.ok(error.message.startsWith(`${name} must be `), error.message)
        assert.ok(error.message.includes(rule), error.message)
        return true
      },
    )
  })
}
