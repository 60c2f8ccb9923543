// Builds the dashboard before the gateway starts, where it can be built and was not: `npm ci --ignore-scripts` leaves it so.
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const ROOT = new URL('../../', import.meta.url)

// Two looks at the disk where there is nothing to do. One that fails says so itself, and the gateway starts without it.
export function buildWebIfMissing(): void {
  const isThere = (path: string) => existsSync(new URL(path, ROOT))
  if (isThere('web/dist/index.html') || !isThere('web/index.html')) return
  const script = fileURLToPath(new URL('bin/build-dashboard.js', ROOT))
  spawnSync(process.execPath, [script], { stdio: ['ignore', 'ignore', 'inherit'] })
}
