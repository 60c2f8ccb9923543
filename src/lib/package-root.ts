// The folder in which we are installed, wherever in it this code has been put.
import { findPackageJSON } from 'node:module'
import { dirname } from 'node:path'

export function packageRoot(): string {
  return dirname(findPackageJSON(import.meta.url) ?? '.')
}
