// Prometheus and its promtool: found, or unpacked from Debian's package without installing it. Also a server that scrapes a test's
// gateway.
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, globSync, mkdirSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { ROOT } from './deploy-tools.ts'
import { temporaryFolder } from './folder.ts'
import { freePort } from './free-port.ts'
import { until } from './until.ts'

export type PrometheusTools = { readonly promtool: string; readonly prometheus: string }

const CACHE = join(ROOT, 'node_modules/.cache/turnpike-prometheus')
const STEP_MS_MAX = 240_000

// A message about what is missing; never if CI is set.
export function prometheusTools(): PrometheusTools | string {
  const found = inPath() ?? inFolder(join(CACHE, 'usr/bin')) ?? unpacked()
  if (found !== undefined) return found
  const missing = 'promtool and prometheus are missing (apt-get install prometheus)'
  if (process.env.CI) throw new Error(missing)
  return missing
}

function inPath(): PrometheusTools | undefined {
  for (const folder of (process.env.PATH ?? '').split(delimiter)) {
    const tools = inFolder(folder)
    if (tools !== undefined) return tools
  }
  return undefined
}

function inFolder(folder: string): PrometheusTools | undefined {
  const tools = { promtool: join(folder, 'promtool'), prometheus: join(folder, 'prometheus') }
  return existsSync(tools.promtool) && existsSync(tools.prometheus) ? tools : undefined
}

// Not installed: the package would start a service.
function unpacked(): PrometheusTools | undefined {
  mkdirSync(CACHE, { recursive: true })
  const download = () => succeeds('apt-get', ['-qq', 'download', 'prometheus'])
  const isRoot = process.getuid?.() === 0
  const update = () => succeeds(isRoot ? 'apt-get' : 'sudo', [...(isRoot ? [] : ['-n', 'apt-get']), '-qq', 'update'])
  if (!download() && !((isRoot || process.env.CI !== undefined) && update() && download())) return undefined
  const file = globSync('prometheus_*.deb', { cwd: CACHE })[0]
  if (file === undefined || !succeeds('dpkg-deb', ['-x', file, '.'])) return undefined
  return inFolder(join(CACHE, 'usr/bin'))
}

function succeeds(command: string, args: readonly string[]): boolean {
  return spawnSync(command, args, { cwd: CACHE, stdio: 'ignore', timeout: STEP_MS_MAX }).status === 0
}

export type Prometheus = AsyncDisposable & {
  // The samples of an expression at this moment.
  query(expression: string): Promise<readonly { readonly metric: Readonly<Record<string, string>> }[]>
}

const alive = new Set<ChildProcess>()
process.once('exit', () => {
  for (const child of alive) child.kill('SIGKILL')
})

// It scrapes every second, as the job `turnpike`.
export async function startPrometheus({ prometheus }: PrometheusTools, gatewayPort: number): Promise<Prometheus> {
  const folder = await temporaryFolder()
  const port = await freePort()
  const config = join(folder.path, 'prometheus.yml')
  writeFileSync(
    config,
    JSON.stringify({
      global: { scrape_interval: '1s', evaluation_interval: '1s' },
      rule_files: [join(ROOT, 'deploy/prometheus/alerts.yaml')],
      scrape_configs: [{ job_name: 'turnpike', static_configs: [{ targets: [`127.0.0.1:${gatewayPort}`] }] }],
    }),
  )
  const args = [
    `--config.file=${config}`,
    `--storage.tsdb.path=${join(folder.path, 'data')}`,
    `--web.listen-address=127.0.0.1:${port}`,
  ]
  const child = spawn(prometheus, args, { stdio: 'ignore' })
  alive.add(child)
  const ended = once(child, 'exit').then(() => alive.delete(child))

  async function query(expression: string) {
    const response = await fetch(`http://127.0.0.1:${port}/api/v1/query?query=${encodeURIComponent(expression)}`)
    const answer = (await response.json()) as { status: string; error?: string; data?: { result: never[] } }
    if (answer.status !== 'success') throw new Error(`${expression}: ${answer.error}`)
    return answer.data?.result ?? []
  }

  await until('Prometheus has scraped the gateway', () =>
    query('count_over_time(up{job="turnpike"}[1m]) > 3').then(
      samples => samples.length > 0,
      () => false,
    ),
  )
  return {
    query,
    async [Symbol.asyncDispose]() {
      child.kill('SIGKILL')
      await ended
      await folder[Symbol.asyncDispose]()
    },
  }
}
