// A gateway started at a terminal ends when the terminal closes, after finishing its requests in flight. If it is to
// continue, output that can no longer be written neither stops it nor keeps it busy. Elsewhere SIGHUP reloads the file.
import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { openSync, readFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { stringify } from 'yaml'
import { temporaryFolder } from '../../../support/folder.ts'
import { freePort } from '../../../support/free-port.ts'
import { ADMIN_TOKEN, ENCRYPTION_KEY, standardConfig, startGateway } from '../../../support/gateway.ts'
import { runProcess } from '../../../support/gateway-process.ts'
import { httpCall } from '../../../support/http-call.ts'
import { freshSchema, hasPostgres } from '../../../support/postgres.ts'
import { openStream } from '../../../support/sse.ts'
import { until } from '../../../support/until.ts'
import { startUpstream, type Upstream } from '../../../support/upstream.ts'

const ENTRY = join(import.meta.dirname, '../../../../bin/turnpike.js')
const HELLO = { model: 'test/m1', messages: [{ role: 'user', content: 'Hello' }] }

// `script` runs the command in its own terminal, which closes when `script` is killed.
async function startOnTerminal(upstream: Upstream, prefix: string, env: Readonly<Record<string, string>> = {}) {
  const folder = await temporaryFolder()
  const port = await freePort()
  await writeFile(join(folder.path, 'turnpike.yaml'), stringify(standardConfig(upstream.url)))
  const own = {
    PATH: process.env.PATH ?? '',
    TERM: 'xterm',
    TURNPIKE_PORT: String(port),
    TURNPIKE_ADMIN_TOKEN: ADMIN_TOKEN,
    TURNPIKE_DATA_DIR: join(folder.path, 'data'),
    TURNPIKE_DETECT_PROVIDERS: '0',
    ...env,
  }
  const command = `${prefix} '${process.execPath}' --max-semi-space-size=12 '${ENTRY}' serve`
  const terminal = spawn('script', ['-qefc', command, '/dev/null'], {
    cwd: folder.path,
    env: own,
    stdio: ['pipe', 'pipe', 'ignore'],
  })
  let shown = ''
  terminal.stdout.on('data', text => {
    shown += text
  })
  const pids = () => [...visible(shown).matchAll(/pid=(\d+)/g)].map(match => Number(match[1]))
  const url = `http://127.0.0.1:${port}`
  const workers = Number(env.TURNPIKE_WORKERS ?? 1)
  await until('it listens', () => pids().length === workers, 30_000)
  const admin = async (path: string, body: object) => {
    const headers = { authorization: `Bearer ${ADMIN_TOKEN}`, 'idempotency-key': crypto.randomUUID() }
    return (await httpCall(`${url}/admin/v1${path}`, { method: 'POST', body, headers })).body
  }
  const { id: account_id } = await admin('/accounts', { name: 'a' })
  await admin(`/accounts/${account_id}/credits`, { amount: '10' })
  const { secret } = await admin('/keys', { name: 'k', account_id })
  return {
    url,
    pids: pids(),
    key: String(secret),
    close: () => void terminal.kill('SIGKILL'),
    audit: () => runProcess(['audit'], folder.path, own),
    async [Symbol.asyncDispose]() {
      terminal.kill('SIGKILL')
      for (const pid of pids()) if (isAlive(pid)) process.kill(pid, 'SIGKILL')
      await until('all have ended', () => !pids().some(isAlive))
      await folder[Symbol.asyncDispose]()
    },
  }
}

for (const workers of hasPostgres() ? [1, 2] : [1]) {
  const name = workers === 1 ? 'the terminal closes' : 'the terminal of two workers closes'
  test(`${name}: the open stream finishes, and all processes end`, async () => {
    await using upstream = await startUpstream()
    await using schema = workers === 1 ? undefined : await freshSchema()
    const shared = {
      DATABASE_URL: schema?.url ?? '',
      TURNPIKE_ALLOW_UNSAFE_DATABASE: '1',
      TURNPIKE_ENCRYPTION_KEY: ENCRYPTION_KEY,
      TURNPIKE_WORKERS: '2',
    }
    await using it = await startOnTerminal(upstream, 'exec', schema === undefined ? {} : shared)
    upstream.script({ words: Array.from({ length: 20 }, (_, i) => ` ${i}`), chunkDelayMs: 100 })
    const stream = await openStream(`${it.url}/v1/chat/completions`, {
      body: { ...HELLO, stream: true },
      key: it.key,
      headers: {},
    })
    await until('the stream has begun', () => upstream.journal.length === 1)
    it.close()
    const { done, chunks } = await stream.rest()
    await until('all have ended', () => !it.pids.some(isAlive), 20_000)
    const { code, stdout } = await it.audit()

    assert.ok(done && chunks.length >= 20, `${chunks.length} chunks`)
    assert.equal(code, 0, stdout)
  })
}

// The first process at the terminal is then not the gateway, and is the only one that the kernel signals.
test('the terminal closes: a gateway started by an older Node ends too', async () => {
  await using upstream = await startUpstream()
  const old = "Object.defineProperty(process,'versions',{value:{...process.versions,node:'20.0.0'}})"
  const pretence = `--import=data:text/javascript,${encodeURIComponent(`if(!process.connected)${old}`)}`
  await using it = await startOnTerminal(upstream, 'exec', { NODE_OPTIONS: pretence })
  const [pid] = it.pids as [number]
  const starter = Number(/^PPid:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1])
  const startedBy = readFileSync(`/proc/${starter}/cmdline`, 'utf8')
  it.close()
  await until('both have ended', () => !isAlive(pid) && !isAlive(starter), 20_000)

  assert.ok(startedBy.includes('turnpike.js'), startedBy)
})

