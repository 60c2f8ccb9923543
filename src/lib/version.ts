// The product's version, from the manifest of the installed package.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { packageRoot } from './package-root.ts'

export function version(): string {
  const manifest = readFileSync(join(packageRoot(), 'package.json'), 'utf8')
  return String((JSON.parse(manifest) as { version: unknown }).version)
}
