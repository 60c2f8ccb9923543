// Builds the dashboard before the gateway starts, where it can be built and was not: `npm ci --ignore-scripts` leaves it so.
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { packageRoot } from '../lib/package-root.ts'

// Two looks at the disk where there is nothing to do. One that fails says so itself, and the gateway starts without it.
export function buildWebIfMissing(): void {
  const root = packageRoot()
  const isThere = (path: string) => existsSync(join(root, path))
  if (isThere('web/dist/index.html') || !isThere('web/index.html')) return
  spawnSync(process.execPath, [join(root, 'bin/build-dashboard.js')], { stdio: ['ignore', 'ignore', 'inherit'] })
}
