// Fast metrics are exposed in the same format as those of Prometheus' own client.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Counter, Histogram, type Metric, Registry } from '@prometheus-io/client'
import fc from 'fast-check'
import { fastCounter, fastHistogram } from '../../src/telemetry/fast-metrics.ts'

const BOUNDS = [0.1, 0.5, 1, 5]

test('counters and histograms are exposed as the library exposes its own', async () => {
  const observation = fc.record({
    who: fc.constantFrom('a', 'b'),
    value: fc.oneof(fc.constantFrom(0, 0.1, 0.5, 1, 5, 6), fc.double({ min: 0, max: 10, noNaN: true })),
  })
  await fc.assert(
    fc.asyncProperty(fc.array(observation, { maxLength: 40, size: 'max' }), async observations => {
      const theirs = new Registry()
      const registers = [theirs]
      const count = new Counter({ name: 'c_total', help: 'Counted.', labelNames: ['who'], registers })
      const spread = new Histogram({ name: 's', help: 'Spread.', labelNames: ['who'], buckets: BOUNDS, registers })
      const ours = new Registry()
      const counts = fastCounter('c_total', 'Counted.')
      const spreads = fastHistogram('s', 'Spread.', BOUNDS)
      for (const metric of [counts, spreads]) ours.registerMetric(metric as unknown as Metric)
      const cells = new Map<string, { total: number; observe(value: number): void }>()

      for (const { who, value } of observations) {
        count.inc({ who }, value)
        spread.observe({ who }, value)
        let cell = cells.get(who)
        if (cell === undefined) {
          cell = Object.assign(counts.count({ who }), spreads.spread({ who }))
          cells.set(who, cell)
        }
        cell.total += value
        cell.observe(value)
      }

      assert.equal(await ours.metrics(), await theirs.metrics())
    }),
    { numRuns: 100 },
  )
})
