// No input of a caller or an operator may block the process: every pattern and every loop over untrusted text takes
// linear time.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Worker } from 'node:worker_threads'
import { check } from 'recheck'
import { readProvider } from '../src/catalog/document.ts'
import { openYaml } from '../src/config/yaml.ts'
import type { Said } from './support/linear-work.ts'
import { everyPattern } from './support/patterns.ts'

// On a busy machine a thread may wait for long; super-linear work takes hours.
const HANGS_AFTER_MS = 120_000
const RECHECK_MS_MAX = 3_000

test('every pattern and splitter takes under 100 ms on megabytes of its own characters', async () => {
  const worker = new Worker(new URL('support/linear-work.ts', import.meta.url))
  const slow: string[] = []
  let works = 0
  let current = { name: 'the start', cpuMsMax: 0 }
  const done = Promise.withResolvers<void>()
  const hung = () => done.reject(new Error(`hangs: ${current.name}`))
  let watch = setTimeout(hung, HANGS_AFTER_MS)
  worker.on('error', done.reject).on('exit', () => done.resolve())
  worker.on('message', (said: Said) => {
    clearTimeout(watch)
    watch = setTimeout(hung, HANGS_AFTER_MS)
    if (said.kind === 'begins') current = said
    else if (said.cpuMs > current.cpuMsMax) slow.push(`${current.name}: ${said.cpuMs.toFixed(0)} ms`)
    works += 1
  })

  try {
    await done.promise
  } finally {
    clearTimeout(watch)
    await worker.terminate()
  }

  assert.deepEqual(slow, [])
  assert.ok(works > 1000, `only ${works} messages`)
})

// Patterns that it cannot analyse in time, or at all (look-behinds), are timed by the test above.
test('an analyser finds no pattern that takes more than linear time', async () => {
  const vulnerable: string[] = []
  const known = await check('\\s*\\S+', 'g', { checker: 'automaton' })

  for (const { where, source, flags } of everyPattern()) {
    const { status } = await check(source, flags, { checker: 'automaton', timeout: RECHECK_MS_MAX })
    if (status === 'vulnerable') vulnerable.push(`${where} /${source}/${flags}`)
  }

  assert.equal(known.status, 'vulnerable')
  assert.deepEqual(vulnerable, [])
})

test('a configuration with four times the keys takes about four times as long, and aliases are counted', () => {
  const keys = (count: number) => Array.from({ length: count }, (_, i) => `k${i}: ${i}`).join('\n')
  const value = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, i) => [`k${i}`, i]))
  const options = { env: {}, schema: {}, isDecimal: () => false }
  openYaml('warm', keys(5_000), options)

  const [few, many] = [5_000, 20_000].map(count => cpuMs(() => openYaml('f', keys(count), options))) as [number, number]
  const ofValue = cpuMs(() => assert.throws(() => readProvider(value(60_000)), { name: 'InvalidDocument' }))

  assert.ok(many / few < 10, `${few} ms, then ${many} ms`)
  assert.ok(ofValue < 2_000, `${ofValue} ms`)
  assert.throws(() => openYaml('f', `a: &a x\nb: [${'*a,'.repeat(100_000)}]`, options), /more than 1000 aliases/)
})

function cpuMs(work: () => unknown): number {
  const before = process.threadCpuUsage()
  work()
  const { user, system } = process.threadCpuUsage(before)
  return (user + system) / 1000
}
