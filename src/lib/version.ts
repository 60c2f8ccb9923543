// Which version of the product this is, by the manifest that it was installed with.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { packageRoot } from './package-root.ts'

export function version(): string {
  const manifest = readFileSync(join(packageRoot(), 'package.json'), 'utf8')
  return String((JSON.parse(manifest) as { version: unknown }).version)
}
