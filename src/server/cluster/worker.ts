// The worker's side of TURNPIKE_WORKERS: reports when it serves, receives the signal to drain, and gets the metrics of all
// through the primary.
import cluster, { type Worker } from 'node:cluster'
import type { MetricJson } from '../../telemetry/metrics.ts'

export type FromWorker =
  | { readonly turnpike: 'ready' }
  | { readonly turnpike: 'gather'; readonly id: number }
  | { readonly turnpike: 'metrics'; readonly id: number; readonly metrics: readonly MetricJson[] }
export type FromParent =
  // How many termination signals the primary has received; the second one hurries.
  | { readonly turnpike: 'drain'; readonly signal: string; readonly count: number }
  | { readonly turnpike: 'measure'; readonly id: number }
  | { readonly turnpike: 'gathered'; readonly id: number; readonly all: readonly (readonly MetricJson[])[] }

export type WorkerTree = {
  // Distinguishes the workers of one machine.
  readonly number: number
  // The port is already bound by the primary, and requests arrive as soon as this worker listens too.
  readonly isLater: boolean
  ready(): void
  // Rejects when the primary has gone, which then never answers.
  readonly orphaned: Promise<never>
  onDrain(listener: (signal: string, count: number) => void): void
  answerWith(metrics: () => Promise<readonly MetricJson[]>): void
  // The metrics of all current and past workers.
  gather(): Promise<readonly (readonly MetricJson[])[]>
}

const GATHER_WAIT_MS = 4000

// Undefined in a process that is not a worker.
export function joinTree(): WorkerTree | undefined {
  const { worker } = cluster
  if (worker === undefined) return undefined
  // Otherwise node:cluster ends this process at once, with all streams, when the primary has died. The command's own handler
  // drains instead.
  worker.exitedAfterDisconnect = true
  const drains: ((signal: string, count: number) => void)[] = []
  const gathering = new Map<number, (all: readonly (readonly MetricJson[])[]) => void>()
  let measure: () => Promise<readonly MetricJson[]> = async () => []
  let asked = 0

  function tellParent(message: FromWorker): void {
    if (process.connected) process.send?.(message, undefined, undefined, ignore)
  }

  const orphaned = new Promise<never>((_, reject) => {
    process.once('disconnect', () => reject(new Error('the parent process exited')))
  })
  orphaned.catch(ignore)

  process.on('message', (message: FromParent) => {
    if (message.turnpike === 'drain') for (const listener of drains) listener(message.signal, message.count)
    else if (message.turnpike === 'gathered') gathering.get(message.id)?.(message.all)
    else if (message.turnpike === 'measure')
      void measure().then(metrics => tellParent({ turnpike: 'metrics', id: message.id, metrics }))
  })

  return {
    number: worker.id,
    isLater: worker.id > 1,
    ready: () => tellParent({ turnpike: 'ready' }),
    orphaned,
    onDrain: listener => void drains.push(listener),
    answerWith(metrics) {
      measure = metrics
    },
    async gather() {
      const id = ++asked
      const { promise, resolve } = Promise.withResolvers<readonly (readonly MetricJson[])[]>()
      gathering.set(id, resolve)
      // If the primary is gone: our own metrics are better than none.
      const timer = setTimeout(async () => resolve([await measure()]), GATHER_WAIT_MS)
      tellParent({ turnpike: 'gather', id })
      try {
        return await promise
      } finally {
        clearTimeout(timer)
        gathering.delete(id)
      }
    },
  }
}

export function tell(worker: Worker, message: FromParent): void {
  if (worker.isConnected()) worker.send(message, undefined, ignore)
}

// A process that has ended meanwhile is noticed elsewhere.
function ignore(): void {}
