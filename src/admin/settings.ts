// The settings that the gateway was started with, as shown to operators: never a secret, and read-only.
import { formatCredits } from '../domain/credits.ts'
import type { KeyDefaults } from '../domain/key.ts'
import type { UpdateCheck } from './update-check.ts'

export type SettingsObject = {
  readonly object: 'settings'
  readonly version: string
  readonly engine: 'sqlite' | 'postgres'
  readonly redis: RedisState
  readonly brand: { readonly key_prefix: string; readonly header_prefix: string }
  readonly defaults: Readonly<Record<string, unknown>>
  readonly usage_retention_days: number | null
  readonly trusted_proxies: readonly string[]
  readonly cors_origins: readonly string[]
  readonly admin_listen: string | null
  readonly config_file: string | null
  readonly explain: boolean
  readonly show_upstream_cost: boolean
  readonly credits_per_usd: string | null
  // The newer version that the update check found.
  readonly update_available: string | null
  readonly allow_private_upstreams: boolean
  // Null: switched off.
  readonly portal: { readonly url: string | null; readonly name: string; readonly color: string | null } | null
}

export type RedisState = 'none' | 'ok' | 'away'

// What changes while the process runs are methods: the rate is applied with the file.
export type SettingsFacts = Omit<
  SettingsObject,
  'object' | 'redis' | 'defaults' | 'credits_per_usd' | 'update_available'
> & {
  readonly defaults: KeyDefaults
  redis(): RedisState
  creditsPerUsd(): string | null
  readonly updateCheck: UpdateCheck
}

export type SettingsMethod = () => Promise<SettingsObject>

export function settingsMethod(needs: SettingsFacts): SettingsMethod {
  const { redis, defaults, creditsPerUsd, updateCheck, ...facts } = needs
  return async () => ({
    object: 'settings',
    ...facts,
    redis: redis(),
    credits_per_usd: creditsPerUsd(),
    update_available: await updateCheck(),
    defaults: defaultsObject(defaults),
  })
}

function defaultsObject(defaults: KeyDefaults): SettingsObject['defaults'] {
  return {
    scopes: defaults.scopes,
    ip_allowlist: defaults.ipAllowlist,
    rpm_limit: defaults.rpmLimit,
    daily_limit: defaults.dailyLimit,
    credit_limit: defaults.creditLimit === null ? null : formatCredits(defaults.creditLimit),
    max_concurrent: defaults.maxConcurrent,
  }
}
