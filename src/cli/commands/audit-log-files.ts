// The files of `turnpike audit --log`: the gateway's log, plain or compressed with gzip, or standard input.
import { createReadStream, statSync } from 'node:fs'
import { pipeline } from 'node:stream'
import { createGunzip } from 'node:zlib'
import { readLines } from '../../lib/read-lines.ts'
import { BadUsage } from '../command.ts'

const STDIN = '-'
// Longer than any line of the gateway.
const LINE_BYTES_MAX = 1024 * 1024

// Before anything is read: an audit takes a while.
export function refuseMissing(files: readonly string[]): void {
  if (files.filter(file => file === STDIN).length > 1) throw new BadUsage('--log - can be given once')
  for (const file of files) {
    const found = file === STDIN ? undefined : statSync(file, { throwIfNoEntry: false })
    if (file !== STDIN && found === undefined) throw new BadUsage(`--log: there is no file ${file}`)
    if (found?.isDirectory()) throw new BadUsage(`--log: ${file} is a directory`)
  }
}

export async function* journalLines(files: readonly string[]): AsyncGenerator<string | undefined> {
  for (const file of files) {
    try {
      yield* readLines(openJournal(file), LINE_BYTES_MAX)
    } catch (error) {
      throw new BadUsage(`--log: ${file} cannot be read: ${(error as Error).message}`)
    }
  }
}

function openJournal(file: string) {
  if (file === STDIN) return process.stdin
  const bytes = createReadStream(file)
  // Errors of either stream are thrown where the lines are read.
  return file.endsWith('.gz') ? pipeline(bytes, createGunzip(), () => undefined) : bytes
}
