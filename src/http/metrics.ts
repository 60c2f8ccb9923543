// What Prometheus sees. Label values come from fixed lists alone, never from a request.
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { Counter, Gauge, Histogram, Registry } from '@prometheus-io/client'
import type { FailureKind } from '../domain/failure.ts'
import type { RequestReport } from './door.ts'

export type Metrics = {
  request(report: RequestReport): void
  parserError(code: string): void
  upstreamError(kind: FailureKind): void
  commit(ops: number, ms: number): void
  keyCache(hit: boolean): void
  clamped(): void
  lateSettlement(): void
  swept(rows: number): void
  streams: { delta(by: 1 | -1): void }
  text(): Promise<string>
  readonly contentType: string
}

const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300]

export function gatewayMetrics(live: { readonly inFlight: () => number; readonly bodyBytes: () => number }): Metrics {
  const registry = new Registry()
  const registers = [registry]
  const requests = new Counter({
    name: 'turnpike_requests_total',
    help: 'Requests under /v1 by endpoint, status and outcome.',
    labelNames: ['endpoint', 'status', 'outcome'],
    registers,
  })
  const tokens = new Counter({ name: 'turnpike_tokens_total', help: 'Tokens billed.', labelNames: ['kind'], registers })
  const credits = new Counter({
    name: 'turnpike_credits_total',
    help: 'Credits charged (rounded for display).',
    registers,
  })
  const duration = new Histogram({
    name: 'turnpike_request_duration_seconds',
    help: 'From the request to the end of its answer.',
    labelNames: ['endpoint'],
    buckets: SECONDS,
    registers,
  })
  const firstByte = new Histogram({
    name: 'turnpike_first_byte_seconds',
    help: 'From the request to the first content of its answer.',
    buckets: SECONDS,
    registers,
  })
  const streams = new Gauge({ name: 'turnpike_streams_in_flight', help: 'Streams being served.', registers })
  const batches = new Histogram({
    name: 'turnpike_commit_batch_size',
    help: 'Writes that shared one transaction.',
    buckets: [1, 2, 4, 8, 16, 32, 64, 128, 256],
    registers,
  })
  const commits = new Histogram({
    name: 'turnpike_commit_seconds',
    help: 'Time of one transaction.',
    buckets: [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.05, 0.1, 1],
    registers,
  })
  const cache = new Counter({
    name: 'turnpike_key_cache_total',
    help: 'Key look-ups.',
    labelNames: ['result'],
    registers,
  })
  const upstream = new Counter({
    name: 'turnpike_upstream_errors_total',
    help: 'Failed upstream calls by kind.',
    labelNames: ['kind'],
    registers,
  })
  const rejected = new Counter({
    name: 'turnpike_rejected_http_total',
    help: 'Requests that the HTTP parser rejected.',
    labelNames: ['code'],
    registers,
  })
  const alarms = new Counter({
    name: 'turnpike_alarms_total',
    help: 'Things an operator should look at: clamped usage, late settlements, recovered rows.',
    labelNames: ['alarm'],
    registers,
  })
  new Gauge({
    name: 'turnpike_requests_in_flight',
    help: 'Requests being served.',
    registers,
    collect() {
      this.set(live.inFlight())
    },
  })
  new Gauge({
    name: 'turnpike_body_bytes',
    help: 'Request bodies in memory.',
    registers,
    collect() {
      this.set(live.bodyBytes())
    },
  })
  const loop = monitorEventLoopDelay({ resolution: 20 })
  loop.enable()
  new Gauge({
    name: 'turnpike_event_loop_delay_seconds',
    help: 'Event-loop delay since the last scrape.',
    labelNames: ['quantile'],
    registers,
    collect() {
      for (const quantile of [50, 99, 100])
        this.set({ quantile: String(quantile / 100) }, loop.percentile(quantile) / 1e9)
      loop.reset()
    },
  })
  new Gauge({
    name: 'turnpike_resident_bytes',
    help: 'Resident memory of the process.',
    registers,
    collect() {
      this.set(process.memoryUsage.rss())
    },
  })

  return {
    request(report) {
      requests.inc({ endpoint: report.endpoint, status: String(report.status), outcome: report.outcome })
      duration.observe({ endpoint: report.endpoint }, report.ms / 1000)
      if (report.firstByteMs !== undefined) firstByte.observe(report.firstByteMs / 1000)
      if (report.tokens !== undefined) {
        tokens.inc({ kind: 'prompt' }, report.tokens.prompt)
        tokens.inc({ kind: 'completion' }, report.tokens.completion)
        if (report.tokens.cached > 0) tokens.inc({ kind: 'cached' }, report.tokens.cached)
        if (report.tokens.reasoning > 0) tokens.inc({ kind: 'reasoning' }, report.tokens.reasoning)
      }
      // A display of what the ledger holds exactly.
      if (report.cost !== undefined && report.cost > 0n) credits.inc(Number(report.cost) / 1e9)
    },
    parserError: code => rejected.inc({ code }),
    upstreamError: kind => upstream.inc({ kind }),
    commit(ops, ms) {
      batches.observe(ops)
      commits.observe(ms / 1000)
    },
    keyCache: hit => cache.inc({ result: hit ? 'hit' : 'miss' }),
    clamped: () => alarms.inc({ alarm: 'usage_clamped' }),
    lateSettlement: () => alarms.inc({ alarm: 'settlement_late' }),
    swept: rows => alarms.inc({ alarm: 'rows_recovered' }, rows),
    streams: { delta: by => streams.inc(by) },
    text: () => registry.metrics(),
    contentType: registry.contentType,
  }
}
