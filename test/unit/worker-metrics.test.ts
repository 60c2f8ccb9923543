// The metrics of several processes as one: the counts of a worker stay when it ends.
import assert from 'node:assert/strict'
import type { Worker } from 'node:cluster'
import { EventEmitter } from 'node:events'
import { test } from 'node:test'
import { metricGatherer } from '../../src/server/cluster/metrics.ts'
import type { FromParent } from '../../src/server/cluster/worker.ts'
import type { MetricJson } from '../../src/telemetry/metrics.ts'
import { until } from '../support/until.ts'

test('when workers end together the counters of each stay in the sum, at once and permanently', async () => {
  const gatherer = metricGatherer()
  const asker = workerThatCounted(1)
  const others = [10, 100, 1000].map(workerThatCounted)
  for (const { worker } of [asker, ...others]) gatherer.join(worker)
  assert.equal(await asker.gather(), 1111)

  for (const { worker } of others) gatherer.leave(worker)

  assert.equal(await asker.gather(), 1111)
  assert.equal(await asker.gather(), 1111)
})

// As the primary sees one: it answers when it is measured, and may request the sum of all.
function workerThatCounted(count: number) {
  const sums: number[] = []
  const worker = Object.assign(new EventEmitter(), {
    isConnected: () => true,
    send(message: FromParent) {
      if (message.turnpike === 'measure')
        setImmediate(() => worker.emit('message', { turnpike: 'metrics', id: message.id, metrics: counter(count) }))
      if (message.turnpike === 'gathered') sums.push(message.all.flat().reduce((sum, each) => sum + totalOf(each), 0))
    },
  })
  return {
    worker: worker as unknown as Worker,
    async gather(): Promise<number | undefined> {
      const before = sums.length
      worker.emit('message', { turnpike: 'gather', id: before })
      await until('the sum has arrived', () => sums.length > before)
      return sums.at(-1)
    },
  }
}

function counter(value: number): readonly MetricJson[] {
  const metric: MetricJson = {
    name: 'requests_total',
    help: 'h',
    type: 'counter',
    aggregator: 'sum',
    values: [{ value, labels: {} }],
  }
  return [metric]
}

function totalOf(metric: MetricJson): number {
  const { values } = metric as unknown as { readonly values: readonly { readonly value: number }[] }
  return values.reduce((sum, { value }) => sum + value, 0)
}
