// Counts the tokens of a text where no upstream reported them: in a separate thread, under a time limit, and owner by owner, so
// that one tenant's texts, however many and large, do not delay the others'. One encoding per counter, o200k by default.

import type { Worker } from 'node:worker_threads'
import { systemClock } from './clock.ts'
import { startThread } from './thread.ts'
import type { Encoding, WorkerAnswer } from './tokens-worker.ts'

export type TokenCount = {
  readonly tokens: number
  // False if the text was not counted (too large, too slow, no thread) and the number is half its UTF-8 bytes.
  readonly exact: boolean
  // How long the thread worked on it.
  readonly workMs: number
}

export type TokenCounter = {
  // Several texts are counted as if joined by newlines, without joining them, so that nothing large is copied. Never rejects, and
  // resolves within the time limit. A text's own limit does not include the loading time of the thread, which is bounded by the
  // counter's.
  count(text: string | readonly string[], owner: string, capMs?: number): Promise<TokenCount>
  close(): Promise<void>
}

type Job = {
  readonly texts: readonly string[]
  readonly owner: string
  readonly capMs: number
  cap: NodeJS.Timeout
  readonly resolve: (count: TokenCount) => void
  at: number // the text in which the next slice begins,
  next: number // and the position in it
  tokens: number
  workMs: number
}

type CounterOptions = {
  readonly timeoutMs: number
  readonly idleMs?: number
  readonly encoding?: Encoding
}

// The thread starts with the first text and ends after idleMs without one. It never keeps the process alive; a pending count
// does, until its limit.
export function tokenCounter({ timeoutMs, idleMs = IDLE_MS, encoding = 'o200k' }: CounterOptions): TokenCounter {
  const lines = new Map<string, Set<Job>>() // owners in the order of their turns, and each owner's texts too
  let worker: Worker | undefined
  let isReady = false
  let inHand: Job | undefined // the job whose slice the worker has; it may have been answered already
  let handedAt = 0
  let alarm: NodeJS.Timeout | undefined
  let isClosed = false

  function count(text: string | readonly string[], owner: string, capMs = timeoutMs): Promise<TokenCount> {
    const texts = typeof text === 'string' ? [text] : text
    const bytes = bytesOf(texts)
    if (bytes === 0) return Promise.resolve({ tokens: 0, exact: true, workMs: 0 })
    if (isClosed || bytes > TEXTS_BYTES_MAX) return Promise.resolve(halfOfBytes(texts, 0))
    return new Promise(resolve => {
      const job: Job = {
        texts,
        owner,
        resolve,
        at: 0,
        next: 0,
        tokens: 0,
        workMs: 0,
        capMs,
        cap: setTimeout(() => giveUp(job), isReady ? capMs : timeoutMs),
      }
      const line = lines.get(owner)
      if (line === undefined) lines.set(owner, new Set([job]))
      else line.add(job)
      handOut()
    })
  }

  // One slice is in progress at a time.
  function handOut(): void {
    if (inHand !== undefined) return
    const job = nextInTurn()
    if (job === undefined) {
      setAlarm(idleMs)
      return
    }

    worker ??= tryStart()
    if (worker === undefined) {
      for (const waiting of waitingJobs()) giveUp(waiting)
      return
    }
    inHand = job
    handedAt = systemClock.monotonic()
    worker.postMessage(takeSlice(job))
    setAlarm(isReady ? timeoutMs : LOAD_MS_MAX)
  }

  // After a turn, the owner goes to the end of the owners and the text to the end of the owner's texts.
  function nextInTurn(): Job | undefined {
    const line = lines.values().next().value
    const job = line?.values().next().value
    if (line === undefined || job === undefined) return undefined
    line.delete(job)
    line.add(job)
    lines.delete(job.owner)
    lines.set(job.owner, line)
    return job
  }

  function isWaiting(job: Job | undefined): job is Job {
    return job !== undefined && lines.get(job.owner)?.has(job) === true
  }

  function waitingJobs(): readonly Job[] {
    return [...lines.values()].flatMap(line => [...line])
  }

  function tryStart(): Worker | undefined {
    try {
      return start()
    } catch {
      return undefined // no thread available: an estimate is better than no answer
    }
  }

  function start(): Worker {
    const started = startThread('./tokens-worker', import.meta.url, encoding, { youngMb: 16, oldMb: 512 })
    started.on('message', (answer: WorkerAnswer) => {
      if (started === worker) takeAnswer(answer)
    })
    started.on('error', () => {}) // an exit follows
    started.on('exit', () => {
      if (started === worker) dropWorker()
    })
    started.unref() // only now: listening for messages keeps the process alive again
    return started
  }

  function takeAnswer(answer: WorkerAnswer): void {
    if (answer === 'ready') {
      isReady = true
      handedAt = systemClock.monotonic()
      for (const job of waitingJobs()) capAgain(job)
      setAlarm(timeoutMs)
      return
    }
    const job = inHand
    inHand = undefined
    if (isWaiting(job)) {
      job.workMs += systemClock.monotonic() - handedAt
      if (answer === 'failed') giveUp(job)
      else {
        job.tokens += answer
        if (job.at >= job.texts.length) finish(job, { tokens: job.tokens, exact: true, workMs: job.workMs })
      }
    }
    handOut()
  }

  // The worker is stuck, has exited, or was idle for long. The text it was working on is not retried; the others continue with a
  // new worker, unless this one could not even load.
  function dropWorker(): void {
    clearTimeout(alarm)
    void worker?.terminate()
    worker = undefined
    const suspects = isReady ? [inHand] : waitingJobs()
    isReady = false
    inHand = undefined
    for (const job of suspects) if (isWaiting(job)) giveUp(job)
    if (lines.size > 0) handOut()
  }

  // Fires when the worker was silent for too long, whether it should have answered or had nothing to do.
  function setAlarm(ms: number): void {
    clearTimeout(alarm)
    alarm = setTimeout(dropWorker, ms).unref()
  }

  // The thread has loaded: a text with its own shorter limit now gets that limit.
  function capAgain(job: Job): void {
    if (job.capMs >= timeoutMs) return
    clearTimeout(job.cap)
    job.cap = setTimeout(() => giveUp(job), job.capMs)
  }

  function giveUp(job: Job): void {
    if (job === inHand) job.workMs += systemClock.monotonic() - handedAt
    finish(job, halfOfBytes(job.texts, job.workMs))
  }

  function finish(job: Job, result: TokenCount): void {
    clearTimeout(job.cap)
    const line = lines.get(job.owner)
    line?.delete(job)
    if (line?.size === 0) lines.delete(job.owner)
    job.resolve(result)
  }

  async function close(): Promise<void> {
    isClosed = true
    clearTimeout(alarm)
    for (const job of waitingJobs()) giveUp(job)
    const last = worker
    worker = undefined
    await last?.terminate()
  }

  return Object.freeze({ count, close })
}

