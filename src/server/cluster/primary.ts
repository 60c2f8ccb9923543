// The primary of several workers on one port: owns the sockets, restarts workers that exit, forwards signals, and ends when all
// have drained. It serves nothing itself. See docs/decisions/cluster.md.
import cluster, { type Worker } from 'node:cluster'
import { fstatSync } from 'node:fs'
import type { Readable } from 'node:stream'
import type { Config } from '../../config/config.ts'
import { systemClock } from '../../lib/clock.ts'
import { lineWriter } from '../../telemetry/line-writer.ts'
import { type Log, logTo, openLog } from '../../telemetry/log.ts'
import { onHangUp } from '../drain.ts'
import { metricGatherer } from './metrics.ts'
import { type FromWorker, tell } from './worker.ts'

// Returns the exit code.
export async function superviseWorkers(config: Config): Promise<number> {
  const { log, adopt } = openOutput(config)
  const metrics = metricGatherer()
  // Whether each has started serving.
  const alive = new Map<Worker, { isReady: boolean }>()
  const over = Promise.withResolvers<number>()
  const backOff = backOffOf(config)
  let signals = 0
  let worst = 0

  // Resolves when it serves, or has ended permanently.
  function start(isFirstStart: boolean, failures: number): Promise<void> {
    const worker = forked()
    if (worker instanceof Error) return startAgain(isFirstStart, failures + 1, { err: worker.message })
    const startedAt = systemClock.monotonic()
    const ready = Promise.withResolvers<void>()
    const state = { isReady: false }
    alive.set(worker, state)
    metrics.join(worker)
    adopt(worker)
    keepUntaken(worker, () => alive.size > 0)
    watch(worker, {
      onReady() {
        state.isReady = true
        ready.resolve()
      },
      onExit(exit, hasRun) {
        alive.delete(worker)
        metrics.leave(worker)
        if (signals > 0) {
          ready.resolve()
          return drained(exit)
        }
        // What prevents the first worker from starting, or is wrong with the configuration, applies to every other too. One that
        // never ran has reported neither.
        const isHopeless = hasRun && isFirstStart && !state.isReady && (exit.code === 2 || !isServing)
        if (isHopeless) {
          ready.resolve()
          return giveUp(exit.code ?? 1)
        }
        const inARow = systemClock.monotonic() - startedAt >= backOff.steadyAfterMs ? 1 : failures + 1
        const facts = { worker: worker.id, ...exit }
        ready.resolve(startAgain(isFirstStart && !state.isReady, inARow, facts))
      },
    })
    return ready.promise
  }

  function startAgain(isFirstStart: boolean, inARow: number, facts: object): Promise<void> {
    const restartMs = backOff.waitMs(inARow)
    log.error({ ...facts, restartMs }, 'worker exited; restarting')
    return new Promise(resolve => {
      setTimeout(() => resolve(signals === 0 ? start(isFirstStart, inARow) : undefined), restartMs)
    })
  }

  function drained(exit: Exit): void {
    if (!isClean(exit)) worst = Math.max(worst, exit.code ?? 1)
    if (alive.size === 0) over.resolve(worst)
  }

  function giveUp(code: number): void {
    worst = code
    end('SIGTERM')
  }

  // By message: a service manager that signals all processes would otherwise count twice, and twice hurries.
  function end(signal: NodeJS.Signals): void {
    signals += 1
    if (alive.size === 0) over.resolve(worst)
    for (const [worker, { isReady }] of alive) {
      tell(worker, { turnpike: 'drain', signal, count: signals })
      // It may not handle messages yet, and has no request yet.
      if (!isReady) worker.process.kill(signal)
    }
  }

  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => end(signal))
  onHangUp(() => {
    // One that is still starting reads the file anyway.
    for (const [worker, { isReady }] of alive) if (isReady) worker.process.kill('SIGHUP')
  })

  // The first one alone: it migrates the schema, does the first-start work, and reports problems once.
  let isServing = false
  await start(true, 0)
  isServing = alive.size > 0
  if (isServing && config.redisUrl === undefined) {
    log.warn({ workers: config.workers }, 'REDIS_URL is not set; each worker counts requests per minute on its own')
  }
  for (let i = 1; i < config.workers && signals === 0; i++) void start(true, 0)
  const code = await over.promise
  log.info({ code }, 'all workers exited')
  await log.end()
  return code
}

function forked(): Worker | Error {
  try {
    return cluster.fork()
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error))
  }
}

type Exit = { readonly code: number | null; readonly signal: string | null; readonly err: string | undefined }

