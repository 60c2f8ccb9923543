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
  const waiting = jobQueue()
  const thread = countingThread({ timeoutMs, idleMs, encoding }, { onReady, onAnswer, onLost })
  let inHand: Job | undefined // the job whose slice the thread has; it may have been answered already
  let handedAt = 0
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
        cap: setTimeout(() => giveUp(job), thread.isReady() ? capMs : timeoutMs),
      }
      waiting.add(job)
      handOut()
    })
  }

  // One slice is in progress at a time.
  function handOut(): void {
    if (inHand !== undefined) return
    const job = waiting.next()
    if (job === undefined) thread.rest()
    else if (thread.start()) {
      inHand = job
      handedAt = systemClock.monotonic()
      thread.send(takeSlice(job))
    } else for (const other of waiting.all()) giveUp(other)
  }

  // The thread has loaded: a text with its own shorter limit now gets that limit.
  function onReady(): void {
    handedAt = systemClock.monotonic()
    for (const job of waiting.all()) {
      if (job.capMs >= timeoutMs) continue
      clearTimeout(job.cap)
      job.cap = setTimeout(() => giveUp(job), job.capMs)
    }
  }

  function onAnswer(answer: number | 'failed'): void {
    const job = inHand
    inHand = undefined
    if (waiting.has(job)) {
      job.workMs += systemClock.monotonic() - handedAt
      if (answer === 'failed') giveUp(job)
      else {
        job.tokens += answer
        if (job.at >= job.texts.length) finish(job, { tokens: job.tokens, exact: true, workMs: job.workMs })
      }
    }
    handOut()
  }

  // The text that the thread was working on is not retried; the others continue with a new thread, unless this one could not even
  // load.
  function onLost(wasReady: boolean): void {
    const suspects = wasReady ? [inHand] : waiting.all()
    inHand = undefined
    for (const job of suspects) if (waiting.has(job)) giveUp(job)
    if (!waiting.isEmpty()) handOut()
  }

  function giveUp(job: Job): void {
    if (job === inHand) job.workMs += systemClock.monotonic() - handedAt
    finish(job, halfOfBytes(job.texts, job.workMs))
  }

  function finish(job: Job, result: TokenCount): void {
    clearTimeout(job.cap)
    waiting.delete(job)
    job.resolve(result)
  }

  async function close(): Promise<void> {
    isClosed = true
    for (const job of waiting.all()) giveUp(job)
    await thread.close()
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

// Owners take turns, and so do each owner's texts: after a turn, the owner goes to the end of the owners and the text to the end
// of the owner's texts.
function jobQueue() {
  const lines = new Map<string, Set<Job>>()

  return {
    add(job: Job): void {
      const line = lines.get(job.owner)
      if (line === undefined) lines.set(job.owner, new Set([job]))
      else line.add(job)
    },
    next(): Job | undefined {
      const line = lines.values().next().value
      const job = line?.values().next().value
      if (line === undefined || job === undefined) return undefined
      line.delete(job)
      line.add(job)
      lines.delete(job.owner)
      lines.set(job.owner, line)
      return job
    },
    has: (job: Job | undefined): job is Job => job !== undefined && lines.get(job.owner)?.has(job) === true,
    all: (): readonly Job[] => [...lines.values()].flatMap(line => [...line]),
    isEmpty: () => lines.size === 0,
    delete(job: Job): void {
      const line = lines.get(job.owner)
      line?.delete(job)
      if (line?.size === 0) lines.delete(job.owner)
    },
  }
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

type ThreadListener = {
  onReady(): void
  onAnswer(answer: number | 'failed'): void
  // It was stuck, has exited, or was idle for long.
  onLost(wasReady: boolean): void
}

// The thread that counts, started when needed and dropped when it was silent for too long.
function countingThread({ timeoutMs, idleMs, encoding }: Required<CounterOptions>, listener: ThreadListener) {
  let worker: Worker | undefined
  let isReady = false
  let alarm: NodeJS.Timeout | undefined

  function startWorker(): Worker {
    const started = startThread('./tokens-worker', import.meta.url, encoding, { youngMb: 16, oldMb: 512 })
    started.on('message', (answer: WorkerAnswer) => {
      if (started === worker) take(answer)
    })
    started.on('error', () => {}) // an exit follows
    started.on('exit', () => {
      if (started === worker) drop()
    })
    started.unref() // only now: listening for messages keeps the process alive again
    return started
  }

  function take(answer: WorkerAnswer): void {
    if (answer === 'ready') {
      isReady = true
      listener.onReady()
      setAlarm(timeoutMs)
    } else listener.onAnswer(answer)
  }

  function drop(): void {
    clearTimeout(alarm)
    void worker?.terminate()
    worker = undefined
    const wasReady = isReady
    isReady = false
    listener.onLost(wasReady)
  }

  // Fires when the worker was silent for too long, whether it should have answered or had nothing to do.
  function setAlarm(ms: number): void {
    clearTimeout(alarm)
    alarm = setTimeout(drop, ms).unref()
  }

  return {
    isReady: () => isReady,
    // False if no thread is available: an estimate is better than no answer.
    start(): boolean {
      try {
        worker ??= startWorker()
        return true
      } catch {
        return false
      }
    },
    send(slice: string): void {
      worker?.postMessage(slice)
      setAlarm(isReady ? timeoutMs : LOAD_MS_MAX)
    },
    rest: () => setAlarm(idleMs),
    async close(): Promise<void> {
      clearTimeout(alarm)
      const last = worker
      worker = undefined
      await last?.terminate()
    },
  }
}
