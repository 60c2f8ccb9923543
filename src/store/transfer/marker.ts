// The marker that a transfer leaves in the data directory: first the identity of the transfer, so that it can be resumed, and at
// the end that the data lives elsewhere now, so that no gateway starts here by accident.
import { closeSync, fsyncSync, openSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { syncFolder } from '../../lib/sync-to-disk.ts'

const MOVE_FILE = 'turnpike.moved.json'

export type TransferMarker = {
  // Identifies the source, also in the target.
  readonly id: string
  readonly state: 'copying' | 'moved'
  // Host and database, never the user.
  readonly to: string
  readonly at: string
}

export function readMarker(dir: string): TransferMarker | undefined {
  const text = textOf(join(dir, MOVE_FILE))
  return text === undefined ? undefined : parseMarker(text, dir)
}

// Under its name only when complete, and on disk when this returns.
export function writeMarker(dir: string, note: TransferMarker): void {
  const path = join(dir, MOVE_FILE)
  const part = `${path}.part`
  writeFileSync(part, `${JSON.stringify(note, null, 2)}\n`, { mode: 0o600 })
  const handle = openSync(part, 'r')
  try {
    fsyncSync(handle)
  } finally {
    closeSync(handle)
  }
  renameSync(part, path)
  syncFolder(dir)
}

// The data directory may be used again; that it has a copy elsewhere stays recorded.
export function removeMarker(dir: string): TransferMarker | undefined {
  const note = readMarker(dir)
  if (note?.state !== 'moved') return undefined
  writeMarker(dir, { ...note, state: 'copying' })
  return note
}

// Why no gateway may start on this data directory; undefined where it may.
export function transferredTo(dir: string): string | undefined {
  const note = readMarker(dir)
  if (note?.state !== 'moved') return undefined
  return `the data directory ${dir} was migrated to ${note.to} at ${note.at}; set DATABASE_URL to use it. To return to this directory without the data written there since: turnpike migrate --undo --from sqlite:${dir}`
}

function textOf(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

function parseMarker(text: string, dir: string): TransferMarker {
  try {
    const { id, state, to, at } = JSON.parse(text) as Record<string, unknown>
    if (typeof id === 'string' && typeof to === 'string' && typeof at === 'string') {
      if (state === 'copying' || state === 'moved') return { id, state, to, at }
    }
  } catch {
    // Reported below.
  }
  throw new Error(`${join(dir, MOVE_FILE)} cannot be read. Delete this file only if the data was never migrated`)
}
