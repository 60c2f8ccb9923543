// The deployed nginx configuration, run with only its addresses and folders replaced, in front of a test's gateways.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ROOT, runTool } from './deploy-tools.ts'
import { freePort } from './free-port.ts'
import { until } from './until.ts'

export type Nginx = AsyncDisposable & { readonly url: string; readonly passesTrailers: boolean }

const NGINX_CONFIG = join(ROOT, 'deploy/nginx/nginx.conf')
const TRAILERS_SINCE = [1, 27, 2]

const alive = new Set<ChildProcess>()
process.once('exit', () => {
  for (const child of alive) child.kill('SIGKILL')
})

export async function startNginx(binary: string, ports: readonly number[]): Promise<Nginx> {
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-nginx-'))
  chmodSync(folder, 0o755)
  const port = await freePort()
  const passesTrailers = knowsTrailers(binary)
  const config = writeNginxConfig(folder, { port, nodes: ports.map(node => `127.0.0.1:${node}`), passesTrailers })
  const child = spawn(binary, ['-c', config, '-g', 'daemon off;'], { stdio: 'ignore' })
  alive.add(child)
  const ended = once(child, 'exit').then(() => alive.delete(child))
  const url = `http://127.0.0.1:${port}`
  await until('nginx answers', () =>
    fetch(`${url}/metrics`).then(
      () => true,
      () => false,
    ),
  )
  return {
    url,
    passesTrailers,
    async [Symbol.asyncDispose]() {
      child.kill('SIGTERM')
      await ended
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

// Returns the path of the configuration, with these nodes instead of its own and all output in this folder.
export function writeNginxConfig(
  folder: string,
  at: { readonly port: number; readonly nodes: readonly string[]; readonly passesTrailers: boolean },
): string {
  const config = join(folder, 'nginx.conf')
  const [line = ''] = /^ *server node-1:8080 .*\n/m.exec(readFileSync(NGINX_CONFIG, 'utf8')) ?? []
  const nodes = at.nodes.map(node => line.replace('node-1:8080', node)).join('')
  const text = readFileSync(NGINX_CONFIG, 'utf8')
    .replace(/(^ *server node-\d:8080 .*\n)+/m, nodes)
    .replace(/listen 8080;/, `listen 127.0.0.1:${at.port};`)
    .replaceAll('/tmp/', `${folder}/`)
  mkdirSync(join(folder, 'turnpike.d'))
  if (at.passesTrailers)
    copyFileSync(join(ROOT, 'deploy/nginx/trailers.conf'), join(folder, 'turnpike.d/trailers.conf'))
  writeFileSync(config, text)
  return config
}

export function knowsTrailers(binary: string): boolean {
  const version =
    /nginx\/(\d+)\.(\d+)\.(\d+)/
      .exec(runTool(binary, ['-v']).output)
      ?.slice(1)
      .map(Number) ?? []
  const at = version.findIndex((part, i) => part !== TRAILERS_SINCE[i])
  return at < 0 || (version[at] ?? 0) > (TRAILERS_SINCE[at] ?? 0)
}
