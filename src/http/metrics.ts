// What Prometheus sees. Label values come from fixed lists alone, never from a request.
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { Counter, Gauge, Histogram, type Metric, Registry } from '@prometheus-io/client'
import type { FailureKind } from '../domain/failure.ts'
import type { FleetView } from '../domain/target-view.ts'
import type { Endpoint } from '../domain/usage.ts'
import { type Count, counterTally, histogramTally, type Spread, type TallyMetric } from '../lib/tally.ts'
import { fleetMetrics } from './fleet-metrics.ts'
import { redisMetrics } from './redis-metrics.ts'
import type { RequestReport } from './router.ts'

export type Metrics = {
  request(report: RequestReport): void
  parserError(code: string): void
  upstreamError(kind: FailureKind): void
  commit(ops: number, ms: number): void
  keyCache(hit: boolean): void
  clamped(): void
  lateSettlement(): void
  oddSettlement(settled: 'corrected' | 'unknown'): void
  unwrittenRefusal(): void
  swept(rows: number): void
  // What routing sounds an alarm about: a breaker, a credential.
  fleetAlarm(kind: string): void
  // From here on the upstreams stand in the metrics too.
  watch(fleet: () => FleetView): void
  // From here on Redis does too. Gives what counts the requests that this node limits alone.
  watchRedis(isUp: () => boolean): () => void
  // A connection was refused, or closed while it rested, because of a bound.
  readonly connections: { onRefused(bound: string): void; onEvicted(bound: string): void }
  watchConnections(open: () => number): void
  watchOpenRows(open: () => number): void
  streams: { delta(by: 1 | -1): void }
  text(): Promise<string>
  // As they travel between processes.
  asJson(): Promise<readonly MetricJson[]>
  readonly contentType: string
}

// Of every process on this port, to be shown as one.
export type GatherMetrics = () => Promise<readonly (readonly MetricJson[])[]>
export type MetricJson = { readonly type: string; readonly [field: string]: unknown }

const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300]

