// A gateway that npm starts: a signal to npm, whose shell does not pass it on, drains it. One that a script leaves in the
// background outlives that shell.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { BOUNDS } from '../../../../src/config/limits.ts'
import { temporaryFolder } from '../../../support/folder.ts'
import { freePort } from '../../../support/free-port.ts'
import { inheritedEnv } from '../../../support/gateway-process.ts'
import { httpCall } from '../../../support/http-call.ts'
import { until } from '../../../support/until.ts'

const ROOT = resolve(import.meta.dirname, '../../../..')

for (const [name, isGroup] of [
  ['npm just after a reload', false],
  ['npm and all that it started', true],
] as const) {
  test(`SIGTERM to ${name} drains the gateway, without hurry, and ends it`, async () => {
    await using folder = await temporaryFolder()
    const port = await freePort()
    const npm = spawn('npm', ['start'], { cwd: ROOT, env: envOf(folder.path, port), detached: true })
    const ended = once(npm, 'exit')
    let output = ''
    for (const pipe of [npm.stdout, npm.stderr]) pipe.on('data', text => (output += text))
    const closed = Promise.all([once(npm.stdout, 'close'), once(npm.stderr, 'close')])
    const timeOf = (msg: string) =>
      Date.parse(new RegExp(`"time":"([^"]+)"[^\n]*"msg":"${msg}"`).exec(output)?.[1] ?? '')
    try {
      await until('it listens', () => output.includes('"msg":"listening"') || npm.exitCode !== null, 120_000)
      // It looks after its shell.
      await sleep(1000)
      assert.equal((await httpCall(`http://127.0.0.1:${port}/ready`)).status, 200)

      if (!isGroup) process.kill(Number(/"pid":(\d+)[^\n]*"msg":"listening"/.exec(output)?.[1]), 'SIGHUP')
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

test('a gateway that a script leaves in the background continues after the end of its shell', async () => {
  await using folder = await temporaryFolder()
  const port = await freePort()
  const log = join(folder.path, 'gateway.log')
  const serve = `'${process.execPath}' '${join(ROOT, 'bin/turnpike.js')}' serve`
  const up = `nohup ${serve} >gateway.log 2>&1 & until [ -e done ]; do sleep 0.1; done`
  await writeFile(join(folder.path, 'package.json'), JSON.stringify({ scripts: { up } }))
  const npm = spawn('npm', ['run', 'up'], {
    cwd: folder.path,
    env: envOf(folder.path, port),
    detached: true,
    stdio: 'ignore',
  })
  const ended = once(npm, 'exit')
  const said = () => readFile(log, 'utf8').catch(() => '')
  try {
    await until('it listens', async () => (await said()).includes('"msg":"listening"'), 120_000)
    await writeFile(join(folder.path, 'done'), '')
    assert.deepEqual(await ended, [0, null])
    // A gateway that looks after its shell would notice.
    await sleep(2000)
    const { status } = await httpCall(`http://127.0.0.1:${port}/ready`)

    assert.equal(status, 200, await said())
  } finally {
    endGroup(npm.pid)
  }
})

function envOf(data: string, port: number) {
  const own = { TURNPIKE_DATA_DIR: data, TURNPIKE_PORT: String(port), TURNPIKE_DETECT_PROVIDERS: '0' }
  return { ...inheritedEnv(), ...own }
}

// Whatever is left of it.
function endGroup(pid: number | undefined): void {
  try {
    if (pid !== undefined) process.kill(-pid, 'SIGKILL')
  } catch {
    // Nothing is.
  }
}
