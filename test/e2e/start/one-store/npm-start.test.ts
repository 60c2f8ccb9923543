// `npm start` as a supervisor runs it: a signal to npm, whose shell does not pass it on, drains the gateway.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { resolve } from 'node:path'
import { test } from 'node:test'
import { BOUNDS } from '../../../../src/config/limits.ts'
import { temporaryFolder } from '../../../support/folder.ts'
import { freePort } from '../../../support/free-port.ts'
import { inheritedEnv } from '../../../support/gateway-process.ts'
import { httpCall } from '../../../support/http-call.ts'
import { until } from '../../../support/until.ts'

const ROOT = resolve(import.meta.dirname, '../../../..')

for (const [name, isGroup] of [
  ['npm', false],
  ['npm and all that it started', true],
] as const) {
  test(`SIGTERM to ${name} drains the gateway, without hurry, and ends it`, async () => {
    await using folder = await temporaryFolder()
    const port = await freePort()
    const env = { TURNPIKE_DATA_DIR: folder.path, TURNPIKE_PORT: String(port), TURNPIKE_DETECT_PROVIDERS: '0' }
    const npm = spawn('npm', ['start'], { cwd: ROOT, env: { ...inheritedEnv(), ...env }, detached: true })
    const ended = once(npm, 'exit')
    let output = ''
    for (const pipe of [npm.stdout, npm.stderr]) pipe.on('data', text => (output += text))
    const closed = Promise.all([once(npm.stdout, 'close'), once(npm.stderr, 'close')])
    const timeOf = (msg: string) =>
      Date.parse(new RegExp(`"time":"([^"]+)"[^\n]*"msg":"${msg}"`).exec(output)?.[1] ?? '')
    try {
      await until('it listens', () => output.includes('"msg":"listening"') || npm.exitCode !== null, 120_000)
      // It looks after its shell.
      await new Promise(resolve => setTimeout(resolve, 1000))
      assert.equal((await httpCall(`http://127.0.0.1:${port}/ready`)).status, 200)

      process.kill(isGroup ? -(npm.pid ?? 0) : (npm.pid ?? 0), 'SIGTERM')
      await ended
      await until('it drains', () => output.includes('"msg":"draining"'))
      assert.equal((await httpCall(`http://127.0.0.1:${port}/ready`)).status, 503)
      // The gateway has them until its end.
      await closed
    } catch (error) {
      throw new Error(`npm start: ${output}`, { cause: error })
    } finally {
      endGroup(npm.pid)
    }

    const tookMs = timeOf('drained') - timeOf('draining')
    assert.ok(tookMs > 0.9 * BOUNDS.drainDelayMs, `drained in ${tookMs} ms`)
  })
}

// Whatever is left of it.
function endGroup(pid: number | undefined): void {
  try {
    if (pid !== undefined) process.kill(-pid, 'SIGKILL')
  } catch {
    // Nothing is.
  }
}
