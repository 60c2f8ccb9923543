// Group commit: one batch runs while the next one collects, so that under load many requests share one transaction and one fsync,
// and an idle gateway commits at once. Some operations are worthless after a while: those are then reported as failed, whatever
// happens to their batch.
import { setImmediate as nextTurn } from 'node:timers/promises'
import { systemClock } from '../../lib/clock.ts'

export type GroupCommit<Op, Result> = {
  submit(op: Op): Promise<Result>
  // Resolves when everything submitted so far has been answered.
  drained(): Promise<void>
}

// Which operations expire, after how long, with which error, and what to do if one turns out to have been committed.
export type Patience<Op, Result> = {
  readonly waitMsMax: number
  isBounded(op: Op): boolean
  error(): Error
  onLate(op: Op, result: Result): void
}

type Waiting<Op, Result> = {
  readonly op: Op
  readonly since: number
  isGivenUp: boolean
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
  patience?: Patience<Op, Result>,
): GroupCommit<Op, Result> {
  let waiting: Waiting<Op, Result>[] = []
  let batch: readonly Waiting<Op, Result>[] = []
  let running = false
  let lastSize = 0
  let idle: (() => void)[] = []
  let watch: NodeJS.Timeout | undefined

  async function run(): Promise<void> {
    running = true
    while (waiting.length > 0) {
      // Everything from the current turn of the event loop belongs to one batch. Where several shared the last one, what has
      // arrived by the next turn does too: a busy loop has not read it yet, and larger batches cost each request less.
      await nextTurn()
      if (lastSize > 1) await nextTurn()
      batch = waiting.splice(0, bounds.batchMax)
      lastSize = batch.length
      if (lastSize === 0) continue
      try {
        const results = await commit(batch.map(entry => entry.op))
        giveUpLate()
        for (let i = 0; i < batch.length; i++) answer(batch[i] as Waiting<Op, Result>, results[i])
      } catch (error) {
        for (const entry of batch) entry.reject(error)
      }
      batch = []
    }
    running = false
    for (const wake of idle) wake()
    idle = []
  }

  function answer(entry: Waiting<Op, Result>, result: BatchResult<Result> | undefined): void {
    if (entry.isGivenUp) {
      if (result?.ok) patience?.onLate(entry.op, result.value)
    } else if (result === undefined) entry.reject(new Error('the batch returned no result for this operation'))
    else if (result.ok) entry.resolve(result.value)
    else entry.reject(result.error)
  }

  // Of the running batch, and of those after it, which are then not started. Also when a batch is answered: a process that was
  // paused reads the answer before its timers fire.
  function giveUpLate(): void {
    if (patience === undefined) return
    const latest = systemClock.monotonic() - patience.waitMsMax
    // The oldest are first, in both.
    if ((batch[0]?.since ?? Infinity) > latest && (waiting[0]?.since ?? Infinity) > latest) return
    const late = [...batch, ...waiting].filter(entry => entry.since <= latest && patience.isBounded(entry.op))
    for (const entry of late) {
      entry.isGivenUp = true
      entry.reject(patience.error())
    }
    if (late.length > 0) waiting = waiting.filter(entry => !entry.isGivenUp)
  }

  // One timer for all, while there is anything to wait for.
  function keepWatch(everyMs: number): void {
    watch ??= setTimeout(() => {
      watch = undefined
      giveUpLate()
      if (running) keepWatch(everyMs)
    }, everyMs).unref()
  }

  return {
    submit(op) {
      if (waiting.length >= bounds.waitingMax) return Promise.reject(full())
      return new Promise((resolve, reject) => {
        waiting.push({ op, since: systemClock.monotonic(), isGivenUp: false, resolve, reject })
        if (!running) void run()
        if (patience !== undefined && watch === undefined) keepWatch(patience.waitMsMax / WATCHES_PER_WAIT)
      })
    },
    drained: () => (running ? new Promise(resolve => idle.push(resolve)) : Promise.resolve()),
  }
}

const WATCHES_PER_WAIT = 4
