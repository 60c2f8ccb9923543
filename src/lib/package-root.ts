// The folder of the installed package, wherever in it this code has been bundled to.
import { findPackageJSON } from 'node:module'
import { dirname } from 'node:path'

export function packageRoot(): string {
  return dirname(findPackageJSON(import.meta.url) ?? '.')
}
