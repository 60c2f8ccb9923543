// The configuration file: its catalog and settings. Everything is optional, nothing is guessed, and a bad file changes nothing.
import { createHash } from 'node:crypto'
import { readFileSync, statSync } from 'node:fs'
import { type Static, Type } from 'typebox'
import { catalogFaultsFinder, first } from '../catalog/document.ts'
import { type ModelDeclaration, modelOf } from '../catalog/model.ts'
import { declarationOf, type ProviderDeclaration, providerOf } from '../catalog/provider.ts'
import { modelFaults, modelNameFaults, providerFaults, providerNameFaults, textFaults } from '../catalog/rules.ts'
import {
  Credits,
  FACTOR_WORDS,
  Factor,
  isDecimal,
  type ModelInput,
  ModelSchema,
  type ProviderInput,
  ProviderSchema,
  strict,
  TEXT_MAX,
  texts,
} from '../catalog/schema.ts'
import type { Provider } from '../domain/catalog.ts'
import { parseCredits } from '../domain/credits.ts'
import { AT_PAR, type Exchange, parseFactor } from '../domain/dollars.ts'
import {
  ALLOWLIST_ENTRIES_MAX,
  CONCURRENT_LIMIT_MAX,
  DAILY_LIMIT_MAX,
  type KeyDefaults,
  RPM_LIMIT_MAX,
  SCOPES,
} from '../domain/key.ts'
import { BadCidr, parseCidrs } from '../lib/ip-address.ts'
import { type Fault, type Faults, invalidField, type Path } from '../lib/schema-fault.ts'
import { BadConfig } from './bad-config.ts'
import { BOUNDS } from './limits.ts'
import { NO_PORTAL_BRAND, PORTAL_WORDS, type PortalBrand, PortalSchema, portalBrandOf, portalFaults } from './portal.ts'
import { openYaml, type YamlFile } from './yaml.ts'

export type Brand = { readonly keyPrefix: string; readonly headerPrefix: string }

export type FileCatalog = {
  readonly providers: readonly ProviderDeclaration[]
  readonly models: readonly ModelDeclaration[]
  readonly exchange: Exchange
  // It names neither providers nor models.
  readonly isSilent: boolean
  // The digest of the file's text.
  readonly digest: string
  // What may be stored of it: values from the environment stay in memory. Names of providers and models, choices and prices
  // are public and stored resolved.
  readonly raw: { readonly providers: readonly Provider[]; readonly models: readonly ModelDeclaration[] }
}

export type FileSettings = {
  readonly catalog: FileCatalog
  readonly brand: Brand
  readonly defaults: KeyDefaults
  readonly trustedProxies: readonly string[]
  readonly corsOrigins: readonly string[]
  // Whether callers may request an explanation of the routing.
  readonly explain: boolean
  // Whether a key sees the operator's cost of its own requests.
  readonly showUpstreamCost: boolean
  // Whether an address entered through the API may be private.
  readonly allowPrivateUpstreams: boolean
  readonly drainDelayMs: number
  readonly drainMaxMs: number
  // Null: usage rows are kept forever.
  readonly usageRetentionDays: number | null
  readonly tracing: Tracing
  readonly portal: PortalBrand
}

// Whether a caller's `traceparent` is the parent of its request, and whether providers get one.
export type Tracing = { readonly trustTraceparent: boolean; readonly propagateTraceparent: boolean }

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
  showUpstreamCost: true,
  allowPrivateUpstreams: false,
  drainDelayMs: BOUNDS.drainDelayMs,
  drainMaxMs: BOUNDS.drainMaxMs,
  usageRetentionDays: null,
  tracing: { trustTraceparent: false, propagateTraceparent: false },
  portal: NO_PORTAL_BRAND,
}

const KEY_PREFIX = '^[A-Za-z0-9_-]{1,32}$'
const HEADER_PREFIX = '^[A-Za-z][A-Za-z0-9-]{0,30}-$'
const ORIGIN = '^https?://'
const WORDS: Readonly<Record<string, string>> = {
  [KEY_PREFIX]: '1 to 32 letters, digits, dashes or underscores',
  [HEADER_PREFIX]: '2 to 32 letters, digits and dashes, from a letter to a dash, such as "X-Svc-"',
  [ORIGIN]: 'an origin such as "https://app.example.com"',
  ...PORTAL_WORDS,
}

const seconds = (maximum: number) => Type.Number({ minimum: 0, maximum })
const limit = (maximum: number) => Type.Integer({ minimum: 1, maximum })

