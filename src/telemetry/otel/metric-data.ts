// The metrics of /metrics in OpenTelemetry's form, under the same names.
import { type HrTime, ValueType } from '@opentelemetry/api'
import {
  AggregationTemporality,
  type DataPoint,
  DataPointType,
  type Histogram,
  type MetricData,
} from '@opentelemetry/sdk-metrics'
import type { Labels, Series } from '../fast-metrics.ts'
import type { MetricJson } from '../metrics.ts'

type Span = { readonly startedAt: number; readonly now: number }

export function metricData(metrics: readonly MetricJson[], span: Span): MetricData[] {
  const times = { startTime: hrTime(span.startedAt), endTime: hrTime(span.now) }
  return metrics.flatMap((metric): MetricData[] => {
    const values = metric.values as readonly Series[]
    if (values.length === 0) return []
    const name = String(metric.name)
    const about = {
      descriptor: { name, description: String(metric.help), unit: unitOf(name), valueType: ValueType.DOUBLE },
      aggregationTemporality: AggregationTemporality.CUMULATIVE,
    }
    const points = () => values.map(({ labels, value }) => ({ ...times, attributes: { ...labels }, value }))
    switch (metric.type) {
      case 'counter':
        return [{ ...about, dataPointType: DataPointType.SUM, isMonotonic: true, dataPoints: points() }]
      case 'histogram':
        return [{ ...about, dataPointType: DataPointType.HISTOGRAM, dataPoints: histograms(values, times) }]
      default:
        return [{ ...about, dataPointType: DataPointType.GAUGE, dataPoints: points() }]
    }
  })
}

type Collected = { labels: Labels; readonly bounds: number[]; readonly below: number[]; sum: number; count: number }

// Prometheus counts the values below each bound, OpenTelemetry those between two.
function histograms(
  values: readonly Series[],
  times: Pick<DataPoint<Histogram>, 'startTime' | 'endTime'>,
): DataPoint<Histogram>[] {
  const all = new Map<string, Collected>()
  for (const { labels: given, value, metricName = '' } of values) {
    const { le, ...labels } = given
    const key = JSON.stringify(labels)
    let each = all.get(key)
    if (each === undefined) {
      each = { labels, bounds: [], below: [], sum: 0, count: 0 }
      all.set(key, each)
    }
    if (metricName.endsWith('_sum')) each.sum = value
    else if (metricName.endsWith('_count')) each.count = value
    else if (le !== undefined && le !== '+Inf') {
      each.bounds.push(Number(le))
      each.below.push(value)
    }
  }
  return [...all.values()].map(({ labels, bounds, below, sum, count }) => ({
    ...times,
    attributes: { ...labels },
    value: {
      buckets: { boundaries: bounds, counts: [...below, count].map((n, i) => n - (i === 0 ? 0 : (below[i - 1] ?? 0))) },
      sum,
      count,
    },
  }))
}

function unitOf(name: string): string {
  const match = /_(seconds|bytes|ratio)(?:_total)?$/.exec(name)
  return match?.[1] === 'seconds' ? 's' : match?.[1] === 'bytes' ? 'By' : match?.[1] === 'ratio' ? '1' : ''
}

function hrTime(ms: number): HrTime {
  return [Math.floor(ms / 1000), (ms % 1000) * 1_000_000]
}
