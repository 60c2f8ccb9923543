// Runs test files in the order in which they are given, which the command line of the test runner would sort, shows what
// comes of them, and gives back those in which something failed.
import { run } from 'node:test'
import { spec } from 'node:test/reporters'

export type Running = {
  readonly atOnce: number
  readonly env?: NodeJS.ProcessEnv
  readonly coverage?: boolean
}

// Of a test; its file, which what it has left behind may keep alive for ever, is ended a little later.
const TEST_MS_MAX = 300_000
const DEADLINE = new URL('deadline.ts', import.meta.url).href

export async function runFiles(files: readonly string[], running: Running): Promise<readonly string[]> {
  const { atOnce, env, coverage = false } = running
  const failed = new Set<string>()
  const events = run({
    files: [...files],
    concurrency: atOnce,
    timeout: TEST_MS_MAX,
    execArgv: ['--import', DEADLINE],
    coverage,
    ...(coverage ? { coverageIncludeGlobs: ['src/**'] } : {}),
    ...(env === undefined ? {} : { env }),
  })
  events.on('test:fail', ({ file, name }) => failed.add(file ?? name))
  for await (const text of events.compose(new spec())) process.stdout.write(text)
  return [...failed]
}
