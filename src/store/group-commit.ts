// Group commit: one batch runs while the next gathers, so that under load many requests share one transaction and one
// fsync, and an idle gateway commits at once.
import { setImmediate as nextTurn } from 'node:timers/promises'

export type GroupCommit<Op, Result> = {
  submit(op: Op): Promise<Result>
  // Resolves when everything submitted so far has been answered.
  drained(): Promise<void>
}

type Waiting<Op, Result> = {
  readonly op: Op
  readonly resolve: (result: Result) => void
  readonly reject: (error: unknown) => void
}

export type BatchResult<Result> =
  | { readonly ok: true; readonly value: Result }
  | { readonly ok: false; readonly error: Error }

export function groupCommit<Op, Result>(
  commit: (ops: readonly Op[]) => Promise<readonly BatchResult<Result>[]>,
  bounds: { readonly batchMax: number; readonly waitingMax: number },
  full: () => Error,
): GroupCommit<Op, Result> {
  const waiting: Waiting<Op, Result>[] = []
  let running = false
  let lastSize = 0
  let idle: (() => void)[] = []

  async function run(): Promise<void> {
    running = true
    while (waiting.length > 0) {
      // All that the current turn of the event loop brings belongs to one batch. Where several shared the last one, what has arrived
      // by the next turn does too: a busy loop has not read it yet, and larger batches cost each request less.
      await nextTurn()
      if (lastSize > 1) await nextTurn()
      const batch = waiting.splice(0, bounds.batchMax)
      lastSize = batch.length
      try {
        const results = await commit(batch.map(entry => entry.op))
        for (let i = 0; i < batch.length; i++) answer(batch[i] as Waiting<Op, Result>, results[i])
      } catch (error) {
        for (const entry of batch) entry.reject(error)
      }
    }
    running = false
    for (const wake of idle) wake()
    idle = []
  }

  return {
    submit(op) {
      if (waiting.length >= bounds.waitingMax) return Promise.reject(full())
      return new Promise((resolve, reject) => {
        waiting.push({ op, resolve, reject })
        if (!running) void run()
      })
    },
    drained: () => (running ? new Promise(resolve => idle.push(resolve)) : Promise.resolve()),
  }
}

function answer<Op, Result>(entry: Waiting<Op, Result>, result: BatchResult<Result> | undefined): void {
  if (result === undefined) entry.reject(new Error('the batch gave no answer for this operation'))
  else if (result.ok) entry.resolve(result.value)
  else entry.reject(result.error)
}
