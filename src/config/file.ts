// The configuration file: its catalog and settings. Everything is optional, nothing is guessed, and a bad file changes nothing.
import { createHash } from 'node:crypto'
import { readFileSync, statSync } from 'node:fs'
import type { Provider } from '../domain/catalog.ts'
import { type Nano, parseCredits } from '../domain/credits.ts'
import {
  ALLOWLIST_ENTRIES_MAX,
  CONCURRENT_LIMIT_MAX,
  DAILY_LIMIT_MAX,
  type KeyDefaults,
  RPM_LIMIT_MAX,
  SCOPES,
} from '../domain/key.ts'
import { BadCidr, parseCidrs } from '../lib/ip-address.ts'
import { type FileCatalog, type FileModel, readCatalog } from './catalog.ts'
import { BOUNDS } from './limits.ts'
import { EXCHANGE_KEYS } from './prices.ts'
import {
  BadConfig,
  type Fields,
  fail,
  isNull,
  kept,
  openYaml,
  type Place,
  readChoice,
  readDecimal,
  readFields,
  readFlag,
  readInteger,
  readList,
  readName,
  readSeconds,
  readTexts,
} from './yaml.ts'

export type Brand = { readonly keyPrefix: string; readonly headerPrefix: string }

export type FileSettings = {
  readonly catalog: FileCatalog & FileText
  readonly brand: Brand
  readonly defaults: KeyDefaults
  readonly trustedProxies: readonly string[]
  readonly corsOrigins: readonly string[]
  // Whether callers may request an explanation of the routing.
  readonly explain: boolean
  // Whether an address entered through the API may be private.
  readonly allowPrivateUpstreams: boolean
  readonly drainDelayMs: number
  readonly drainMaxMs: number
  // Null: usage rows are kept for ever.
  readonly usageRetentionDays: number | null
}

// The file's digest, and what may be stored of it: values from the environment stay in memory. Names of providers and models,
// choices and prices are public and stored resolved.
export type FileText = {
  readonly digest: string
  readonly written: { readonly providers: readonly Provider[]; readonly models: readonly FileModel[] }
}

export const NO_FILE: Omit<FileSettings, 'catalog'> = {
  brand: { keyPrefix: 'svc_live_', headerPrefix: 'X-Svc-' },
  defaults: {
    scopes: SCOPES,
    ipAllowlist: [],
    rpmLimit: 300,
    dailyLimit: 10_000,
    creditLimit: null,
    maxConcurrent: 100,
    expiresAt: null,
  },
  trustedProxies: [],
  corsOrigins: [],
  explain: true,
  allowPrivateUpstreams: false,
  drainDelayMs: BOUNDS.drainDelayMs,
  drainMaxMs: BOUNDS.drainMaxMs,
  usageRetentionDays: null,
}

// The settings of the file; all are only read at start.
export const FILE_SETTINGS = [
  'defaults',
  'brand',
  'trusted_proxies',
  'cors_origins',
  'explain',
  'allow_private_upstreams',
  'drain_delay',
  'drain_max',
  'usage_retention_days',
]
const KEYS = ['providers', 'models', ...EXCHANGE_KEYS, ...FILE_SETTINGS]

export function readConfigFile(path: string, env: Readonly<Record<string, string | undefined>>): FileSettings {
  const text = readBounded(path)
  const root = openYaml(path, text, env)
  const file = fieldsOf(root)
  const digest = createHash('sha256').update(text).digest('hex')
  return {
    catalog: { ...readCatalog(file), digest, written: asWritten(root) },
    brand: file.optional('brand', readBrand, NO_FILE.brand),
    defaults: file.optional('defaults', readDefaults, NO_FILE.defaults),
    trustedProxies: file.optional(
      'trusted_proxies',
      place => readRanges(place, BOUNDS.trustedProxiesMax),
      NO_FILE.trustedProxies,
    ),
    corsOrigins: file.optional('cors_origins', readOrigins, NO_FILE.corsOrigins),
    explain: file.optional('explain', readFlag, NO_FILE.explain),
    allowPrivateUpstreams: file.optional('allow_private_upstreams', readFlag, NO_FILE.allowPrivateUpstreams),
    drainDelayMs: file.optional('drain_delay', place => readSeconds(place, 3600), NO_FILE.drainDelayMs),
    drainMaxMs: file.optional('drain_max', place => readSeconds(place, 24 * 3600), NO_FILE.drainMaxMs),
    usageRetentionDays: file.optional(
      'usage_retention_days',
      place => readInteger(place, 1, BOUNDS.usageRetentionDaysMax),
      NO_FILE.usageRetentionDays,
    ),
  }
}

