// Environment and configuration file → one frozen Config.
import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { KeyDefaults } from '../domain/key.ts'
import type { LogLevel } from '../telemetry/log.ts'
import { BadConfig } from './bad-config.ts'
import { type Detected, detectProviders } from './detect-providers.ts'
import {
  adminListen,
  databaseUrl,
  dataDirOf,
  encryptionKey,
  type Failpoints,
  failpoints,
  flag,
  hostName,
  type Listen,
  logLevel,
  type Network,
  portNumber,
  read,
  readNetwork,
  redisUrl,
  token,
  trustedProxies,
  updateUrl,
  workerCount,
} from './env.ts'
import { type Brand, type FileCatalog, NO_FILE, readConfigFile, type Tracing } from './file.ts'
import { BOUNDS, type Bounds } from './limits.ts'
import { type Otel, readOtel } from './otel.ts'
import type { PortalBrand } from './portal.ts'

export type { Listen } from './env.ts'

export type Config = {
  readonly host: string
  readonly port: number
  // Undefined: the admin API and the dashboard are on the same listener as /v1.
  readonly adminListen: Listen | 'off' | undefined
  readonly dataDir: string
  // Undefined: SQLite in the data directory.
  readonly databaseUrl: string | undefined
  // The name of this node for operators; undefined: host name and port.
  readonly nodeName: string | undefined
  // Number of processes on one port.
  readonly workers: number
  // Undefined: each node counts requests per minute by itself.
  readonly redisUrl: string | undefined
  readonly configFile: string | undefined
  readonly adminToken: string | undefined
  // 32 bytes as 64 hex digits, whatever the input format.
  readonly encryptionKey: string | undefined
  // What was encrypted with it is encrypted again with the other one.
  readonly encryptionKeyPrevious: string | undefined
  readonly metricsToken: string | undefined
  readonly trustedProxies: readonly string[]
  readonly network: Network
  readonly logLevel: LogLevel
  // What is sent over OTLP, and what is done with the traces of callers.
  readonly otel: Otel
  readonly tracing: Tracing
  readonly brand: Brand
  readonly defaults: KeyDefaults
  readonly corsOrigins: readonly string[]
  readonly explain: boolean
  readonly showUpstreamCost: boolean
  readonly allowPrivateUpstreams: boolean
  readonly webhooksAllowPrivate: boolean
  // Undefined: switched off.
  readonly portal: PortalBrand | undefined
  // Where the latest version is read; undefined: nowhere.
  readonly updateUrl: string | undefined
  // A Postgres that may lose acknowledged commits gives a warning instead of an error.
  readonly allowUnsafeDatabase: boolean
  // Null: usage rows are kept forever.
  readonly usageRetentionDays: number | null
  // Undefined: there is no file.
  readonly catalog: FileCatalog | undefined
  // Providers whose keys are in the environment; empty where there is a file.
  readonly detected: Detected
  readonly bounds: Bounds
  readonly failpoints: Failpoints
}

const KNOWN = [
  'HOST',
  'PORT',
  'ADMIN_LISTEN',
  'DATA_DIR',
  'CONFIG',
  'ADMIN_TOKEN',
  'ENCRYPTION_KEY',
  'ENCRYPTION_KEY_PREVIOUS',
  'METRICS_TOKEN',
  'TRUSTED_PROXIES',
  'WORKERS',
  'FAST_PATH',
  'NODE_NAME',
  'DETECT_PROVIDERS',
  'ALLOW_PRIVATE_UPSTREAMS',
  'WEBHOOKS_ALLOW_PRIVATE',
  'PORTAL',
  'UPDATE_URL',
  'ALLOW_UNSAFE_DATABASE',
  'LOG_LEVEL',
  'URL',
  'API_KEY',
  'PROFILE',
  'FAILPOINTS',
].map(name => `TURNPIKE_${name}`)