type WorkerListener = { onReady(): void; onExit(exit: Exit, hasRun: boolean): void }

// Reports when a worker serves, and when its process has ended.
function watch(worker: Worker, { onReady, onExit }: WorkerListener): void {
  let err: string | undefined
  worker.on('message', (message: FromWorker) => {
    if (message.turnpike === 'ready') onReady()
  })
  // A machine that is out of processes or memory reports it here; `close` follows.
  worker.on('error', error => {
    err = error.message
  })
  worker.process.once('close', (code, signal) => onExit({ code, signal, err }, worker.process.pid !== undefined))
}

// A worker that does not handle signals yet is ended by them.
function isClean({ code, signal }: Exit): boolean {
  return code === 0 || signal === 'SIGTERM' || signal === 'SIGINT' || signal === 'SIGHUP'
}

function backOffOf({ bounds }: Config) {
  const { workerRestartMsMin, workerRestartMsMax, workerSteadyAfterMs } = bounds
  return {
    steadyAfterMs: workerSteadyAfterMs,
    waitMs: (inARow: number) => Math.min(workerRestartMsMax, workerRestartMsMin * 2 ** (inARow - 1)),
  }
}

// Pipes split concurrent writes of several processes anywhere, so workers write to the primary, which writes whole lines. An
// inherited file with a shared offset takes every write whole; a terminal's lines are for people.
function openOutput({ logLevel }: Config): { readonly log: Log; adopt(worker: Worker): void } {
  const { stdout } = process
  if (stdout.isTTY || fstatSync(stdout.fd).isFile()) {
    return { log: openLog(logLevel, stdout, systemClock), adopt: () => undefined }
  }
  cluster.setupPrimary({ stdio: ['ignore', 'pipe', 'inherit', 'ipc'] })
  const lines = lineWriter(stdout.fd)
  return {
    log: logTo(lines, logLevel, systemClock),
    adopt(worker) {
      // Undefined in one that never ran.
      if (worker.process.stdout) passLines(worker.process.stdout, lines.write)
    },
  }
}

// A connection that the primary has sent to a worker belongs to the worker once it confirms. node:cluster forgets those that a
// dying worker had not confirmed, and their callers would wait forever: they are given to another worker.
// The message that node:cluster sends with a connection, and the worker's confirmation.
type NewConnection = { readonly act?: unknown; readonly seq?: unknown }
type Answer = { readonly ack?: unknown }
type Handle = { close(): void }

function keepUntaken(worker: Worker, hasOthers: () => boolean): void {
  const { process: child } = worker
  const { send } = child
  const untaken = new Map<unknown, Handle>()
  child.send = sendNoted as typeof send
  child.on('internalMessage', (answer: Answer) => untaken.delete(answer.ack))
  // By then all its messages have been read.
  child.once('close', giveOn)

  function sendNoted(message: NewConnection, handle: Handle | undefined, ...rest: unknown[]): unknown {
    if (message.act === 'newconn' && handle) untaken.set(message.seq, handle)
    return Reflect.apply(send, child, [message, handle, ...rest])
  }

  function giveOn(): void {
    for (const [ack, handle] of untaken) {
      if (hasOthers()) child.emit('internalMessage', { cmd: 'NODE_CLUSTER', ack, accepted: false })
      else handle.close()
    }
    untaken.clear()
  }
}

// Passes on a stream's output in whole lines; an unfinished line at its end is completed.
const NEWLINE = 0x0a
// Longer than any of our lines; a longer line is passed on in pieces instead of being buffered.
const LINE_BYTES_MAX = 1024 * 1024

// Several lines may be written at once; only their ends are located.
export function passLines(from: Readable, write: (lines: Buffer) => void): void {
  let rest: Buffer[] = []
  let restBytes = 0

  from.on('data', (chunk: Buffer) => {
    let begin = 0
    const end = chunk.lastIndexOf(NEWLINE) + 1
    // Written separately: if it is too long for the writer, no other line is lost with it.
    if (restBytes > 0 && end > 0) {
      begin = chunk.indexOf(NEWLINE) + 1
      write(Buffer.concat([...rest, chunk.subarray(0, begin)]))
      forget()
    }
    if (begin < end) write(chunk.subarray(begin, end))
    if (end < chunk.length) rest.push(chunk.subarray(end))
    restBytes += chunk.length - end
    if (restBytes > LINE_BYTES_MAX) finish()
  })
  from.on('end', finish)

  function finish(): void {
    if (restBytes > 0) write(Buffer.concat([...rest, Buffer.from('\n')]))
    forget()
  }

  function forget(): void {
    rest = []
    restBytes = 0
  }
}
