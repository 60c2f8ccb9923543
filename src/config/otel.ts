// OpenTelemetry by its standard variables. Endpoints, headers, timeouts and certificates are read by the exporters themselves.
import { BadConfig } from './bad-config.ts'
import { type Environment, read } from './env.ts'

export const OTLP_PROTOCOLS = ['http/protobuf', 'http/json'] as const
export type OtlpProtocol = (typeof OTLP_PROTOCOLS)[number]

const SAMPLERS = ['always_on', 'always_off', 'traceidratio'] as const
export type Sampling = {
  readonly kind: (typeof SAMPLERS)[number]
  // Of the traces that are sampled.
  readonly ratio: number
  // A caller's trace is sampled if the caller samples it.
  readonly isParentBased: boolean
}

export type OtelTraces = {
  readonly protocol: OtlpProtocol
  readonly sampling: Sampling
  readonly delayMs: number
  readonly queueMax: number
  readonly batchMax: number
  readonly exportMsMax: number
}

export type OtelMetrics = {
  readonly protocol: OtlpProtocol
  readonly everyMs: number
  readonly exportMsMax: number
}

// Undefined: nothing is sent.
export type Otel = { readonly traces: OtelTraces | undefined; readonly metrics: OtelMetrics | undefined }

const HOUR_MS = 3_600_000
const QUEUE_MAX = 65_536

export function readOtel(env: Environment): Otel {
  const isDisabled = read(env, 'OTEL_SDK_DISABLED')?.toLowerCase() === 'true'
  const isOn = (signal: Signal) => !isDisabled && isExported(env, signal)
  return {
    traces: isOn('TRACES') ? tracesOf(env) : undefined,
    metrics: isOn('METRICS') ? metricsOf(env) : undefined,
  }
}

type Signal = 'TRACES' | 'METRICS'

// Without an endpoint and without a named exporter nothing is sent: the variables that name an endpoint turn it on.
function isExported(env: Environment, signal: Signal): boolean {
  const exporter = read(env, `OTEL_${signal}_EXPORTER`)
  if (exporter !== undefined && exporter !== 'otlp' && exporter !== 'none')
    throw new BadConfig(`OTEL_${signal}_EXPORTER must be otlp or none`)
  if (exporter === 'none') return false
  const endpoints = ['OTEL_EXPORTER_OTLP_ENDPOINT', `OTEL_EXPORTER_OTLP_${signal}_ENDPOINT`]
  const set = endpoints.filter(name => read(env, name) !== undefined)
  for (const name of set)
    if (!/^https?:$/.test(URL.parse(read(env, name) ?? '')?.protocol ?? ''))
      throw new BadConfig(`${name} must be an http:// or https:// URL`)
  return exporter === 'otlp' || set.length > 0
}

function tracesOf(env: Environment): OtelTraces {
  const queueMax = whole(env, 'OTEL_BSP_MAX_QUEUE_SIZE', 2048, QUEUE_MAX)
  return {
    protocol: protocolOf(env, 'TRACES'),
    sampling: samplingOf(env),
    delayMs: whole(env, 'OTEL_BSP_SCHEDULE_DELAY', 5000, HOUR_MS),
    queueMax,
    batchMax: Math.min(queueMax, whole(env, 'OTEL_BSP_MAX_EXPORT_BATCH_SIZE', 512, QUEUE_MAX)),
    exportMsMax: whole(env, 'OTEL_BSP_EXPORT_TIMEOUT', 30_000, HOUR_MS),
  }
}

function metricsOf(env: Environment): OtelMetrics {
  const everyMs = whole(env, 'OTEL_METRIC_EXPORT_INTERVAL', 60_000, HOUR_MS)
  return {
    protocol: protocolOf(env, 'METRICS'),
    everyMs,
    exportMsMax: Math.min(everyMs, whole(env, 'OTEL_METRIC_EXPORT_TIMEOUT', 30_000, HOUR_MS)),
  }
}

function protocolOf(env: Environment, signal: Signal): OtlpProtocol {
  const own = `OTEL_EXPORTER_OTLP_${signal}_PROTOCOL`
  const name = read(env, own) === undefined ? 'OTEL_EXPORTER_OTLP_PROTOCOL' : own
  const value = read(env, name) ?? 'http/protobuf'
  const protocol = OTLP_PROTOCOLS.find(known => known === value)
  if (protocol === undefined) throw new BadConfig(`${name} must be ${OTLP_PROTOCOLS.join(' or ')}`)
  return protocol
}

function samplingOf(env: Environment): Sampling {
  const name = read(env, 'OTEL_TRACES_SAMPLER') ?? 'parentbased_always_on'
  const kind = SAMPLERS.find(known => known === name.replace(/^parentbased_/, ''))
  if (kind === undefined) {
    const known = SAMPLERS.flatMap(each => [each, `parentbased_${each}`])
    throw new BadConfig(`OTEL_TRACES_SAMPLER must be one of ${known.join(', ')}`)
  }
  const ratio = Number(read(env, 'OTEL_TRACES_SAMPLER_ARG') ?? '1')
  if (kind === 'traceidratio' && !(ratio >= 0 && ratio <= 1))
    throw new BadConfig('OTEL_TRACES_SAMPLER_ARG must be a number from 0 to 1')
  return { kind, ratio, isParentBased: name.startsWith('parentbased_') }
}

function whole(env: Environment, name: string, otherwise: number, max: number): number {
  const value = read(env, name)
  if (value === undefined) return otherwise
  if (!/^\d{1,9}$/.test(value) || Number(value) < 1 || Number(value) > max)
    throw new BadConfig(`${name} must be a whole number, 1 to ${max}`)
  return Number(value)
}
