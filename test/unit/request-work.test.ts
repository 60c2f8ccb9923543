// How long one request may keep the event loop busy, by the CPU time of each of its steps, in a separate process.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type { Took } from '../support/request-work.ts'

const CHECK_CPU_MS_MAX = 50
const TURN_CPU_MS_MAX = 100
// With other load the same instructions take longer: a multiple of the time of a bare JSON.parse is always allowed.
const CHECK_PER_BARE_MAX = 1.6
const TURN_PER_BARE_MAX = 3

// Coverage, which slows loops down tenfold, is inherited unless overridden.
const env = { ...process.env, NODE_V8_COVERAGE: '', NODE_OPTIONS: '' }
const script = fileURLToPath(new URL('../support/request-work.ts', import.meta.url))
const { stdout } = await promisify(execFile)(process.execPath, [script], { env })
const { many, large } = JSON.parse(stdout) as { readonly many: Took; readonly large: Took }

test('a body of 50,000 members is checked in under 50 ms, whatever they are', () => {
  const slow = Object.entries(many).filter(
    ([, { check = Number.NaN, bare = 0 }]) => !(check < Math.max(CHECK_CPU_MS_MAX, CHECK_PER_BARE_MAX * bare)),
  )

  assert.ok(Object.keys(many).length > 20)
  assert.deepEqual(Object.fromEntries(slow), {})
})

test('no step of a request of 16 MiB keeps the event loop busy for long', () => {
  const slow = Object.entries(large).filter(([, { bare = 0, ...steps }]) =>
    Object.values(steps).some(cpuMs => !(cpuMs < Math.max(TURN_CPU_MS_MAX, TURN_PER_BARE_MAX * bare))),
  )

  assert.ok(Object.keys(large).length > 10)
  assert.deepEqual(Object.fromEntries(slow), {})
})
