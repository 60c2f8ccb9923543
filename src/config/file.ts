// The configuration file: its catalog and settings. Everything is optional, nothing is guessed, and a bad file changes nothing.
import { createHash } from 'node:crypto'
import { readFileSync, statSync } from 'node:fs'
import { type ModelDeclaration, modelOf } from '../catalog/model.ts'
import { declarationOf, type ProviderDeclaration, providerOf } from '../catalog/provider.ts'
import { isDecimal, type ModelInput, type ProviderInput } from '../catalog/schema.ts'
import type { Provider } from '../domain/catalog.ts'
import { parseCredits } from '../domain/credits.ts'
import { type Exchange, formatFactor } from '../domain/dollars.ts'
import { type KeyDefaults, SCOPES } from '../domain/key.ts'
import { BadConfig } from './bad-config.ts'
import { exchangeOf, refuseMistakes } from './file-rules.ts'
import { type FileInput, FileSchema } from './file-schema.ts'
import { BOUNDS } from './limits.ts'
import { NO_PORTAL_BRAND, type PortalBrand, portalBrandOf } from './portal.ts'
import { openYaml } from './yaml.ts'

export type Brand = { readonly keyPrefix: string; readonly headerPrefix: string }

export type FileCatalog = {
  readonly providers: readonly ProviderDeclaration[]
  readonly models: readonly ModelDeclaration[]
  readonly exchange: Exchange
  // The rate that the file states; null if it is the default of one credit per dollar.
  readonly creditsPerUsd: string | null
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
  readonly updateUrl: string | undefined
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
  updateUrl: undefined,
}

export function readConfigFile(path: string, env: Readonly<Record<string, string | undefined>>): FileSettings {
  const text = readBounded(path)
  const yaml = openYaml(path, text, { env, schema: FileSchema, isDecimal })
  // An empty file, or one with only comments, declares an empty catalog.
  const file = (yaml.resolved ?? {}) as FileInput
  refuseMistakes(path, yaml, file)
  const digest = createHash('sha256').update(text).digest('hex')
  return { catalog: { ...catalogOf(file, (yaml.raw ?? {}) as FileInput), digest }, ...settingsOf(file) }
}

function catalogOf(file: FileInput, raw: FileInput): Omit<FileCatalog, 'digest'> {
  const { providers = [], models = [] } = file
  const exchange = exchangeOf(file)
  return {
    providers: providers.map(declarationOf),
    models: models.map(model => modelOf(model, exchange)),
    exchange,
    creditsPerUsd: file.credits_per_usd === undefined ? null : formatFactor(exchange.creditsPerUsd),
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
    updateUrl: file.update_url ?? NO_FILE.updateUrl,
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
