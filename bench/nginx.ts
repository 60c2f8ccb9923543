// The baseline of the benchmark: nginx as a plain reverse proxy, found or installed, run from its own folder.

import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Contestant } from './contestant.ts'
import { freePort, startPinned, stop, until } from './processes.ts'

const PLACES = ['/usr/sbin/nginx', '/usr/local/sbin/nginx', '/usr/bin/nginx', '/usr/local/bin/nginx']

export const nginx: Contestant = {
  name: 'nginx',
  async start({ folder, upstreamPort }) {
    const binary = findNginx() ?? installNginx()
    const port = await freePort()
    const config = join(folder, 'nginx.conf')
    const log = join(folder, 'nginx.log')
    mkdirSync(join(folder, 'temp'), { recursive: true })
    writeFileSync(config, nginxConfig({ folder, port, upstreamPort }))
    const child = startPinned('contestant', [binary, '-p', folder, '-c', config, '-e', log], log)
    await until(() => answers(port), child, log)
    return {
      pid: child.pid!,
      port,
      paths: { json: '/v1/chat/completions', stream: '/stream/v1/chat/completions' },
      headers: {},
      stop: () => stop(child, 'SIGQUIT'),
    }
  },
}

export function findNginx(): string | undefined {
  return PLACES.find(place => existsSync(place))
}

// Installs it without asking only in an automated environment; a person's laptop is not touched.
export function installNginx(): string {
  const root = process.getuid?.() === 0
  if (!root && process.env.CI === undefined) {
    throw new Error('nginx, the baseline of this benchmark, is missing. Install it: sudo apt-get install nginx-light')
  }
  const aptGet = (...args: string[]) =>
    execFileSync(root ? 'apt-get' : 'sudo', [...(root ? [] : ['-n', 'apt-get']), ...args], {
      stdio: ['ignore', 'ignore', 'inherit'],
      env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive', RUNLEVEL: '1' },
    })
  console.error('nginx is missing: installing nginx-light with apt-get')
  aptGet('update', '-qq')
  aptGet('install', '-y', '-qq', '--no-install-recommends', 'nginx-light')
  const binary = findNginx()
  if (binary === undefined) throw new Error('nginx-light was installed, but there is no nginx in ' + PLACES.join(', '))
  return binary
}

function nginxConfig(at: { folder: string; port: number; upstreamPort: number }): string {
  const user = process.getuid?.() === 0 ? 'user root;' : ''
  const temp = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
    .map(kind => `${kind}_temp_path "${at.folder}/temp/${kind}";`)
    .join('\n  ')
  return `${user}
daemon off;
worker_processes 1;
pid "${at.folder}/nginx.pid";
events { worker_connections 1024; }
http {
  access_log off;
  ${temp}
  keepalive_requests 100000000;
  upstream mock {
    server 127.0.0.1:${at.upstreamPort};
    keepalive 128;
    keepalive_requests 100000000;
  }
  proxy_http_version 1.1;
  proxy_set_header Connection "";
  server {
    listen 127.0.0.1:${at.port};
    location /v1/ { proxy_pass http://mock/v1/; }
    location /stream/v1/ { proxy_pass http://mock/v1/; proxy_buffering off; }
  }
}
`
}

async function answers(port: number): Promise<boolean> {
  return fetch(`http://127.0.0.1:${port}/`).then(
    () => true,
    () => false,
  )
}
