// Makes written data, or a new name in a folder, survive a power cut.
import { closeSync, fsyncSync, openSync } from 'node:fs'

export function syncFile(path: string): void {
  const handle = openSync(path, 'r')
  try {
    fsyncSync(handle)
  } finally {
    closeSync(handle)
  }
}

// Windows has no such call for folders, and needs none.
export function syncFolder(path: string): void {
  if (process.platform !== 'win32') syncFile(path)
}
