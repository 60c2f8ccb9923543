// Whether dist/ holds what src/ says. Times of files tell: a checkout is written before it is built, and whoever edits a source
// or takes one away makes it, or its folder, newer than the build.
import { existsSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'

export const ENTRY = 'dist/turnpike.js'

export function isBuilt(root) {
  const built = statSync(join(root, ENTRY), { throwIfNoEntry: false })
  if (built === undefined) return false
  // The published package has no sources.
  const sources = join(root, 'src')
  return !existsSync(sources) || !isNewer(sources, built.mtimeMs)
}

function isNewer(folder, than) {
  if (statSync(folder).mtimeMs > than) return true
  return readdirSync(folder, { withFileTypes: true }).some(entry => {
    const path = join(folder, entry.name)
    return entry.isDirectory() ? isNewer(path, than) : statSync(path).mtimeMs > than
  })
}