// An empty file, or one with only comments, declares an empty catalog.
function fieldsOf(root: Place): Fields {
  return isNull(root) ? noFields(root) : readFields(root, KEYS)
}

function asWritten(root: Place): FileText['written'] {
  const { providers, models } = readCatalog(fieldsOf(kept(root)))
  return { providers: providers.map(({ credentials: _, ...provider }) => provider), models }
}

function noFields(root: Place): Fields {
  return { optional: (_name, _read, otherwise) => otherwise, need: name => fail(root, name) }
}

function readBounded(path: string): string {
  let bytes: Buffer
  try {
    const { size } = statSync(path)
    if (size > BOUNDS.configBytesMax) throw new BadConfig(`${path}: is larger than ${BOUNDS.configBytesMax} bytes`)
    bytes = readFileSync(path)
  } catch (error) {
    if (error instanceof BadConfig) throw error
    throw new BadConfig(`${path}: cannot be read (${(error as NodeJS.ErrnoException).code ?? 'unknown reason'})`)
  }
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    throw new BadConfig(`${path}: is not UTF-8 text`)
  }
}

function readBrand(place: Place): Brand {
  const fields = readFields(place, ['key_prefix', 'header_prefix'])
  const keyRule = 'must be 1 to 32 letters, digits, dashes or underscores'
  const headerRule = 'must be 2 to 32 letters, digits and dashes, from a letter to a dash, such as "X-Svc-"'
  const key = (entry: Place) => readName(entry, /^[A-Za-z0-9_-]{1,32}$/, keyRule)
  const header = (entry: Place) => readName(entry, /^[A-Za-z][A-Za-z0-9-]{0,30}-$/, headerRule)
  return {
    keyPrefix: fields.optional('key_prefix', key, NO_FILE.brand.keyPrefix),
    headerPrefix: fields.optional('header_prefix', header, NO_FILE.brand.headerPrefix),
  }
}

function readDefaults(place: Place): KeyDefaults {
  const known = ['scopes', 'ip_allowlist', 'rpm_limit', 'daily_limit', 'credit_limit', 'max_concurrent']
  const fields = readFields(place, known)
  const usual = NO_FILE.defaults
  return {
    scopes: fields.optional(
      'scopes',
      entry => readList(entry, SCOPES.length).map(scope => readChoice(scope, SCOPES)),
      usual.scopes,
    ),
    ipAllowlist: fields.optional('ip_allowlist', entry => readRanges(entry, ALLOWLIST_ENTRIES_MAX), usual.ipAllowlist),
    rpmLimit: fields.optional('rpm_limit', entry => readInteger(entry, 1, RPM_LIMIT_MAX), usual.rpmLimit),
    dailyLimit: fields.optional(
      'daily_limit',
      orNull(entry => readInteger(entry, 1, DAILY_LIMIT_MAX)),
      usual.dailyLimit,
    ),
    creditLimit: fields.optional('credit_limit', orNull(readCredits), usual.creditLimit),
    expiresAt: null,
    maxConcurrent: fields.optional(
      'max_concurrent',
      entry => readInteger(entry, 1, CONCURRENT_LIMIT_MAX),
      usual.maxConcurrent,
    ),
  }
}

function orNull<T>(reader: (place: Place) => T): (place: Place) => T | null {
  return place => (isNull(place) ? null : reader(place))
}

function readCredits(place: Place): Nano {
  const credits = parseCredits(readDecimal(place))
  const rule = 'must be credits as a plain decimal: not negative, no exponent, at most 9 decimals'
  return credits !== undefined && credits >= 0n ? credits : fail(place, rule)
}

function readRanges(place: Place, max: number): readonly string[] {
  const ranges = readTexts(place, max)
  try {
    parseCidrs(ranges)
  } catch (error) {
    if (!(error instanceof BadCidr)) throw error
    fail(place, error.message)
  }
  return ranges
}

function readOrigins(place: Place): readonly string[] {
  return readList(place, BOUNDS.namesPerListMax).map(entry => {
    const origin = readName(entry, /^https?:\/\//, 'must be an origin such as "https://app.example.com"')
    return URL.parse(origin)?.origin === origin
      ? origin
      : fail(entry, 'must be an origin alone: no path, no slash at its end')
  })
}
