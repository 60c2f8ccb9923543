// Single variables of the environment, each checked and turned into what the Config holds. A message names the variable
// and the rule; of values it repeats address ranges alone.

import type { FailpointAction } from '../lib/failpoint.ts'
import { BadCidr, parseCidrs } from '../lib/ip-address.ts'
import { LOG_LEVELS, type LogLevel } from '../telemetry/log.ts'
import { BadConfig } from './yaml.ts'

export type Environment = Readonly<Record<string, string | undefined>>
export type Listen = { readonly host: string; readonly port: number }
export type Failpoints = Readonly<Record<string, FailpointAction>>

// An empty variable is an unset one (compose files pass those). Kubernetes sets TURNPIKE_PORT and its like to
// tcp://… beside a service of our name; those are not ours.
export function read(env: Environment, name: string): string | undefined {
  const value = env[name]
  return value === undefined || value === '' || value.startsWith('tcp://') ? undefined : value
}

export function hostName(name: string, value: string): string {
  const host = /^\[.*\]$/.test(value) ? value.slice(1, -1) : value
  if (!/^[A-Za-z0-9.:%_-]{1,255}$/.test(host)) throw new BadConfig(`${name} must be a host name or an address`)
  return host
}

export function portNumber(name: string, value: string): number {
  if (!/^\d{1,5}$/.test(value) || Number(value) > 65_535) throw new BadConfig(`${name} must be a port, 0 to 65535`)
  return Number(value)
}

// "off", "9090", ":9090", "10.0.0.1:9090" or "[::1]:9090".
export function adminListen(env: Environment): Listen | 'off' | undefined {
  const name = 'TURNPIKE_ADMIN_LISTEN'
  const value = read(env, name)
  if (value === undefined || value === 'off') return value
  const match = /^(?:(\[[^\]]+\]|[^:]*):)?(\d+)$/.exec(value)
  if (match === null) throw new BadConfig(`${name} must be "off", a port, or host:port`)
  return { host: hostName(name, match[1] || '127.0.0.1'), port: portNumber(name, match[2] ?? '') }
}

export function token(env: Environment, name: string, min: number): string | undefined {
  const value = read(env, name)
  if (value !== undefined && (value.length < min || value.length > 1024 || !/^[\x21-\x7e]+$/.test(value))) {
    throw new BadConfig(`${name} must be ${min} to 1024 visible ASCII characters`)
  }
  return value
}

export function encryptionKey(env: Environment, name: string): string | undefined {
  const value = read(env, name)
  if (value === undefined) return undefined
  if (/^[0-9a-fA-F]{64}$/.test(value)) return value.toLowerCase()
  if (/^[A-Za-z0-9+/_-]{43}=?$/.test(value)) return Buffer.from(value, 'base64').toString('hex')
  throw new BadConfig(`${name} must be 32 bytes, in hex or base64`)
}

// Of the address only its kind is checked, and nothing of it is repeated: it bears a password. What several nodes share
// cannot be made by one of them: they are given it.
export function databaseUrl(env: Environment): string | undefined {
  const value = read(env, 'DATABASE_URL')
  if (value === undefined) return undefined
  if (!/^postgres(ql)?:$/.test(URL.parse(value)?.protocol ?? '')) {
    throw new BadConfig('DATABASE_URL must be a postgres:// address')
  }
  for (const name of ['TURNPIKE_ENCRYPTION_KEY', 'TURNPIKE_ADMIN_TOKEN']) {
    if (read(env, name) === undefined) throw new BadConfig(`DATABASE_URL needs ${name} as well, the same on every node`)
  }
  return value
}

const WORKERS_MAX = 64

export function workerCount(env: Environment): number {
  const value = read(env, 'TURNPIKE_WORKERS') ?? '1'
  if (!/^\d{1,2}$/.test(value) || Number(value) < 1 || Number(value) > WORKERS_MAX) {
    throw new BadConfig(`TURNPIKE_WORKERS must be a number of processes, 1 to ${WORKERS_MAX}`)
  }
  if (Number(value) > 1 && read(env, 'DATABASE_URL') === undefined) {
    throw new BadConfig('TURNPIKE_WORKERS above 1 needs DATABASE_URL: the embedded store is for one process')
  }
  return Number(value)
}

// As above, nothing of the address is repeated. Options behind it would be ignored in silence, so there may be none.
export function redisUrl(env: Environment): string | undefined {
  const value = read(env, 'REDIS_URL')
  if (value === undefined) return undefined
  const url = URL.parse(value)
  if (url === null || !/^rediss?:$/.test(url.protocol) || url.hostname === '') {
    throw new BadConfig('REDIS_URL must be a redis:// or rediss:// address')
  }
  if (!/^(\/\d{0,5})?$/.test(url.pathname) || url.search !== '' || url.hash !== '') {
    throw new BadConfig('REDIS_URL: behind the host there may be the number of a database, as in redis://host:6379/0')
  }
  if (!isDecodable(url.username) || !isDecodable(url.password)) {
    throw new BadConfig('REDIS_URL: the user or the password is not percent-encoded as it should be')
  }
  return value
}

function isDecodable(text: string): boolean {
  try {
    decodeURIComponent(text)
    return true
  } catch {
    return false
  }
}

export function trustedProxies(env: Environment): readonly string[] | undefined {
  const value = read(env, 'TURNPIKE_TRUSTED_PROXIES')
  if (value === undefined) return undefined
  const ranges = value.split(',').map(range => range.trim())
  try {
    parseCidrs(ranges)
  } catch (error) {
    if (!(error instanceof BadCidr)) throw error
    throw new BadConfig(`TURNPIKE_TRUSTED_PROXIES: ${error.message}`)
  }
  return ranges
}

export function flag(env: Environment, name: string, otherwise: boolean): boolean {
  const value = read(env, name)
  if (value === undefined) return otherwise
  if (['1', 'true', 'yes', 'on'].includes(value)) return true
  if (['0', 'false', 'no', 'off'].includes(value)) return false
  throw new BadConfig(`${name} must be 1 or 0`)
}

export function logLevel(env: Environment): LogLevel {
  const value = read(env, 'TURNPIKE_LOG_LEVEL') ?? 'info'
  const level = LOG_LEVELS.find(known => known === value)
  if (level === undefined) throw new BadConfig(`TURNPIKE_LOG_LEVEL must be one of ${LOG_LEVELS.join(', ')}`)
  return level
}

// For tests: "after_hold=kill,before_settle=sleep:100"; "after_hold=throw*2" means the first two times only.
export function failpoints(env: Environment): Failpoints {
  const points: Record<string, FailpointAction> = {}
  for (const part of (read(env, 'TURNPIKE_FAILPOINTS') ?? '').split(',').filter(Boolean)) {
    const match = /^([a-z][a-z0-9_]*)=(?:(kill|throw)|sleep:(\d{1,7}))(?:\*(\d{1,4}))?$/.exec(part.trim())
    if (match === null) throw new BadConfig('TURNPIKE_FAILPOINTS: each must be name=kill, name=throw or name=sleep:MS')
    const [, name = '', action, ms, times] = match
    points[name] = {
      ...(action === 'kill' || action === 'throw' ? { action } : { action: 'sleep', ms: Number(ms) }),
      ...(times === undefined ? {} : { times: Number(times) }),
    }
  }
  return points
}
