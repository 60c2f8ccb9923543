// The installed package: its version, and its folder, wherever in it this code has been bundled to.
import { readFileSync } from 'node:fs'
import { findPackageJSON } from 'node:module'
import { dirname, join } from 'node:path'

export function version(): string {
  const manifest = readFileSync(join(packageRoot(), 'package.json'), 'utf8')
  return String((JSON.parse(manifest) as { version: unknown }).version)
}

export function packageRoot(): string {
  return dirname(findPackageJSON(import.meta.url) ?? '.')
}