export function loadConfig(env: NodeJS.ProcessEnv = process.env, cwd: string = process.cwd()): Config {
  refuseUnknown(env)
  const configFile = findConfigFile(env, cwd)
  const file = configFile === undefined ? { ...NO_FILE, catalog: undefined } : readConfigFile(configFile, env)
  return deepFreeze({
    host: hostName('TURNPIKE_HOST', read(env, 'TURNPIKE_HOST') ?? '127.0.0.1'),
    port: portNumber('TURNPIKE_PORT', read(env, 'TURNPIKE_PORT') ?? '8080'),
    adminListen: adminListen(env),
    dataDir: dataDirOf(env, cwd),
    databaseUrl: databaseUrl(env),
    nodeName: token(env, 'TURNPIKE_NODE_NAME', 1),
    workers: workerCount(env),
    redisUrl: redisUrl(env),
    configFile,
    adminToken: token(env, 'TURNPIKE_ADMIN_TOKEN', 16),
    encryptionKey: encryptionKey(env, 'TURNPIKE_ENCRYPTION_KEY'),
    encryptionKeyPrevious: encryptionKey(env, 'TURNPIKE_ENCRYPTION_KEY_PREVIOUS'),
    metricsToken: token(env, 'TURNPIKE_METRICS_TOKEN', 1),
    trustedProxies: trustedProxies(env) ?? file.trustedProxies,
    network: readNetwork(env),
    logLevel: logLevel(env),
    otel: readOtel(env),
    tracing: file.tracing,
    brand: file.brand,
    defaults: file.defaults,
    corsOrigins: file.corsOrigins,
    explain: file.explain,
    showUpstreamCost: file.showUpstreamCost,
    allowPrivateUpstreams: flag(env, 'TURNPIKE_ALLOW_PRIVATE_UPSTREAMS', file.allowPrivateUpstreams),
    webhooksAllowPrivate: flag(env, 'TURNPIKE_WEBHOOKS_ALLOW_PRIVATE', false),
    portal: flag(env, 'TURNPIKE_PORTAL', true) ? file.portal : undefined,
    updateUrl: updateUrl(env) ?? file.updateUrl,
    allowUnsafeDatabase: flag(env, 'TURNPIKE_ALLOW_UNSAFE_DATABASE', false),
    usageRetentionDays: file.usageRetentionDays,
    catalog: file.catalog,
    detected: detectProviders(flag(env, 'TURNPIKE_DETECT_PROVIDERS', true) && file.catalog === undefined ? env : {}),
    bounds: { ...BOUNDS, drainDelayMs: file.drainDelayMs, drainMaxMs: file.drainMaxMs },
    failpoints: failpoints(env),
  })
}

// The environment with another configuration file.
export function environmentWith(configFile: string | undefined): NodeJS.ProcessEnv {
  return configFile === undefined ? process.env : { ...process.env, TURNPIKE_CONFIG: configFile }
}

function refuseUnknown(env: NodeJS.ProcessEnv): void {
  for (const name of Object.keys(env)) {
    if (!name.startsWith('TURNPIKE_') || KNOWN.includes(name)) continue
    if (/^TURNPIKE_(SERVICE|PORT)_/.test(name) || env[name]?.startsWith('tcp://')) continue
    throw new BadConfig(`${name} is not a known variable; known are ${KNOWN.join(', ')}`)
  }
}

function findConfigFile(env: NodeJS.ProcessEnv, cwd: string): string | undefined {
  const given = read(env, 'TURNPIKE_CONFIG')
  if (given !== undefined) {
    const path = resolve(cwd, given)
    if (!existsSync(path)) throw new BadConfig(`TURNPIKE_CONFIG: there is no file ${path}`)
    return path
  }
  const usual = join(cwd, 'turnpike.yaml')
  return existsSync(usual) ? usual : undefined
}

function deepFreeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value)
    Object.values(value).forEach(deepFreeze)
  }
  return value
}
