// Reads large JSON answers in a separate thread, one at a time and account by account, so that no answer blocks the event loop. A
// thread that exits or hangs costs the one answer that it had, which is billed by its bytes.
import type { Worker } from 'node:worker_threads'
import { Failure } from '../domain/failure.ts'
import { startThread } from '../lib/thread.ts'
import type { LargeAnswerJob, LargeAnswerRead, LargeAnswerResult } from './large-answer-worker.ts'

export type LargeAnswers = {
  // `done` is called once, later: with the answer, or with the reason why there is none.
  read(job: LargeAnswerJob, accountId: string, done: (read: LargeAnswerRead | Failure) => void): void
  close(): Promise<void>
}

type Waiting = {
  readonly job: LargeAnswerJob
  readonly bytes: number
  readonly done: (read: LargeAnswerRead | Failure) => void
}

export function largeAnswers({ answerReadMsMax }: { readonly answerReadMsMax: number }): LargeAnswers {
  // Accounts in the order of their turns; one is listed only while it has a waiting answer.
  const turns = new Map<string, Waiting[]>()
  let worker: Worker | undefined
  let inHand: Waiting | undefined
  let alarm: NodeJS.Timeout | undefined
  let isClosed = false

  function handOut(): void {
    if (inHand !== undefined) return
    const next = nextInTurn()
    if (next === undefined) return
    inHand = next
    try {
      worker ??= start()
      alarm = setTimeout(dropWorker, answerReadMsMax, 'no end').unref()
      worker.postMessage(
        next.job,
        next.job.segments.map(({ buffer }) => buffer as ArrayBuffer),
      )
    } catch (error) {
      // No thread available, or its data cannot be transferred.
      dropWorker((error as Error).message)
    }
  }

  function nextInTurn(): Waiting | undefined {
    const [first] = turns
    if (first === undefined) return undefined
    const [accountId, line] = first
    const next = line.shift()
    turns.delete(accountId)
    if (line.length > 0) turns.set(accountId, line)
    return next
  }

  function start(): Worker {
    const started = startThread('./large-answer-worker', import.meta.url, undefined, { youngMb: 16, oldMb: 256 })
    started.on('message', (result: LargeAnswerResult) => {
      if (started === worker) finish('failure' in result ? failureOf(result.failure) : result)
    })
    started.on('error', () => {}) // an exit follows
    started.on('exit', () => {
      if (started === worker) dropWorker('the thread exited')
    })
    started.unref()
    return started
  }

  // Stuck or exited. The others continue with a new one.
  function dropWorker(why: string): void {
    void worker?.terminate()
    worker = undefined
    finish(new Failure('too_large', `the response could not be parsed: ${why}`, { producedBytes: inHand?.bytes ?? 0 }))
  }

  function finish(read: LargeAnswerRead | Failure): void {
    clearTimeout(alarm)
    const ended = inHand
    inHand = undefined
    // Whatever the result, the next one gets its turn.
    setImmediate(handOut)
    ended?.done(read)
  }

  return {
    read(job, accountId, done) {
      const bytes = job.segments.reduce((sum, { length }) => sum + length, 0)
      const line = turns.get(accountId)
      const waiting = { job, bytes, done }
      if (line === undefined) turns.set(accountId, [waiting])
      else line.push(waiting)
      if (!isClosed) handOut()
    },
    async close() {
      isClosed = true
      clearTimeout(alarm)
      const last = worker
      worker = undefined
      await last?.terminate()
    },
  }
}

function failureOf({ kind, message, status, words, retryAfter, tooLong }: FailureFields): Failure {
  return new Failure(kind, message, {
    tooLong,
    ...(status === undefined ? {} : { status }),
    ...(words === undefined ? {} : { words }),
    ...(retryAfter === undefined ? {} : { retryAfter }),
  })
}

type FailureFields = Extract<LargeAnswerResult, { failure: unknown }>['failure']
