// The Prometheus metrics. Label values come from fixed lists alone, never from a request.
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { Counter, Gauge, Histogram, Registry } from '@prometheus-io/client'
import type { FailureKind } from '../domain/failure.ts'
import type { TargetsView } from '../domain/routing.ts'
import type { RequestReport } from './request-log.ts'
import { requestMetrics } from './request-metrics.ts'
import { type StoreMetricsNeeds, storeMetrics } from './store-metrics.ts'
import { targetMetrics } from './target-metrics.ts'

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
  // Routing events: a breaker, a credential.
  targetAlarm(kind: string): void
  webhookAttempt(isDelivered: boolean): void
  // From here on the upstreams are in the metrics too.
  watch(targets: () => TargetsView): void
  // From here on Redis is too. Returns a counter for the requests that this node limits alone.
  watchRedis(isUp: () => boolean): () => void
  // A connection was refused, or closed while idle, because of a bound.
  readonly connections: { onRefused(bound: string): void; onEvicted(bound: string): void }
  watchConnections(open: () => number): void
  watchOpenRows(open: () => number): void
  // From here on the store, balances and budgets are too.
  watchStore(needs: StoreMetricsNeeds): void
  streams: { delta(by: 1 | -1): void }
  text(): Promise<string>
  // In the form that is sent between processes.
  asJson(): Promise<readonly MetricJson[]>
  // All of this process, with those of the store.
  everything(): Promise<readonly MetricJson[]>
  readonly contentType: string
}

// Of every process on this port, to be shown as one.
export type GatherMetrics = () => Promise<readonly (readonly MetricJson[])[]>
export type MetricJson = { readonly type: string; readonly [field: string]: unknown }

export function gatewayMetrics(
  live: { readonly inFlight: () => number; readonly bodyBytes: () => number; readonly answerBytes: () => number },
  gather?: GatherMetrics,
): Metrics {
  const registry = new Registry()
  const requests = requestMetrics(registry)
  const commits = commitMetrics(registry)
  const counters = eventCounters(registry)
  processMetrics(registry)
  gauge(registry, 'turnpike_requests_in_flight', 'Requests being served.', live.inFlight)
  gauge(registry, 'turnpike_body_bytes', 'Request bodies in memory.', live.bodyBytes)
  gauge(registry, 'turnpike_answer_bytes', 'Memory reserved for large JSON responses.', live.answerBytes)
  let streamsNow = 0
  gauge(registry, 'turnpike_streams_in_flight', 'Streams being served.', () => streamsNow)
  let stored: ReturnType<typeof storeMetrics> | undefined

  return {
    ...requests,
    ...commits,
    ...counters,
    watchConnections: open => gauge(registry, 'turnpike_connections', 'Open client connections.', open),
    watchOpenRows: open =>
      gauge(registry, 'turnpike_open_rows', 'Requests whose usage row is being opened or is open.', open),
    watchStore(needs) {
      stored = storeMetrics(needs)
    },
    watch: targets => targetMetrics(registry, targets),
    watchRedis: isUp => redisMetrics(registry, isUp),
    streams: {
      delta(by) {
        streamsNow += by
      },
    },
    async text() {
      const [all, ofStore] = await Promise.all([gather?.(), stored?.registry()])
      // All workers would show the same of the store, so that there is nothing to sum.
      const own = await (all === undefined ? registry : sumOf(all)).metrics()
      return ofStore === undefined ? own : `${own}\n${await ofStore.metrics()}`
    },
    asJson: () => jsonOf(registry),
    async everything() {
      const ofStore = await stored?.registry()
      return [...(await jsonOf(registry)), ...(ofStore === undefined ? [] : await jsonOf(ofStore))]
    },
    contentType: registry.contentType,
  }
}

async function jsonOf(registry: Registry): Promise<readonly MetricJson[]> {
  return (await registry.getMetricsAsJSON()) as unknown as readonly MetricJson[]
}

function gauge(registry: Registry, name: string, help: string, now: () => number): void {
  new Gauge({
    name,
    help,
    registers: [registry],
    collect() {
      this.set(now())
    },
  })
}

function commitMetrics(registry: Registry): Pick<Metrics, 'commit'> {
  const registers = [registry]
  const batches = new Histogram({
    name: 'turnpike_commit_batch_size',
    help: 'Writes that shared one transaction.',
    buckets: [1, 2, 4, 8, 16, 32, 64, 128, 256],
    registers,
  })
  const commits = new Histogram({
    name: 'turnpike_commit_seconds',
    help: 'Duration of a transaction.',
    buckets: [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.05, 0.1, 1],
    registers,
  })
  return {
    commit(ops, ms) {
      batches.observe(ops)
      commits.observe(ms / 1000)
    },
  }
}

