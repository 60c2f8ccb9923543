// A temporary folder that is removed with the test.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export async function temporaryFolder(): Promise<{ readonly path: string } & AsyncDisposable> {
  const path = await mkdtemp(join(tmpdir(), 'turnpike-test-'))
  return {
    path,
    async [Symbol.asyncDispose]() {
      await rm(path, { recursive: true, force: true })
    },
  }
}
