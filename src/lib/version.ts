// Which version of the product this is, by the manifest that it was installed with.
import { readFileSync } from 'node:fs'

export function version(): string {
  const manifest = readFileSync(new URL('../../package.json', import.meta.url), 'utf8')
  return String((JSON.parse(manifest) as { version: unknown }).version)
}
