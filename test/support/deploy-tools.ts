// The tools that check the deployment files: helm, hadolint and others, and nginx; found or installed.
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { installPackages } from './install.ts'
import { pythonWith } from './python.ts'

export type ToolResult = { readonly code: number | null; readonly stdout: string; readonly output: string }
export type Tools = {
  run(tool: string, args: readonly string[], stdin?: string): ToolResult
}

export const ROOT = join(import.meta.dirname, '../..')

// A message about what is missing, where nothing may be installed; never if CI is set.
export function deployTools(): Tools | string {
  const python = pythonWith(join(import.meta.dirname, 'deploy-requirements.txt'))
  if (typeof python === 'string') return python
  const packages = python.env.PYTHONPATH
  const folder = packages === undefined ? dirname(python.executable) : join(packages, 'bin')
  return {
    run: (tool, args, stdin) => runTool(join(folder, tool), args, { ...process.env, ...python.env }, stdin),
  }
}

export function runTool(
  command: string,
  args: readonly string[],
  env: NodeJS.ProcessEnv = process.env,
  stdin = '',
): ToolResult {
  const ran = spawnSync(command, args, { cwd: ROOT, encoding: 'utf8', env, input: stdin, timeout: 120_000 })
  return { code: ran.status, stdout: ran.stdout ?? '', output: `${ran.stdout}${ran.stderr}${ran.error?.message ?? ''}` }
}

const NGINX_PLACES = ['/usr/sbin/nginx', '/usr/local/sbin/nginx', '/usr/bin/nginx', '/usr/local/bin/nginx']

// Debian's package, where installing is allowed; undefined, with a loud message, on a person's machine without it.
export function nginxBinary(): string | undefined {
  const find = () => NGINX_PLACES.find(place => existsSync(place))
  const found = find()
  if (found !== undefined) return found
  const installed = installPackages('nginx-light') ? find() : undefined
  if (installed !== undefined) return installed
  if (process.env.CI) throw new Error('nginx is missing and could not be installed')
  process.stderr.write('\nnginx is not installed: ITS CONFIGURATION IS NOT TESTED\n\n')
  return undefined
}
