// Makes a gateway's disk unwritable and writable again: a small file system that is filled to the last byte, or, where
// mounting is not allowed, a file size limit under which every write fails.
import { execFile } from 'node:child_process'
import { closeSync, openSync, writeSync } from 'node:fs'
import { mkdtemp, rm, rmdir } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

export type Disk = AsyncDisposable & {
  readonly what: string
  readonly dataDir: string
  fill(pid: number): Promise<void>
  free(pid: number): Promise<void>
}

const run = promisify(execFile)

// Every way that this machine allows.
export async function disks(): Promise<Disk[]> {
  return [await limitedDisk(), ...(await smallDisk())]
}

async function limitedDisk(): Promise<Disk> {
  const folder = await mkdtemp(join(tmpdir(), 'turnpike-test-'))
  const limit = (pid: number, bytes: string) => run('prlimit', [`--pid=${pid}`, `--fsize=${bytes}:`])
  return {
    what: 'a disk that rejects writes',
    dataDir: join(folder, 'data'),
    fill: async pid => void (await limit(pid, '0')),
    free: async pid => void (await limit(pid, 'unlimited')),
    async [Symbol.asyncDispose]() {
      await rm(folder, { recursive: true, force: true })
    },
  }
}

async function smallDisk(): Promise<Disk[]> {
  const folder = await mkdtemp(join(tmpdir(), 'turnpike-test-'))
  try {
    await run('mount', ['-t', 'tmpfs', '-o', 'size=4m', 'turnpike-test', folder])
  } catch {
    await rmdir(folder)
    return []
  }
  const filler = join(folder, 'filler')
  return [
    {
      what: 'a full disk',
      dataDir: join(folder, 'data'),
      fill: async () => writeUntilFull(filler),
      free: () => rm(filler),
      async [Symbol.asyncDispose]() {
        await run('umount', ['--lazy', folder])
        await rmdir(folder)
      },
    },
  ]
}

function writeUntilFull(path: string): void {
  const handle = openSync(path, 'a')
  try {
    for (let bytes = 64 * 1024; bytes >= 1; ) {
      try {
        writeSync(handle, Buffer.alloc(bytes))
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error
        bytes = bytes >> 2
      }
    }
  } finally {
    closeSync(handle)
  }
}
