// Reads the log files of `turnpike audit --log`: plain, gzipped, or standard input.
import { createReadStream, statSync } from 'node:fs'
import { pipeline } from 'node:stream'
import { createGunzip } from 'node:zlib'
import { readLines } from '../../lib/read-lines.ts'
import { BadUsage } from '../command.ts'

const STDIN = '-'
// Longer than any line that the gateway writes.
const LINE_BYTES_MAX = 1024 * 1024

// Checked before the audit, which may take a while.
export function refuseMissing(files: readonly string[]): void {
  if (files.filter(file => file === STDIN).length > 1) throw new BadUsage('--log - can be given only once')
  for (const file of files) {
    const found = file === STDIN ? undefined : statSync(file, { throwIfNoEntry: false })
    if (file !== STDIN && found === undefined) throw new BadUsage(`--log: file not found: ${file}`)
    if (found?.isDirectory()) throw new BadUsage(`--log: ${file} is a directory`)
  }
}

export async function* journalLines(files: readonly string[]): AsyncGenerator<string | undefined> {
  for (const file of files) {
    try {
      yield* readLines(openJournal(file), LINE_BYTES_MAX)
    } catch (error) {
      throw new BadUsage(`--log: cannot read ${file}: ${(error as Error).message}`)
    }
  }
}

function openJournal(file: string) {
  if (file === STDIN) return process.stdin
  const bytes = createReadStream(file)
  // Errors of both streams are thrown where the lines are read.
  return file.endsWith('.gz') ? pipeline(bytes, createGunzip(), () => undefined) : bytes
}
