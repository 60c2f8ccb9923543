// The variables that single commands read, without the whole configuration: a command need not load what only a server uses.
import { withoutTrailing } from '../lib/text.ts'
import { BadConfig } from './bad-config.ts'
import { dataDirOf, read, token } from './env.ts'

// The configuration of a command that calls a running gateway.
export function loadClientConfig(env: NodeJS.ProcessEnv = process.env): {
  url: string
  adminToken: string | undefined
  apiKey: string | undefined
} {
  const url = URL.parse(read(env, 'TURNPIKE_URL') ?? 'http://127.0.0.1:8080')
  if (url === null || !['http:', 'https:'].includes(url.protocol) || url.username !== '') {
    throw new BadConfig('TURNPIKE_URL must be an http:// or https:// URL without credentials')
  }
  return {
    url: withoutTrailing(url.href, '/'),
    adminToken: token(env, 'TURNPIKE_ADMIN_TOKEN', 1),
    apiKey: token(env, 'TURNPIKE_API_KEY', 1),
  }
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
