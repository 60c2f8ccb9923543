// What `turnpike doctor` checks on this machine: Node, configuration, data directory, encryption key and disk space.
import { accessSync, constants, existsSync, type Stats, statfsSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { type Config, loadConfig } from '../../config/config.ts'
import { KEY_FILE } from '../../config/installation-key.ts'
import { DATABASE_FILE } from '../../store/sqlite/lock.ts'
import { profilesFile, readProfiles } from '../profiles.ts'
import { type Finding, fail, ok, skip, warn } from './finding.ts'

const OTHERS = 0o077
const DISK_LOW_BYTES = 2 * 1024 ** 3
const DISK_FULL_BYTES = 200 * 1024 ** 2

export function localChecks(): readonly Finding[] {
  const config = readConfig()
  const node = ok('node', `${process.version} on ${process.platform} ${process.arch}`)
  if ('finding' in config) return [node, config.finding, ...profileChecks()]
  const { configFile, dataDir, databaseUrl } = config.read
  const file = ok('configuration', configFile ?? 'no turnpike.yaml; the environment and defaults are used')
  const store =
    databaseUrl === undefined
      ? [dataDirCheck(dataDir), encryptionCheck(config.read), diskCheck(dataDir)]
      : [ok('data directory', 'not used: DATABASE_URL is set'), encryptionCheck(config.read)]
  return [node, file, ...store, ...profileChecks()]
}

function readConfig(): { readonly read: Config } | { readonly finding: Finding } {
  try {
    return { read: loadConfig() }
  } catch (error) {
    const { name, message } = error as Error
    if (name !== 'BadConfig') throw error
    return { finding: fail('configuration', message, 'correct it; "turnpike config check" lists all mistakes') }
  }
}

function dataDirCheck(dir: string): Finding {
  const check = 'data directory'
  const found = statSync(dir, { throwIfNoEntry: false })
  if (found === undefined) return skip(check, `${dir} does not exist; "turnpike serve" creates it`)
  if (!found.isDirectory()) return fail(check, `${dir} is not a directory`, 'set TURNPIKE_DATA_DIR to a directory')
  try {
    accessSync(dir, constants.R_OK | constants.W_OK | constants.X_OK)
  } catch {
    return fail(check, `${dir} is not writable by this user`, `run as its owner, or: chown -R USER ${dir}`)
  }
  if (isOpen(found)) return warn(check, `other users can read ${dir}`, `chmod 700 ${dir}`)
  return ok(check, dir)
}

function encryptionCheck({ dataDir, encryptionKey }: Config): Finding {
  const check = 'encryption key'
  if (encryptionKey !== undefined) return ok(check, 'from TURNPIKE_ENCRYPTION_KEY')
  const file = join(dataDir, KEY_FILE)
  const found = statSync(file, { throwIfNoEntry: false })
  if (found === undefined) {
    return existsSync(join(dataDir, DATABASE_FILE))
      ? warn(check, `${file} is missing`, 'restore it, or set TURNPIKE_ENCRYPTION_KEY; see docs/upgrade-and-backup.md')
      : skip(check, 'created at the first start')
  }
  if (isOpen(found)) return fail(check, `other users can read ${file}`, `chmod 600 ${file}`)
  return ok(check, file)
}

function isOpen({ mode }: Stats): boolean {
  return process.platform !== 'win32' && (mode & OTHERS) !== 0
}

function diskCheck(dir: string): Finding {
  const check = 'disk space'
  const place = existsSync(dir) ? dir : dirname(dir)
  if (!existsSync(place)) return skip(check, `${place} does not exist`)
  const { bavail, bsize } = statfsSync(place)
  const free = bavail * bsize
  const detail = `${(free / 1024 ** 3).toFixed(1)} GiB free in ${place}`
  if (free < DISK_FULL_BYTES) return fail(check, detail, 'free some space: no request is served while the disk is full')
  return free < DISK_LOW_BYTES ? warn(check, detail, 'free some space, or set usage_retention_days') : ok(check, detail)
}

function profileChecks(): readonly Finding[] {
  try {
    const count = Object.keys(readProfiles().entries).length
    return count === 0 ? [] : [ok('profiles', `${count} in ${profilesFile()}`)]
  } catch (error) {
    return [fail('profiles', (error as Error).message, 'correct it, or delete the file and log in again')]
  }
}
