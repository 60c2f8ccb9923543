// Turnpike as it is deployed: every check, durable billing and the log switched on. After the load its database is audited, and
// every answered request must have been charged.

import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { Contestant, Place, Running } from './contestant.ts'
import { type Core, type Env, freePort, logTail, plainEnv, startPlain, stop, until } from './processes.ts'

export const ROOT = join(import.meta.dirname, '..')
const ADMIN_TOKEN = 'bench-admin-token-0123456789abcdefghijklmnop'
const PAGE_ROWS = 1000

export type Admin = (method: 'GET' | 'POST', path: string, body?: object) => Promise<Record<string, unknown>>

export const ON_DISK = 'Turnpike'

export const turnpike: Contestant = { name: ON_DISK, start: place => startTurnpike(place) }

export const BEFORE = 'Turnpike before'

// Another checkout, with everything that belongs to it: the cost of a change is visible only in turns with the version before it.
export function turnpikeBefore(root: string): Contestant {
  return { name: BEFORE, start: place => startTurnpike(place, {}, 'contestant', root) }
}

// The same with its data in memory: what is left is the gateway's own cost. It has no limit.
export const turnpikeInMemory: Contestant = {
  name: 'Turnpike in memory',
  async start(place) {
    const data = mkdtempSync('/dev/shm/turnpike-bench-')
    const running = await startTurnpike(place, { TURNPIKE_DATA_DIR: data })
    return {
      ...running,
      async stop() {
        await running.stop()
        rmSync(data, { recursive: true, force: true })
      },
    }
  },
}

// `more` is added to its environment.
export async function startTurnpike(
  { folder, upstreamPort, profileFolder, config }: Place,
  more: Env = {},
  core: Core = 'contestant',
  root = ROOT,
  limits: object = UNLIMITED,
): Promise<Running> {
  const port = await freePort()
  const log = join(folder, 'turnpike.log')
  const env = { ...turnpikeEnv(folder, port), ...more }
  mkdirSync(env.TURNPIKE_DATA_DIR!, { recursive: true, mode: 0o700 })
  writeFileSync(env.TURNPIKE_CONFIG!, config ?? turnpikeYaml(upstreamPort))
  const flags = profileFolder === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${profileFolder}`]
  const command = [process.execPath, ...flags, ...startArguments(root)]
  const child = startPlain(core, command, log, env)
  await until(() => isReady(port), child, log)
  const admin = adminOf(port)
  const key = await createKey(admin, limits)
  return {
    pid: child.pid!,
    port,
    paths: { json: '/v1/chat/completions', stream: '/v1/chat/completions' },
    headers: { authorization: `Bearer ${key.secret}` },
    // A caller without a complete answer may have been charged for what there was.
    async verify(sent, answered) {
      const charged = await countCharged(admin)
      if (charged < answered || charged > sent)
        throw new Error(`${answered} of ${sent} requests were answered, but ${charged} were charged\n${logTail(log)}`)
      await stop(child)
      await audit(root, env)
    },
    stop: () => stop(child),
  }
}

function turnpikeEnv(folder: string, port: number): Env {
  return {
    TURNPIKE_PORT: String(port),
    TURNPIKE_DATA_DIR: join(folder, 'data'),
    TURNPIKE_CONFIG: join(folder, 'turnpike.yaml'),
    TURNPIKE_ADMIN_TOKEN: ADMIN_TOKEN,
    TURNPIKE_DETECT_PROVIDERS: '0',
  }
}

function turnpikeYaml(upstreamPort: number): string {
  return `providers:
  - { id: mock, kind: openai, base_url: "http://127.0.0.1:${upstreamPort}/v1", api_key: "bench" }
models:
  - id: bench
    context_length: 128000
    max_output_tokens: 4096
    pricing: { prompt: "0.00000015", completion: "0.0000006", input_cache_read: "0.000000075" }
    targets:
      - { provider: mock, model: bench }
`
}

async function isReady(port: number): Promise<boolean> {
  return fetch(`http://127.0.0.1:${port}/ready`).then(
    answer => answer.ok,
    () => false,
  )
}

export function adminOf(port: number): Admin {
  return async (method, path, body) => {
    const answer = await fetch(`http://127.0.0.1:${port}/admin/v1${path}`, {
      method,
      headers: {
        authorization: `Bearer ${ADMIN_TOKEN}`,
        'idempotency-key': 'bench',
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      body: body === undefined ? null : JSON.stringify(body),
    })
    const text = await answer.text()
    if (!answer.ok) throw new Error(`${method} /admin/v1${path}: ${answer.status} ${text.slice(0, 500)}`)
    return JSON.parse(text) as Record<string, unknown>
  }
}

export const UNLIMITED = { rpm_limit: 10_000_000, daily_limit: null, max_concurrent: 10_000 }

export async function createKey(admin: Admin, limits: object = UNLIMITED): Promise<{ id: string; secret: string }> {
  const account = await admin('POST', '/accounts', { name: 'bench' })
  await admin('POST', `/accounts/${account.id}/credits`, { amount: '1000000' })
  const key = await admin('POST', '/keys', { name: 'bench', account_id: account.id, ...limits })
  return { id: String(key.id), secret: String(key.secret) }
}

// A charged row is settled, completed and costs more than zero. Of one key, or of all.
export async function countCharged(admin: Admin, keyId?: string): Promise<number> {
  let charged = 0
  let after: string | undefined
  for (;;) {
    const query = new URLSearchParams({ outcome: 'completed', limit: String(PAGE_ROWS) })
    if (keyId !== undefined) query.set('key_id', keyId)
    if (after !== undefined) query.set('after', after)
    const page = await admin('GET', `/usage?${query}`)
    const rows = page.data as readonly { request_id: string; state: string; cost: string }[]
    for (const row of rows) if (row.state === 'settled' && Number(row.cost) > 0) charged++
    after = rows.at(-1)?.request_id
    if (page.has_more !== true || after === undefined) return charged
  }
}

// Throws, with the audit's output, unless it exits with 0. Meanwhile another gateway may close its idle connection to us, which
// the next call to it must have seen.
async function audit(root: string, env: Env): Promise<void> {
  await promisify(execFile)(process.execPath, [join(root, 'bin/turnpike.js'), 'audit'], {
    env: { ...plainEnv(), ...env },
  })
}

// As `npm start` does it, without npm in between.
function startArguments(root: string): readonly string[] {
  const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { scripts: { start: string } }
  const [, ...args] = scripts.start.split(' ')
  return args.map(arg => (arg.startsWith('bin/') ? join(root, arg) : arg))
}
