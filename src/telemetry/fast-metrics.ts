// Counters and histograms for the hot path: counting is one addition to a plain field, and Prometheus' format is made only on a
// scrape. See docs/performance.md.

export type Labels = Readonly<Record<string, string>>
export type Series = { readonly labels: Labels; readonly value: number; readonly metricName?: string }

// What a Prometheus registry requires of a metric.
export type FastMetric = {
  readonly name: string
  readonly help: string
  readonly type: 'counter' | 'histogram'
  get(): Promise<Omit<FastMetric, 'get'> & { readonly values: readonly Series[] }>
}

export type Count = { readonly labels: Labels; total: number }
export type FastCounter = FastMetric & { count(labels: Labels): Count }

// Its counts are created once, one for each set of labels, and kept by the code that adds to them.
export function fastCounter(name: string, help: string): FastCounter {
  const counts: Count[] = []
  return fastMetric(
    { name, help, type: 'counter' },
    () => counts.map(({ labels, total }) => ({ labels, value: total })),
    {
      count(labels) {
        const count = { labels, total: 0 }
        counts.push(count)
        return count
      },
    },
  )
}

export type Spread = { observe(value: number): void }
export type FastHistogram = FastMetric & { spread(labels: Labels): Spread }

export function fastHistogram(name: string, help: string, bounds: readonly number[]): FastHistogram {
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

  return fastMetric({ name, help, type: 'histogram' }, () => spreads.flatMap(series), {
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

function fastMetric<More>(
  about: Omit<FastMetric, 'get'>,
  values: () => readonly Series[],
  more: More,
): FastMetric & More {
  return Object.freeze({ ...about, ...more, get: async () => ({ ...about, values: values() }) })
}