type EventCounters = Pick<
  Metrics,
  | 'parserError'
  | 'upstreamError'
  | 'clamped'
  | 'lateSettlement'
  | 'oddSettlement'
  | 'unwrittenRefusal'
  | 'swept'
  | 'targetAlarm'
  | 'webhookAttempt'
  | 'connections'
>

const ALARMS = [
  ...['usage_clamped', 'settlement_late', 'settlement_corrected', 'settlement_unknown', 'rows_recovered'],
  ...['breaker_opened', 'breaker_closed', 'credential_dead', 'credential_alive'],
]

// Rare enough that the library's own counters are fast enough.
function eventCounters(registry: Registry): EventCounters {
  const counter = <Label extends string>(name: string, help: string, ...labelNames: readonly Label[]) =>
    new Counter<Label>({ name, help, labelNames: [...labelNames], registers: [registry] })
  const upstream = counter('turnpike_upstream_errors_total', 'Failed upstream calls by kind.', 'kind')
  const rejected = counter('turnpike_rejected_http_total', 'Requests that the HTTP parser rejected.', 'code')
  const refusedConnections = counter(
    'turnpike_connections_refused_total',
    'Connections refused because of a limit: in total, or per client address.',
    'bound',
  )
  const evictedConnections = counter(
    'turnpike_connections_evicted_total',
    'Idle connections closed to make room for new ones.',
    'bound',
  )
  const unwritten = counter(
    'turnpike_refusal_rows_unwritten_total',
    'Rejected requests without a usage row, because their key exceeded the limit of such rows.',
  )
  const webhooks = counter('turnpike_webhook_attempts_total', 'Attempts to deliver an event to a webhook.', 'result')
  const alarms = counter(
    'turnpike_alarms_total',
    'Events that need attention: clamped usage, late settlements, recovered rows, circuit breakers, credentials.',
    'alarm',
  )
  // From the start: a counter that appears with its first event shows no increase.
  for (const alarm of ALARMS) alarms.inc({ alarm }, 0)
  for (const result of ['delivered', 'failed']) webhooks.inc({ result }, 0)
  for (const refused of [refusedConnections, evictedConnections])
    for (const bound of ['total', 'address']) refused.inc({ bound }, 0)
  return {
    parserError: code => rejected.inc({ code }),
    upstreamError: kind => upstream.inc({ kind }),
    clamped: () => alarms.inc({ alarm: 'usage_clamped' }),
    lateSettlement: () => alarms.inc({ alarm: 'settlement_late' }),
    oddSettlement: settled => alarms.inc({ alarm: `settlement_${settled}` }),
    unwrittenRefusal: () => unwritten.inc(),
    swept: rows => alarms.inc({ alarm: 'rows_recovered' }, rows),
    targetAlarm: kind => alarms.inc({ alarm: kind }),
    webhookAttempt: isDelivered => webhooks.inc({ result: isDelivered ? 'delivered' : 'failed' }),
    connections: {
      onRefused: bound => refusedConnections.inc({ bound }),
      onEvicted: bound => evictedConnections.inc({ bound }),
    },
  }
}

function processMetrics(registry: Registry): void {
  const loop = monitorEventLoopDelay({ resolution: 20 })
  loop.enable()
  new Gauge({
    name: 'turnpike_event_loop_delay_seconds',
    help: 'Event-loop delay since the last scrape.',
    labelNames: ['quantile'],
    aggregator: 'max',
    registers: [registry],
    collect() {
      for (const quantile of [50, 99, 100])
        this.set({ quantile: String(quantile / 100) }, loop.percentile(quantile) / 1e9)
      loop.reset()
    },
  })
  gauge(registry, 'turnpike_resident_bytes', 'Resident memory of the process.', () => process.memoryUsage.rss())
}

export function sumOf(all: readonly (readonly MetricJson[])[]): Registry {
  return Registry.aggregate(all as unknown as object[])
}

// The Redis metrics: whether it is available, and how many requests a node had to limit without it.
function redisMetrics(registry: Registry, isUp: () => boolean): () => void {
  const registers = [registry]
  new Gauge({
    name: 'turnpike_redis_up',
    help: '1 if Redis counts requests per minute, 0 if each node enforces its own share.',
    registers,
    collect() {
      this.set(isUp() ? 1 : 0)
    },
  })
  const local = new Counter({
    name: 'turnpike_limited_locally_total',
    help: 'Requests counted against the share of this node while Redis was unavailable.',
    registers,
  })
  return () => local.inc()
}
