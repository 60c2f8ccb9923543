// Builds the dashboard into web/dist where this is a checkout with the tools for it. Elsewhere, as in the published package,
// which holds it built, there is nothing to do.
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)))
const VITE = join(ROOT, 'node_modules', 'vite', 'bin', 'vite.js')

if (existsSync(join(ROOT, 'web', 'index.html')) && existsSync(VITE)) {
  console.error('Building the dashboard, this once …')
  const args = [VITE, 'build', join(ROOT, 'web'), '--logLevel', 'error']
  const { status } = spawnSync(process.execPath, args, { cwd: ROOT, stdio: ['ignore', 'ignore', 'inherit'] })
  process.exitCode = status ?? 1
}
