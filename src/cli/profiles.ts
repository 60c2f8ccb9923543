// Profiles: URLs and admin tokens of gateways, in a file that only its owner can read.
import {
  closeSync,
  constants,
  fchmodSync,
  fstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { type ClientEnv, gatewayUrl, userConfigDir } from '../config/command-env.ts'
import { syncFile, syncFolder } from '../lib/sync-to-disk.ts'
import { BadUsage } from './command.ts'
import { didYouMean } from './suggest.ts'

export type Profile = { readonly url: string; readonly token: string }
export type Profiles = {
  // The one that is used if none is named.
  readonly current: string | undefined
  readonly entries: Readonly<Record<string, Profile>>
}

export const DEFAULT_PROFILE = 'default'
const NAME = /^[A-Za-z0-9._-]{1,64}$/
const FILE_BYTES_MAX = 1024 * 1024
const ENTRIES_MAX = 100
const OTHERS = 0o077

export function profilesFile(): string {
  return join(userConfigDir(), 'profiles.json')
}

export function readProfiles(path: string = profilesFile()): Profiles {
  const text = readPrivate(path)
  if (text === undefined) return { current: undefined, entries: {} }
  try {
    return parseProfiles(JSON.parse(text))
  } catch (error) {
    if (error instanceof BadUsage) throw error
    throw new BadUsage(`${path} is damaged; delete it and run "turnpike login" again`)
  }
}

export function findProfile(profiles: Profiles, name: string): Profile {
  const found = Object.hasOwn(profiles.entries, name) ? profiles.entries[name] : undefined
  if (found !== undefined) return found
  const known = Object.keys(profiles.entries)
  const hint =
    known.length === 0 ? '; run "turnpike login"' : `${didYouMean(name, known)}\nprofiles: ${known.join(', ')}`
  throw new BadUsage(`there is no profile "${name}"${hint}`)
}

// The profile of commands that name none: the environment's, otherwise the one of `profiles use` or the last `login`.
export function nameInUse(profiles: Profiles, env: Pick<ClientEnv, 'profile'>): string {
  return env.profile ?? profiles.current ?? DEFAULT_PROFILE
}

export function checkProfileName(name: string): string {
  if (!NAME.test(name))
    throw new BadUsage('the name of a profile has 1 to 64 letters, digits, dots, dashes or underscores')
  return name
}

// Written next to the file and then moved, so that no reader finds half of it, and never readable by others.
export function writeProfiles({ current, entries }: Profiles, path: string = profilesFile()): void {
  if (Object.keys(entries).length > ENTRIES_MAX)
    throw new BadUsage(`at most ${ENTRIES_MAX} profiles; remove one with "turnpike logout"`)
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  const part = `${path}.${process.pid}`
  rmSync(part, { force: true })
  const handle = openSync(part, 'wx', 0o600)
  try {
    // The mode of `open` is narrowed by the umask, and must not be.
    fchmodSync(handle, 0o600)
    writeSync(handle, `${JSON.stringify({ current, profiles: entries }, null, 2)}\n`)
  } finally {
    closeSync(handle)
  }
  syncFile(part)
  renameSync(part, path)
  syncFolder(dirname(path))
}

// Undefined: there is no file. The mode is that of the opened file, which cannot be exchanged after the check.
function readPrivate(path: string): string | undefined {
  let handle: number
  try {
    // A pipe in its place must not block.
    handle = openSync(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
  try {
    const stat = fstatSync(handle)
    if (!stat.isFile()) throw new BadUsage(`${path} is not a file; delete it and run "turnpike login" again`)
    const { mode, uid, size } = stat
    const isOthers = process.getuid !== undefined && uid !== process.getuid()
    if (isOthers) throw new BadUsage(`${path} belongs to another user, so it is not used`)
    if (process.platform !== 'win32' && (mode & OTHERS) !== 0)
      throw new BadUsage(`other users can read ${path}, so it is not used; run: chmod 600 ${path}`)
    if (size > FILE_BYTES_MAX) throw new BadUsage(`${path} is larger than ${FILE_BYTES_MAX} bytes`)
    return readFileSync(handle, 'utf8')
  } finally {
    closeSync(handle)
  }
}

function parseProfiles(value: unknown): Profiles {
  const { current, profiles } = value as { current?: unknown; profiles: Record<string, Partial<Profile>> }
  const entries = Object.entries(profiles).map(([name, { url, token }]) => {
    if (typeof url !== 'string' || typeof token !== 'string' || !NAME.test(name)) throw new TypeError('not a profile')
    return [name, { url: gatewayUrl('url', url), token }] as const
  })
  return { current: typeof current === 'string' ? current : undefined, entries: Object.fromEntries(entries) }
}
