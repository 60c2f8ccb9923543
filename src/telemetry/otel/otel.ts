// Sends traces and metrics over OTLP with OpenTelemetry's SDK. This file is loaded only where the OTEL_* variables ask for it. Spans
// are created when a request is over, so that a request itself only notes when its attempts began.
import { DiagLogLevel, diag } from '@opentelemetry/api'
import { OTLPMetricExporter as JsonMetrics } from '@opentelemetry/exporter-metrics-otlp-http'
import { OTLPMetricExporter as ProtoMetrics } from '@opentelemetry/exporter-metrics-otlp-proto'
import { OTLPTraceExporter as JsonTraces } from '@opentelemetry/exporter-trace-otlp-http'
import { OTLPTraceExporter as ProtoTraces } from '@opentelemetry/exporter-trace-otlp-proto'
import { defaultResource, detectResources, envDetector, resourceFromAttributes } from '@opentelemetry/resources'
import { MeterProvider, PeriodicExportingMetricReader } from '@opentelemetry/sdk-metrics'
import { BatchSpanProcessor } from '@opentelemetry/sdk-trace'
import type { RequestTrace } from '../../domain/trace.ts'
import type { Clock } from '../../lib/clock.ts'
import type { MetricJson } from '../metrics.ts'
import type { RequestReport } from '../request-log.ts'
import type { KindOf } from './attributes.ts'
import { metricData } from './metric-data.ts'
import { requestTracer, type Tracing } from './spans.ts'

export type OtelSettings = {
  readonly traces: (Tracing & TraceExport) | undefined
  readonly metrics: MetricExport | undefined
}
type Protocol = 'http/protobuf' | 'http/json'
type TraceExport = {
  readonly protocol: Protocol
  readonly delayMs: number
  readonly queueMax: number
  readonly batchMax: number
  readonly exportMsMax: number
}
type MetricExport = { readonly protocol: Protocol; readonly everyMs: number; readonly exportMsMax: number }

export type OtelNeeds = {
  readonly clock: Clock
  readonly node: { readonly name: string; readonly version: string }
  readonly kindOf: KindOf
  metrics(): Promise<readonly MetricJson[]>
  // What the SDK reports, such as a collector that cannot be reached.
  onWarning(message: string): void
}

export type OpenOtel = {
  // Undefined: requests are not traced.
  readonly openTrace: ((traceparent: unknown) => RequestTrace) | undefined
  report(report: RequestReport): void
  // Sends what is left, within this time.
  close(msMax: number): Promise<void>
}

const SCOPE = 'turnpike'

export function openOtel({ traces, metrics }: OtelSettings, needs: OtelNeeds): OpenOtel {
  listenToSdk(needs)
  const { name, version } = needs.node
  const own = resourceFromAttributes({
    'service.name': 'turnpike',
    'service.version': version,
    'service.instance.id': name,
  })
  const resource = defaultResource()
    .merge(own)
    .merge(detectResources({ detectors: [envDetector] }))
  const tracer =
    traces &&
    requestTracer(traces, {
      ...needs,
      resource,
      scope: { name: SCOPE, version },
      processor: new BatchSpanProcessor({
        exporter: traces.protocol === 'http/json' ? new JsonTraces() : new ProtoTraces(),
        scheduledDelayMillis: traces.delayMs,
        maxQueueSize: traces.queueMax,
        maxExportBatchSize: traces.batchMax,
        exportTimeoutMillis: traces.exportMsMax,
      }),
    })
  const meters =
    metrics &&
    new MeterProvider({
      resource,
      readers: [
        new PeriodicExportingMetricReader({
          exporter: metrics.protocol === 'http/json' ? new JsonMetrics() : new ProtoMetrics(),
          exportIntervalMillis: metrics.everyMs,
          exportTimeoutMillis: metrics.exportMsMax,
          metricProducers: [producer(needs, version, resource)],
        }),
      ],
    })

  return {
    openTrace: tracer?.open,
    report: tracer === undefined ? () => {} : tracer.report,
    async close(msMax) {
      const flushed = Promise.allSettled([tracer?.close(), meters?.shutdown()])
      const { promise, resolve } = Promise.withResolvers<void>()
      const timer = setTimeout(resolve, msMax)
      await Promise.race([flushed, promise])
      clearTimeout(timer)
    },
  }
}

function producer({ clock, metrics }: OtelNeeds, version: string, resource: ReturnType<typeof defaultResource>) {
  const startedAt = clock.now()
  return {
    async collect() {
      const all = metricData(await metrics(), { startedAt, now: clock.now() })
      return {
        resourceMetrics: { resource, scopeMetrics: [{ scope: { name: SCOPE, version }, metrics: all }] },
        errors: [],
      }
    },
  }
}

const WARNED_EVERY_MS = 60_000
const WARNING_CHARS_MAX = 300

// A collector that is unavailable is reported once a minute, whatever the SDK has to say.
function listenToSdk({ clock, onWarning }: OtelNeeds): void {
  let dueAt = Number.NEGATIVE_INFINITY
  const warn = (...words: readonly unknown[]) => {
    if (clock.monotonic() < dueAt) return
    dueAt = clock.monotonic() + WARNED_EVERY_MS
    onWarning(words.map(String).join(' ').slice(0, WARNING_CHARS_MAX))
  }
  const ignore = () => {}
  diag.setLogger(
    { error: warn, warn, info: ignore, debug: ignore, verbose: ignore },
    { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true },
  )
}
