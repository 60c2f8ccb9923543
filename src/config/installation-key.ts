// The key of this installation: credentials are encrypted with it and identifiers are hashed with it.
import { randomBytes } from 'node:crypto'
import { chmodSync, existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { BadConfig } from './bad-config.ts'
import type { Config } from './config.ts'

export const KEY_FILE = 'encryption.key'

// 32 bytes that stay the same over restarts: from the environment, else from a private file.
export function installationKey(config: Config): Buffer {
  if (config.encryptionKey !== undefined) return Buffer.from(config.encryptionKey, 'hex')
  const path = join(config.dataDir, KEY_FILE)
  try {
    return readOrMakeKey(path)
  } catch (error) {
    if (error instanceof BadConfig) throw error
    throw new BadConfig(`${path} cannot be used: ${(error as Error).message}`)
  }
}

function readOrMakeKey(path: string): Buffer {
  if (!existsSync(path)) {
    // Under its name only when complete: a start that is killed midway leaves no partial key.
    const part = `${path}.part`
    rmSync(part, { force: true })
    writeFileSync(part, `${randomBytes(32).toString('hex')}\n`, { mode: 0o600, flag: 'wx', flush: true })
    chmodSync(part, 0o600)
    renameSync(part, path)
  }
  const text = readFileSync(path, 'utf8').trim()
  if (!/^[0-9a-f]{64}$/.test(text))
    throw new BadConfig(`${path} does not contain 64 hex digits; restore it from a backup`)
  return Buffer.from(text, 'hex')
}