export function gatewayMetrics(
  live: { readonly inFlight: () => number; readonly bodyBytes: () => number; readonly answerBytes: () => number },
  gather?: GatherMetrics,
): Metrics {
  const registry = new Registry()
  const registers = [registry]
  const hot = <M extends TallyMetric>(metric: M): M => {
    registry.registerMetric(metric as unknown as Metric)
    return metric
  }
  const requests = hot(counterTally('turnpike_requests_total', 'Requests under /v1 by endpoint, status and outcome.'))
  const tokens = hot(counterTally('turnpike_tokens_total', 'Tokens billed.'))
  const credits = hot(counterTally('turnpike_credits_total', 'Credits charged (rounded for display).')).count({})
  const duration = hot(
    histogramTally('turnpike_request_duration_seconds', 'From the request to the end of its answer.', SECONDS),
  )
  const firstByte = hot(
    histogramTally('turnpike_first_byte_seconds', 'From the request to the first content of its answer.', SECONDS),
  ).spread({})
  const cache = hot(counterTally('turnpike_key_cache_total', 'Key look-ups.'))
  let streamsNow = 0
  new Gauge({
    name: 'turnpike_streams_in_flight',
    help: 'Streams being served.',
    registers,
    collect() {
      this.set(streamsNow)
    },
  })
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
  const refusedConnections = new Counter({
    name: 'turnpike_connections_refused_total',
    help: 'Connections refused because of a bound: of all connections, or of those of one address.',
    labelNames: ['bound'],
    registers,
  })
  const evictedConnections = new Counter({
    name: 'turnpike_connections_evicted_total',
    help: 'Idle connections that were closed to make room for a new one.',
    labelNames: ['bound'],
    registers,
  })
  const unwritten = new Counter({
    name: 'turnpike_refusal_rows_unwritten_total',
    help: 'Refusals without a row, since their key had used up its allowance of such rows.',
    registers,
  })
  const alarms = new Counter({
    name: 'turnpike_alarms_total',
    help: 'Things an operator should look at: clamped usage, late settlements, recovered rows, breakers, credentials.',
    labelNames: ['alarm'],
    registers,
  })
  const gauge = (name: string, help: string, now: () => number) => {
    new Gauge({
      name,
      help,
      registers,
      collect() {
        this.set(now())
      },
    })
  }
  gauge('turnpike_requests_in_flight', 'Requests being served.', live.inFlight)
  gauge('turnpike_body_bytes', 'Request bodies in memory.', live.bodyBytes)
  gauge('turnpike_answer_bytes', 'Memory reserved for large JSON answers.', live.answerBytes)
  const loop = monitorEventLoopDelay({ resolution: 20 })
  loop.enable()
  new Gauge({
    name: 'turnpike_event_loop_delay_seconds',
    help: 'Event-loop delay since the last scrape.',
    labelNames: ['quantile'],
    aggregator: 'max',
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

  const billed = {
    prompt: tokens.count({ kind: 'prompt' }),
    completion: tokens.count({ kind: 'completion' }),
    cached: tokens.count({ kind: 'cached' }),
    reasoning: tokens.count({ kind: 'reasoning' }),
  }
  const hits = cache.count({ result: 'hit' })
  const misses = cache.count({ result: 'miss' })
  const seen = new Map<string, Count>()
  const took = new Map<Endpoint, Spread>()

  function seenCount({ endpoint, status, outcome }: RequestReport): Count {
    const key = `${endpoint} ${status} ${outcome}`
    let count = seen.get(key)
    if (count === undefined) {
      count = requests.count({ endpoint, status: String(status), outcome })
      seen.set(key, count)
    }
    return count
  }

  function tookSpread(endpoint: Endpoint): Spread {
    let spread = took.get(endpoint)
    if (spread === undefined) {
      spread = duration.spread({ endpoint })
      took.set(endpoint, spread)
    }
    return spread
  }

  return {
    request(report) {
      seenCount(report).total += 1
      tookSpread(report.endpoint).observe(report.ms / 1000)
      if (report.firstByteMs !== undefined) firstByte.observe(report.firstByteMs / 1000)
      if (report.tokens !== undefined) {
        billed.prompt.total += report.tokens.prompt
        billed.completion.total += report.tokens.completion
        billed.cached.total += report.tokens.cached
        billed.reasoning.total += report.tokens.reasoning
      }
      // A display of what the ledger holds exactly.
      if (report.cost !== undefined) credits.total += Number(report.cost) / 1e9
    },
    parserError: code => rejected.inc({ code }),
    upstreamError: kind => upstream.inc({ kind }),
    commit(ops, ms) {
      batches.observe(ops)
      commits.observe(ms / 1000)
    },
    keyCache(hit) {
      if (hit) hits.total += 1
      else misses.total += 1
    },
    clamped: () => alarms.inc({ alarm: 'usage_clamped' }),
    lateSettlement: () => alarms.inc({ alarm: 'settlement_late' }),
    oddSettlement: settled => alarms.inc({ alarm: `settlement_${settled}` }),
    unwrittenRefusal: () => unwritten.inc(),
    swept: rows => alarms.inc({ alarm: 'rows_recovered' }, rows),
    fleetAlarm: kind => alarms.inc({ alarm: kind }),
    connections: {
      onRefused: bound => refusedConnections.inc({ bound }),
      onEvicted: bound => evictedConnections.inc({ bound }),
    },
    watchConnections: open => gauge('turnpike_connections', 'Open connections of callers.', open),
    watchOpenRows: open => gauge('turnpike_open_rows', 'Requests whose usage row is being opened or is open.', open),
    watch: fleet => fleetMetrics(registry, fleet),
    watchRedis: isUp => redisMetrics(registry, isUp),
    streams: {
      delta(by) {
        streamsNow += by
      },
    },
    text: async () => (gather === undefined ? registry : sumOf(await gather())).metrics(),
    asJson: async () => (await registry.getMetricsAsJSON()) as unknown as readonly MetricJson[],
    contentType: registry.contentType,
  }
}

export function sumOf(all: readonly (readonly MetricJson[])[]): Registry {
  return Registry.aggregate(all as unknown as object[])
}
