// Counters and histograms for the hot path: counting is one addition to a plain field, and Prometheus' format is made only on a
// scrape. See docs/performance.md.

export type Labels = Readonly<Record<string, string>>
export type Series = { readonly labels: Labels; readonly value: number; readonly metricName?: string }

// What a Prometheus registry requires of a metric.
export type TallyMetric = {
  readonly name: string
  readonly help: string
  readonly type: 'counter' | 'histogram'
  get(): Promise<Omit<TallyMetric, 'get'> & { readonly values: readonly Series[] }>
}

export type Count = { readonly labels: Labels; total: number }
export type CounterTally = TallyMetric & { count(labels: Labels): Count }

// Its counts are created once, one for each set of labels, and kept by the code that adds to them.
export function counterTally(name: string, help: string): CounterTally {
  const counts: Count[] = []
  return tally({ name, help, type: 'counter' }, () => counts.map(({ labels, total }) => ({ labels, value: total })), {
    count(labels) {
      const count = { labels, total: 0 }
      counts.push(count)
      return count
    },
  })
}

export type Spread = { observe(value: number): void }
export type HistogramTally = TallyMetric & { spread(labels: Labels): Spread }

export function histogramTally(name: string, help: string, bounds: readonly number[]): HistogramTally {
  const spreads: { labels: Labels; perBound: number[]; sum: number; count: number }[] = []

  function series({ labels, perBound, sum, count }: (typeof spreads)[number]): Series[] {
    let below = 0
    const buckets = bounds.map((bound, i) => {
      below += perBound[i] ?? 0
      return { labels: { le: String(bound), ...labels }, value: below, metricName: `${name}_bucket` }
    })
    return [
      ...buckets,
      { labels: { le: '+Inf', ...labels }, value: count, metricName: `${name}_bucket` },
      { labels, value: sum, metricName: `${name}_sum` },
      { labels, value: count, metricName: `${name}_count` },
    ]
  }

  return tally({ name, help, type: 'histogram' }, () => spreads.flatMap(series), {
    spread(labels) {
      const it = { labels, perBound: bounds.map(() => 0), sum: 0, count: 0 }
      spreads.push(it)
      return {
        observe(value) {
          it.sum += value
          it.count += 1
          for (let i = 0; i < bounds.length; i++) {
            if (value > (bounds[i] as number)) continue
            it.perBound[i] = (it.perBound[i] as number) + 1
            return
          }
        },
      }
    },
  })
}

function tally<More>(about: Omit<TallyMetric, 'get'>, values: () => readonly Series[], more: More): TallyMetric & More {
  return Object.freeze({ ...about, ...more, get: async () => ({ ...about, values: values() }) })
}
