// One answer made of several calls: a request for embeddings is divided by what its provider takes in one call. A few run at
// once, the order of the inputs is kept, usage is summed, and the first failure ends them all. If the provider rejects one call,
// what the others have embedded is billed: otherwise one bad input would make all the others free.
import type { Batch } from '../domain/embedding-batches.ts'
import { Failure } from '../domain/failure.ts'
import type { AnswerListener, UpstreamStream, Whole } from '../domain/handoff.ts'
import { readUsage } from '../domain/metering.ts'
import type { AnswerMemory, AnswerReservation } from './response-memory.ts'

type Part = Pick<Whole, 'embeddings' | 'usage'>

export function inBatches(
  batches: readonly Batch[],
  concurrent: number,
  call: (batch: Batch, listener: AnswerListener) => UpstreamStream,
  listener: AnswerListener,
): UpstreamStream {
  const parts: (Part | undefined)[] = batches.map(() => undefined)
  const streams: UpstreamStream[] = []
  const running = new Set<number>()
  let next = 0
  let done = 0
  let over = false
  let rejection: Failure | undefined

  function start(number: number): void {
    running.add(number)
    streams[number] = call(batches[number] as Batch, {
      chunks: () => undefined,
      whole(whole) {
        parts[number] = whole
      },
      end(failure) {
        running.delete(number)
        if (over) return
        if (failure?.kind === 'rejected') rejection ??= failure
        else if (failure !== undefined && rejection === undefined) return fail(failure)
        else if (failure === undefined) done += 1
        if (rejection !== undefined) return running.size === 0 ? reject(rejection) : undefined
        if (done < batches.length) return startMore()
        over = true
        listener.whole(wholeOf(parts as readonly Part[]))
        listener.end(undefined)
      },
    })
  }

  function startMore(): void {
    while (!over && next < batches.length && running.size < concurrent) start(next++)
  }

  function fail(failure: Failure): void {
    over = true
    stop()
    listener.end(failure)
  }

  // Calls that run are paid for in any case, and are read to their end.
  function reject(failure: Failure): void {
    const embedded = parts.filter(part => part !== undefined)
    if (embedded.length === 0) {
      fail(failure)
      return
    }
    over = true
    release()
    listener.whole(usageAlone(embedded))
    listener.end(partlyServed(failure))
  }

  function stop(): void {
    for (const number of running) streams[number]?.abort()
    release()
  }

  function release(): void {
    for (const stream of streams) stream.reservation?.()?.release()
  }

  startMore()
  return {
    pause() {
      for (const number of running) streams[number]?.pause()
    },
    resume() {
      for (const number of running) streams[number]?.resume()
    },
    abort() {
      over = true
      stop()
    },
    reservation: () => ({ release }),
    upstreamId: () => streams[0]?.upstreamId() ?? null,
  }
}

// What is billed of an answer that is not given.
export function usageAlone(embedded: readonly Part[]): Whole {
  return { choices: [], embeddings: [], usage: sumOf(embedded), fingerprint: undefined }
}

// A rejection of one call, after others were answered.
export function partlyServed({ status, words, tooLong, message }: Failure): Failure {
  const more = { ...(status === undefined ? {} : { status }), ...(words === undefined ? {} : { words }) }
  return new Failure('rejected', message, { ...more, tooLong, producedBytes: 1 })
}

// The parts have the entries of one list.
export function wholeOf(parts: readonly Part[]): Whole {
  const pieces: Uint8Array[] = []
  for (const { embeddings = [] } of parts) pieces.push(pieces.length === 0 ? OPEN : COMMA, ...embeddings)
  return { choices: [], embeddings: [...pieces, CLOSE], usage: sumOf(parts), fingerprint: undefined }
}

const OPEN = Buffer.from('[')
const COMMA = Buffer.from(',')
const CLOSE = Buffer.from(']')

// A sum is a count only if every call reported one.
function sumOf(parts: readonly Part[]): object | undefined {
  let tokens = 0
  for (const { usage } of parts) {
    const { prompt } = readUsage(usage)
    if (prompt === undefined || prompt === 0) return undefined
    tokens += prompt
  }
  return { prompt_tokens: tokens, completion_tokens: 0 }
}

// Memory for all parts as one answer: parts that are complete must not keep the others from being read.
export function sharedMemory(memory: AnswerMemory): Pick<AnswerMemory, 'open'> & { complete(): void } {
  let whole: AnswerReservation | undefined
  let parts = 0
  const waiting = new Set<() => void>()

  function resumeAll(): void {
    const all = [...waiting]
    waiting.clear()
    for (const resume of all) resume()
  }

  return {
    open(accountId, resume) {
      whole ??= memory.open(accountId, resumeAll)
      const shared = whole
      parts += 1
      let isReleased = false
      return {
        take(bytes) {
          if (shared.take(bytes)) return true
          waiting.add(resume)
          return false
        },
        isWaiting: () => waiting.has(resume),
        // Other parts may follow.
        complete: () => undefined,
        release() {
          waiting.delete(resume)
          if (isReleased) return
          isReleased = true
          parts -= 1
          if (parts > 0) return
          shared.release()
          if (whole === shared) whole = undefined
        },
      }
    },
    // All parts have arrived.
    complete: () => whole?.complete(),
  }
}
