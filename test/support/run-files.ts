// Runs test files, each in a process of its own, several at once, and reports how long each took, how much processor time it used
// and whether it passed.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'

export type Job = {
  readonly file: string
  // How much of the machine the file takes while it runs, out of `slots`.
  readonly slots: number
  readonly env?: Readonly<Record<string, string>>
  // Appended to the name of the file where it is reported.
  readonly note?: string
}

export type Result = {
  readonly job: Job
  readonly passed: boolean
  readonly seconds: number
  // Of the file and of the processes that it started and waited for: not of shared servers, nor of a browser's renderers, which
  // the browser starts. Zero where the system does not tell.
  readonly cpuSeconds: number
  readonly tests: number
  // What the file printed: every test with its outcome and time, and the errors.
  readonly output: string
}

// A test that takes longer has failed. Its file, which leftovers could keep alive forever, is ended a little later by the preload.
const TEST_MS_MAX = 300_000
const PRELOAD = new URL('file-preload.ts', import.meta.url).href
const NODE_ARGS = ['--import', PRELOAD, `--test-timeout=${TEST_MS_MAX}`, '--test-reporter=spec']

const running = new Set<ChildProcess>()
process.once('exit', () => {
  for (const child of running) child.kill('SIGTERM')
})
// Without a listener a signal ends the process and leaves the children running.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => process.exit(1))

// In the order in which they are given; a job that needs more slots than are free lets smaller ones pass.
export async function runJobs(
  jobs: readonly Job[],
  slots: number,
  onResult: (result: Result) => void,
): Promise<readonly Result[]> {
  const waiting = [...jobs]
  const results: Result[] = []
  let free = slots
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const fill = () => {
    for (;;) {
      const next = waiting.findIndex(job => job.slots <= free || free === slots)
      if (next < 0) break
      const [job] = waiting.splice(next, 1) as [Job]
      free -= job.slots
      runJob(job).then(result => {
        free += job.slots
        results.push(result)
        onResult(result)
        fill()
      }, reject)
    }
    if (results.length === jobs.length) resolve()
  }
  fill()
  await promise
  return results
}

async function runJob(job: Job): Promise<Result> {
  const started = performance.now()
  const child = spawn(process.execPath, [...NODE_ARGS, job.file], {
    env: { ...process.env, ...job.env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  running.add(child)
  const [stdout, stderr, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')])
  running.delete(child)
  return {
    job,
    passed: code === 0,
    seconds: (performance.now() - started) / 1000,
    cpuSeconds: Number(/^cpu seconds ([\d.]+)$/m.exec(stderr)?.[1] ?? 0),
    tests: Number(/^ℹ tests (\d+)$/m.exec(stdout)?.[1] ?? 0),
    output: stdout + stderr.replace(/^cpu seconds .*\n/m, ''),
  }
}
