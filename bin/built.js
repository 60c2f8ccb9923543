// Whether dist/ was made of the sources and the locked dependencies that are here. What they hold is compared, not when they were
// written: an archive, a copy and a step back to an older version all bring times of their own.
import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'

export const ENTRY = 'dist/main.js'
// Written with a build: the fingerprint of what it was made of.
export const MADE_FROM = 'made-from'
const MADE_OF = ['src', 'bin', 'package.json', 'package-lock.json']

export function isBuilt(root) {
  if (!existsSync(join(root, ENTRY))) return false
  // The published package has no sources.
  if (!existsSync(join(root, 'src'))) return true
  const note = join(root, 'dist', MADE_FROM)
  return existsSync(note) && readFileSync(note, 'utf8') === fingerprint(root)
}

export function fingerprint(root) {
  const hash = createHash('sha256')
  for (const name of MADE_OF) addTo(hash, root, name)
  return hash.digest('hex')
}

function addTo(hash, root, name) {
  const path = join(root, name)
  const found = statSync(path, { throwIfNoEntry: false })
  if (found === undefined) return
  if (found.isDirectory()) for (const inner of readdirSync(path).sort()) addTo(hash, root, `${name}/${inner}`)
  else {
    const content = readFileSync(path)
    hash.update(`${name}\n${content.length}\n`).update(content)
  }
}