const IDLE_MS = 5 * 60_000
const LOAD_MS_MAX = 30_000
const TEXTS_BYTES_MAX = 8 * 1024 * 1024
// About 2 ms of prose, 80 ms in the worst case.
const SLICE_UNITS_MAX = 16 * 1024
const SLICE_LOOK_UNITS = 2048

function bytesOf(texts: readonly string[]): number {
  return texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0)
}

function halfOfBytes(texts: readonly string[], workMs: number): TokenCount {
  return { tokens: Math.ceil(bytesOf(texts) / 2), exact: false, workMs }
}

// Short texts share a slice, a long one takes several.
function takeSlice(job: Job): string {
  let slice = ''
  for (let text = job.texts[job.at]; text !== undefined; text = job.texts[job.at]) {
    if (slice !== '' && slice.length + text.length > SLICE_UNITS_MAX) break
    const end = endOfSlice(text, job.next)
    slice += text.slice(job.next, end)
    job.next = end
    if (end < text.length) break
    job.at += 1
    job.next = 0
    if (job.at < job.texts.length) slice += '\n'
  }
  return slice
}

// No token of the encoding spans the position before a space that follows a word, so a cut there changes no count. A text without
// such a space is cut anywhere except inside a surrogate pair.
function endOfSlice(text: string, start: number): number {
  const end = start + SLICE_UNITS_MAX
  if (end >= text.length) return text.length
  for (let i = end; i > end - SLICE_LOOK_UNITS; i--) {
    if (text.charCodeAt(i) === 0x20 && /\S/.test(text[i - 1] ?? '')) return i
  }
  const unit = text.charCodeAt(end)
  return unit >= 0xdc00 && unit <= 0xdfff ? end - 1 : end
}
