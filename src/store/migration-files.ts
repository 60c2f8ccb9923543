// The migrations of either engine: files whose names begin with their number, each applied once, in that order. Also the number
// that identifies a database, or a lock in one, as Turnpike's.
import { readdirSync, readFileSync } from 'node:fs'

// "Turn" in ASCII.
export const OURS = 0x5475726e

export function migrationsIn(folder: URL): readonly string[] {
  const names = readdirSync(folder).filter(name => name.endsWith('.sql'))
  return names.sort().map(name => readFileSync(new URL(name, folder), 'utf8'))
}

export function newerVersion(schema: number, known: number): string {
  return `from a newer version of Turnpike (schema ${schema}, this version supports ${known})`
}
