// The variables that single commands read, without the whole configuration: a command need not load what only a server uses.
import { homedir } from 'node:os'
import { isAbsolute, join } from 'node:path'
import { withoutTrailing } from '../lib/text.ts'
import { BadConfig } from './bad-config.ts'
import { dataDirOf, read, token } from './env.ts'

export const DEFAULT_URL = 'http://127.0.0.1:8080'

// What the environment says about the gateway that commands call.
export type ClientEnv = {
  readonly url: string | undefined
  readonly adminToken: string | undefined
  readonly apiKey: string | undefined
  readonly profile: string | undefined
}

export function loadClientEnv(env: NodeJS.ProcessEnv = process.env): ClientEnv {
  const url = read(env, 'TURNPIKE_URL')
  return {
    url: url === undefined ? undefined : gatewayUrl('TURNPIKE_URL', url),
    adminToken: token(env, 'TURNPIKE_ADMIN_TOKEN', 1),
    apiKey: token(env, 'TURNPIKE_API_KEY', 1),
    profile: read(env, 'TURNPIKE_PROFILE'),
  }
}

// Without a slash at its end.
export function gatewayUrl(name: string, text: string): string {
  const url = URL.parse(text)
  if (url === null || !['http:', 'https:'].includes(url.protocol) || url.username !== '') {
    throw new BadConfig(`${name} must be an http:// or https:// URL without credentials`)
  }
  return withoutTrailing(url.href, '/')
}

// The folder of the user's own settings, by the XDG specification; relative paths in it are ignored.
export function userConfigDir(env: NodeJS.ProcessEnv = process.env): string {
  const given = read(env, 'XDG_CONFIG_HOME')
  return join(given !== undefined && isAbsolute(given) ? given : join(homedir(), '.config'), 'turnpike')
}

// The configuration of a command that works on the data directory itself, even where the rest of the configuration is broken. A
// data directory that the gateway does not use is refused.
export function loadDataDir(env: NodeJS.ProcessEnv = process.env, cwd: string = process.cwd()): string {
  if (loadDatabaseUrl(env) !== undefined) {
    throw new BadConfig('DATABASE_URL is set, but this command is for SQLite only; use pg_dump for Postgres')
  }
  return dataDirOf(env, cwd)
}

// The configuration of a command that only reads the database.
export function loadDatabaseUrl(env: NodeJS.ProcessEnv = process.env): string | undefined {
  return read(env, 'DATABASE_URL')
}

// A secret for a command, from the variable that its caller names.
export function readSecretVariable(name: string, env: NodeJS.ProcessEnv = process.env): string | undefined {
  return read(env, name)
}