test('a gateway that ignores SIGHUP continues without output and stops on SIGTERM', async () => {
  await using upstream = await startUpstream()
  // In its own session it does not get the terminal's SIGHUP, although it writes there.
  await using it = await startOnTerminal(upstream, 'setsid -w')
  const [pid] = it.pids as [number]
  it.close()
  await sleep(200)
  const chat = () => httpCall(`${it.url}/v1/chat/completions`, { body: HELLO, headers: caller(it.key) })
  const statuses = (await Promise.all(Array.from({ length: 20 }, chat))).map(({ status }) => status)
  // Its log lines are written a little later.
  await sleep(500)
  const before = cpuTicks(pid)
  await sleep(1000)
  const ticks = cpuTicks(pid) - before
  const isAliveStill = isAlive(pid)
  process.kill(pid, 'SIGHUP')
  await until('it has ended', () => !isAlive(pid), 20_000)

  assert.deepEqual([new Set(statuses), isAliveStill], [new Set([200]), true])
  assert.ok(ticks < 50, `${ticks} ticks of 10 ms within a second`)
})

for (const [what, path] of [
  ['a full disk', '/dev/full'],
  ['a pipe without a reader', undefined],
] as const) {
  test(`output into ${what} is lost, and requests are still served`, async () => {
    await using folder = await temporaryFolder()
    await using upstream = await startUpstream()
    const port = await freePort()
    await writeFile(join(folder.path, 'turnpike.yaml'), stringify(standardConfig(upstream.url)))
    const out = path === undefined ? 'pipe' : openSync(path, 'w')
    const child: ChildProcess = spawn(process.execPath, [ENTRY, 'serve'], {
      cwd: folder.path,
      env: { PATH: process.env.PATH, TURNPIKE_PORT: String(port), TURNPIKE_ADMIN_TOKEN: ADMIN_TOKEN },
      stdio: ['ignore', out, out],
    })
    const exited = new Promise(resolve => child.once('exit', resolve))
    child.stdout?.destroy()
    child.stderr?.destroy()
    const health = async () => (await httpCall(`http://127.0.0.1:${port}/health`).catch(() => undefined))?.status
    await until('it serves', async () => (await health()) === 200, 30_000)
    for (let i = 0; i < 50; i++) await httpCall(`http://127.0.0.1:${port}/v1/models`)
    await sleep(300)
    const before = cpuTicks(child.pid ?? 0)
    await sleep(1000)
    const ticks = cpuTicks(child.pid ?? 0) - before
    child.kill('SIGINT')

    assert.equal(await exited, 0)
    assert.ok(ticks < 50, `${ticks} ticks of 10 ms within a second`)
  })
}

test('without a configuration file SIGHUP is not an error', async () => {
  await using gateway = await startGateway()
  gateway.signal('SIGHUP')
  await until('it is logged', () => gateway.lines.some(line => line.includes('SIGHUP ignored')))

  assert.deepEqual(
    gateway.logs.filter(({ level }) => String(level) === 'error'),
    [],
  )
  assert.equal((await gateway.get('/health')).status, 200)
})

function caller(key: string): Record<string, string> {
  return { authorization: `Bearer ${key}` }
}

function isAlive(pid: number): boolean {
  try {
    // A process that has ended but has not been reaped.
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'))
  } catch {
    return false
  }
}

// User and system time, in hundredths of a second.
function cpuTicks(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? []
  return Number(fields[11]) + Number(fields[12])
}

function visible(text: string): string {
  return text.replace(/\u001b\[[\d;?]*[A-Za-z]/g, '')
}
