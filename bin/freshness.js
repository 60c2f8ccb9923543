// Checks whether a build is current: whether its sources are the files that it was made of. Path, size and modification time of
// each are compared, not the content, which would take longer.
import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'

// `output` is deleted and made by the build, `entry` is a file of it, and `stamp` records what it was made of.
export const CODE = {
  sources: ['src', 'bin', 'package.json', 'package-lock.json'],
  output: 'dist',
  entry: 'dist/main.js',
  stamp: 'dist/made-from',
}
export const DASHBOARD = {
  sources: ['web/src', 'src/domain', 'web/index.html', 'web/portal.html', 'web/vite.config.ts', 'package-lock.json'],
  output: 'web/dist',
  entry: 'web/dist/index.html',
  stamp: 'web/dist/.made-from',
}

// A package installed from a tarball has no sources: what it holds is current, and nothing is compared.
export function isCurrent(root, { sources, entry, stamp }) {
  if (!existsSync(join(root, entry))) return false
  if (!existsSync(join(root, sources[0]))) return true
  return existsSync(join(root, stamp)) && readFileSync(join(root, stamp), 'utf8') === stateOf(root, sources)
}

// Any difference counts, not only a newer file: an archive or a copy may bring older times.
export function stateOf(root, sources) {
  const hash = createHash('sha256')
  for (const name of sources) add(hash, root, name)
  return hash.digest('hex')
}

function add(hash, root, name) {
  const found = statSync(join(root, name), { throwIfNoEntry: false })
  if (found === undefined) return
  if (found.isDirectory()) for (const inner of readdirSync(join(root, name)).sort()) add(hash, root, `${name}/${inner}`)
  else hash.update(`${name}\n${found.size}\n${found.mtimeMs}\n`)
}