// Only read at start; the catalog and its factors also when the file is applied.
const SETTINGS = {
  defaults: Type.Object(
    {
      scopes: Type.Optional(Type.Array(Type.Enum([...SCOPES]), { maxItems: SCOPES.length })),
      ip_allowlist: Type.Optional(texts(ALLOWLIST_ENTRIES_MAX)),
      rpm_limit: Type.Optional(limit(RPM_LIMIT_MAX)),
      daily_limit: Type.Optional(Type.Union([limit(DAILY_LIMIT_MAX), Type.Null()])),
      credit_limit: Type.Optional(Type.Union([Credits, Type.Null()])),
      max_concurrent: Type.Optional(limit(CONCURRENT_LIMIT_MAX)),
    },
    strict,
  ),
  brand: Type.Object(
    {
      key_prefix: Type.Optional(Type.String({ pattern: KEY_PREFIX })),
      header_prefix: Type.Optional(Type.String({ pattern: HEADER_PREFIX })),
    },
    strict,
  ),
  trusted_proxies: texts(BOUNDS.trustedProxiesMax),
  cors_origins: Type.Array(Type.String({ pattern: ORIGIN, maxLength: TEXT_MAX }), { maxItems: BOUNDS.namesPerListMax }),
  explain: Type.Boolean(),
  show_upstream_cost: Type.Boolean(),
  allow_private_upstreams: Type.Boolean(),
  drain_delay: seconds(3600),
  drain_max: seconds(24 * 3600),
  usage_retention_days: limit(BOUNDS.usageRetentionDaysMax),
  telemetry: Type.Object(
    {
      trust_traceparent: Type.Optional(Type.Boolean()),
      propagate_traceparent: Type.Optional(Type.Boolean()),
    },
    strict,
  ),
  portal: PortalSchema,
}
export const FILE_SETTINGS = Object.keys(SETTINGS)

const FileSchema = Type.Partial(
  Type.Object({
    providers: Type.Array(ProviderSchema, { maxItems: BOUNDS.providersMax }),
    models: Type.Array(ModelSchema, { maxItems: BOUNDS.modelsMax }),
    credits_per_usd: Factor,
    markup: Factor,
    ...SETTINGS,
  }),
  strict,
)
type FileInput = Static<typeof FileSchema>

const faultsOf = catalogFaultsFinder(FileSchema, WORDS)
const MISTAKES_MAX = 50

export function readConfigFile(path: string, env: Readonly<Record<string, string | undefined>>): FileSettings {
  const text = readBounded(path)
  const yaml = openYaml(path, text, { env, schema: FileSchema, isDecimal })
  // An empty file, or one with only comments, declares an empty catalog.
  const file = (yaml.resolved ?? {}) as FileInput
  refuse(path, yaml, file)
  const digest = createHash('sha256').update(text).digest('hex')
  return { catalog: { ...catalogOf(file, (yaml.raw ?? {}) as FileInput), digest }, ...settingsOf(file) }
}

// All mistakes at once. Rules rely on a valid shape, so that they are checked only then.
function refuse(path: string, yaml: YamlFile, file: FileInput): void {
  const shape = [...yaml.faults, ...shapeFaults(file)]
  const faults = shape.length > 0 ? shape : [...fileFaults(file)]
  if (faults.length === 0) return
  // The first one of a path: what follows at the same place is a consequence of it.
  const byPath = new Map(faults.toReversed().map(fault => [JSON.stringify(fault.path), fault]))
  const problems = [...byPath.values()].toReversed().map(fault => yaml.problemOf(fault))
  const inOrder = problems.sort((a, b) => (a.line ?? 0) - (b.line ?? 0) || (a.column ?? 0) - (b.column ?? 0))
  const more = inOrder.length - MISTAKES_MAX
  throw new BadConfig([
    ...inOrder.slice(0, MISTAKES_MAX),
    ...(more > 0 ? [{ file: path, message: `has ${more} more mistakes` }] : []),
  ])
}

// Each setting, provider and model by itself: one check reports only a few faults.
function shapeFaults(file: FileInput): readonly Fault[] {
  const whole = faultsOf(file)
  if (whole.length === 0 || typeof file !== 'object' || Array.isArray(file)) return whole
  const parts = Object.entries(file).flatMap(([name, value]) => {
    if (!Array.isArray(value) || (name !== 'providers' && name !== 'models')) return faultsOf({ [name]: value })
    return value.flatMap((entry, index) =>
      faultsOf({ [name]: [entry] }).map(fault => ({ ...fault, path: [name, index, ...fault.path.slice(2)] })),
    )
  })
  return parts.length === 0 ? whole : parts
}

function catalogOf(file: FileInput, raw: FileInput): Omit<FileCatalog, 'digest'> {
  const { providers = [], models = [] } = file
  const exchange = exchangeOf(file)
  return {
    providers: providers.map(declarationOf),
    models: models.map(model => modelOf(model, exchange)),
    exchange,
    isSilent: file.providers === undefined && file.models === undefined,
    raw: {
      providers: providers.map((provider, index) =>
        providerOf(rawProvider(raw.providers?.[index], provider), provider),
      ),
      models: models.map((model, index) => modelOf(rawModel(raw.models?.[index], model), exchange)),
    },
  }
}

// Names, choices and prices are resolved in the stored form too.
function rawProvider(raw: ProviderInput | undefined, resolved: ProviderInput): ProviderInput {
  return {
    ...resolved,
    ...raw,
    ...picked(resolved, ['id', 'kind', 'preset', 'auth_header', 'max_tokens_field', 'api']),
  }
}

