// How long a person waits: from `npm start` to the first answered chat, on a new and on an existing data directory.

import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import { freePort, plainEnv } from './processes.ts'
import { median, type Startup } from './table.ts'
import { ROOT } from './turnpike.ts'

const START_MS_MAX = 120_000
const LATER_STARTS = 3

export async function measureStartup(folder: string): Promise<Startup> {
  // The first start prints its key only where no file says otherwise.
  if (existsSync(join(ROOT, 'turnpike.yaml'))) {
    throw new Error('this checkout has a turnpike.yaml: move it elsewhere to measure the start')
  }
  const first = await timeStart(folder, undefined)
  const later: number[] = []
  for (let i = 0; i < LATER_STARTS; i++) later.push((await timeStart(folder, first.key)).ms)
  return { firstMs: first.ms, secondMs: median(later) }
}

async function timeStart(folder: string, knownKey: string | undefined): Promise<{ ms: number; key: string }> {
  const port = await freePort()
  const startedAt = performance.now()
  // A separate process group, so that npm, its shell and the server can be stopped together.
  const child = spawn('npm', ['start'], {
    cwd: ROOT,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      ...plainEnv(),
      npm_config_update_notifier: 'false',
      TURNPIKE_PORT: String(port),
      TURNPIKE_DATA_DIR: join(folder, 'start-data'),
      TURNPIKE_DETECT_PROVIDERS: '0',
    },
  })
  let output = ''
  let key = knownKey
  for (const pipe of [child.stdout, child.stderr]) {
    pipe.on('data', text => {
      output += text
      key ??= /svc_live_[0-9A-Za-z]{43}/.exec(output)?.[0]
    })
  }
  try {
    while (key === undefined || !(await chat(port, key))) {
      if (child.exitCode !== null || performance.now() - startedAt > START_MS_MAX) {
        throw new Error(
          `npm start gave no answer to a chat (key ${key === undefined ? 'not printed' : 'known'}):\n${output.slice(-2000)}`,
        )
      }
      await sleep(5)
    }
    return { ms: performance.now() - startedAt, key }
  } finally {
    await stopGroup(child.pid!)
  }
}

async function chat(port: number, key: string): Promise<boolean> {
  const body = JSON.stringify({ model: 'demo/echo', messages: [{ role: 'user', content: 'Hello' }] })
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
  try {
    const answer = await fetch(`http://127.0.0.1:${port}/v1/chat/completions`, { method: 'POST', headers, body })
    await answer.text()
    return answer.status === 200
  } catch {
    return false // not listening yet
  }
}

async function stopGroup(pid: number): Promise<void> {
  for (let i = 0; i < 600; i++) {
    try {
      // The second signal hurries the drain; past 20 s nothing polite is left.
      process.kill(-pid, i > 400 ? 'SIGKILL' : i % 10 === 0 && i < 20 ? 'SIGTERM' : 0)
    } catch {
      return // no process of the group is left
    }
    await sleep(50)
  }
  throw new Error(`the processes of group ${pid} do not end`)
}
