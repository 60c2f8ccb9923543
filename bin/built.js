// Whether dist/ holds what src/ and the locked dependencies say. Times of files tell: a checkout is written before it is built, and
// whoever edits a source, takes one away or locks another version makes it, or its folder, newer than the build.
import { existsSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'

export const ENTRY = 'dist/turnpike.js'
const MADE_OF = ['src', 'bin', 'package.json', 'package-lock.json']

export function isBuilt(root) {
  const built = statSync(join(root, ENTRY), { throwIfNoEntry: false })
  if (built === undefined) return false
  // The published package has no sources.
  if (!existsSync(join(root, 'src'))) return true
  return !MADE_OF.some(name => isNewer(join(root, name), built.mtimeMs))
}

function isNewer(path, than) {
  const found = statSync(path, { throwIfNoEntry: false })
  if (found === undefined) return false
  if (found.mtimeMs > than) return true
  return found.isDirectory() && readdirSync(path).some(name => isNewer(join(path, name), than))
}
