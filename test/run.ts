// The test command: style, types and dead code first, then every test. `npm test -- FILE…` runs only those test files.
import { spawnSync } from 'node:child_process'
import { globSync } from 'node:fs'

const only = process.argv.slice(2)
const bin = (name: string) => `node_modules/.bin/${name}`

if (only.length === 0) {
  step('style', bin('biome'), ['check', '--error-on-warnings', '.'])
  step('types', bin('tsc'), [])
  step('dead code', bin('knip'), [])
}
const files = only.length > 0 ? only : globSync('test/**/*.test.ts').sort()
const coverage = only.length > 0 ? [] : ['--experimental-test-coverage', '--test-coverage-include=src/**']
step('tests', process.execPath, ['--test', '--test-concurrency=3', '--test-timeout=300000', ...coverage, ...files])

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