function rawModel(raw: ModelInput | undefined, resolved: ModelInput): ModelInput {
  const names = picked(resolved, ['id', 'aliases', 'input_modalities', 'strategy', 'pricing'])
  const targets = resolved.targets.map((target, index) => ({
    ...target,
    model: raw?.targets[index]?.model ?? target.model,
  }))
  return { ...resolved, ...raw, ...names, targets }
}

function picked<T extends object, K extends keyof T>(value: T, names: readonly K[]): Pick<T, K> {
  return Object.fromEntries(names.filter(name => name in value).map(name => [name, value[name]])) as Pick<T, K>
}

function settingsOf(file: FileInput): Omit<FileSettings, 'catalog'> {
  const { brand, defaults = {}, drain_delay: delay, drain_max: max } = file
  const usual = NO_FILE.defaults
  const { credit_limit: credits = null } = defaults
  return {
    brand: {
      keyPrefix: brand?.key_prefix ?? NO_FILE.brand.keyPrefix,
      headerPrefix: brand?.header_prefix ?? NO_FILE.brand.headerPrefix,
    },
    defaults: {
      scopes: defaults.scopes ?? usual.scopes,
      ipAllowlist: defaults.ip_allowlist ?? usual.ipAllowlist,
      rpmLimit: defaults.rpm_limit ?? usual.rpmLimit,
      // Null: no limit.
      dailyLimit: defaults.daily_limit === undefined ? usual.dailyLimit : defaults.daily_limit,
      creditLimit: credits === null ? null : (parseCredits(credits) ?? null),
      maxConcurrent: defaults.max_concurrent ?? usual.maxConcurrent,
      expiresAt: null,
    },
    trustedProxies: file.trusted_proxies ?? NO_FILE.trustedProxies,
    corsOrigins: file.cors_origins ?? NO_FILE.corsOrigins,
    explain: file.explain ?? NO_FILE.explain,
    showUpstreamCost: file.show_upstream_cost ?? NO_FILE.showUpstreamCost,
    allowPrivateUpstreams: file.allow_private_upstreams ?? NO_FILE.allowPrivateUpstreams,
    drainDelayMs: delay === undefined ? NO_FILE.drainDelayMs : Math.round(delay * 1000),
    drainMaxMs: max === undefined ? NO_FILE.drainMaxMs : Math.round(max * 1000),
    usageRetentionDays: file.usage_retention_days ?? NO_FILE.usageRetentionDays,
    tracing: {
      trustTraceparent: file.telemetry?.trust_traceparent ?? NO_FILE.tracing.trustTraceparent,
      propagateTraceparent: file.telemetry?.propagate_traceparent ?? NO_FILE.tracing.propagateTraceparent,
    },
    portal: portalBrandOf(file.portal),
  }
}

function exchangeOf({ credits_per_usd: rate, markup }: FileInput): Exchange {
  return {
    creditsPerUsd: (rate === undefined ? undefined : parseFactor(rate)) ?? AT_PAR.creditsPerUsd,
    markup: (markup === undefined ? undefined : parseFactor(markup)) ?? AT_PAR.markup,
  }
}

// Rules that the schema cannot express.
function* fileFaults(file: FileInput): Faults {
  yield* textFaults(file, 'resolved')
  for (const name of ['credits_per_usd', 'markup'] as const)
    if (file[name] !== undefined && parseFactor(file[name]) === undefined)
      yield invalidField([name], `must be ${FACTOR_WORDS}`)
  const { providers = [], models = [], defaults } = file
  for (const [index, provider] of providers.entries())
    yield* within(['providers', index], providerFaults(provider, 'now'))
  yield* providerNameFaults(providers)
  const known = {
    providers: new Set(providers.map(({ id }) => id)),
    exchange: exchangeOf(file),
    unknownProvider: 'names a provider that this file does not declare',
  }
  for (const [index, model] of models.entries()) yield* within(['models', index], modelFaults(model, known))
  yield* modelNameFaults(models)
  if (typeof defaults?.credit_limit === 'string' && parseCredits(defaults.credit_limit) === undefined)
    yield invalidField(['defaults', 'credit_limit'], 'is too high')
  yield* rangeFaults(['defaults', 'ip_allowlist'], defaults?.ip_allowlist)
  yield* rangeFaults(['trusted_proxies'], file.trusted_proxies)
  yield* portalFaults(file.portal)
  for (const [index, origin] of (file.cors_origins ?? []).entries())
    if (URL.parse(origin)?.origin !== origin)
      yield invalidField(['cors_origins', index], 'must be an origin alone, without a path or a slash at its end')
}

// The first fault of an entry, whose rules may rely on those before them.
function* within(path: Path, faults: Faults): Faults {
  const fault = first(faults)
  if (fault !== undefined) yield { ...fault, path: [...path, ...fault.path] } satisfies Fault
}

function* rangeFaults(path: Path, ranges: readonly string[] = []): Faults {
  try {
    parseCidrs(ranges)
  } catch (error) {
    if (!(error instanceof BadCidr)) throw error
    yield invalidField([...path, error.index], error.message)
  }
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
