// Metrics of all workers: the primary asks every worker and passes the answers to the one that was scraped. The counts of a
// worker that ended are kept, since a sum that falls would look like a restart.
import type { Worker } from 'node:cluster'
import { type MetricJson, sumOf } from '../../telemetry/metrics.ts'
import { type FromWorker, tell } from './worker.ts'

type Metrics = readonly MetricJson[]
type MetricGatherer = { join(worker: Worker): void; leave(worker: Worker): void }

const ANSWER_WAIT_MS = 2000

export function metricGatherer(): MetricGatherer {
  // With the last answer of each.
  const workers = new Map<Worker, Metrics>()
  const waiting = new Map<number, (metrics: Metrics) => void>()
  // Of ended workers: summed up, and those not yet added. Nothing is missing from it at any time.
  let departed: readonly Metrics[] = []
  let summing = Promise.resolve()
  let asked = 0

  async function gather(id: number, asker: Worker): Promise<void> {
    await Promise.all([...workers.keys()].map(measure))
    tell(asker, { turnpike: 'gathered', id, all: [...workers.values(), ...departed] })
  }

  // The last answer is used for a worker that does not answer in time.
  async function measure(worker: Worker): Promise<void> {
    const id = ++asked
    const { promise, resolve } = Promise.withResolvers<Metrics | undefined>()
    waiting.set(id, resolve)
    const timer = setTimeout(resolve, ANSWER_WAIT_MS, undefined)
    tell(worker, { turnpike: 'measure', id })
    const metrics = await promise
    clearTimeout(timer)
    waiting.delete(id)
    if (metrics !== undefined && workers.has(worker)) workers.set(worker, metrics)
  }

  // One after the other: two that end together must both see the result of the first.
  async function sumUp(): Promise<void> {
    const some = departed
    const sum = (await sumOf(some).getMetricsAsJSON()) as unknown as Metrics
    departed = [sum, ...departed.slice(some.length)]
  }

  return {
    join(worker) {
      workers.set(worker, [])
      worker.on('message', (message: FromWorker) => {
        if (message.turnpike === 'gather') void gather(message.id, worker)
        else if (message.turnpike === 'metrics') waiting.get(message.id)?.(message.metrics)
      })
    },
    leave(worker) {
      const counted = workers.get(worker)?.filter(({ type }) => type !== 'gauge') ?? []
      workers.delete(worker)
      departed = [...departed, counted]
      summing = summing.then(sumUp)
    },
  }
}
