// The test command: style, types and dead code first, then every test. `npm test -- FILE…` runs only those test files.
import { spawnSync } from 'node:child_process'
import { globSync } from 'node:fs'

const only = process.argv.slice(2)
const bin = (name: string) => `node_modules/.bin/${name}`

if (only.length > 0) {
  tests('tests', only, [])
} else {
  step('style', bin('biome'), ['check', '--error-on-warnings', '.'])
  step('types', bin('tsc'), [])
  step('dead code', bin('knip'), [])
  // Coverage slows everything in a process down, so it is taken where the code runs in the test's own process. The life
  // of a request is tested against the real process, without it.
  const coverage = ['--experimental-test-coverage', '--test-coverage-include=src/**']
  tests('unit and contract tests, with coverage', globSync('test/{unit,contract}/*.test.ts').sort(), coverage)
  tests('life, chaos and client tests', globSync('test/{*,{life,chaos,clients}/*}.test.ts').sort(), [])
}

function tests(what: string, files: readonly string[], flags: readonly string[]): void {
  step(what, process.execPath, ['--test', '--test-concurrency=3', '--test-timeout=300000', ...flags, ...files])
}

function step(what: string, command: string, args: readonly string[]): void {
  const started = performance.now()
  const { status } = spawnSync(command, args, { stdio: 'inherit' })
  const seconds = ((performance.now() - started) / 1000).toFixed(1)
  if (status !== 0) {
    process.stderr.write(`\n${what}: failed after ${seconds} s\n`)
    process.exit(1)
  }
  process.stdout.write(`${what}: ok, ${seconds} s\n`)
}
