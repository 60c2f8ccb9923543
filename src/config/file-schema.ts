// The schema of the configuration file.
import { type Static, Type } from 'typebox'
import { Credits, Factor, ModelSchema, ProviderSchema, strict, TEXT_MAX, texts } from '../catalog/schema.ts'
import { ALLOWLIST_ENTRIES_MAX, CONCURRENT_LIMIT_MAX, DAILY_LIMIT_MAX, RPM_LIMIT_MAX, SCOPES } from '../domain/key.ts'
import { BOUNDS } from './limits.ts'
import { PORTAL_WORDS, PortalSchema } from './portal.ts'

const KEY_PREFIX = '^[A-Za-z0-9_-]{1,32}$'
const HEADER_PREFIX = '^[A-Za-z][A-Za-z0-9-]{0,30}-$'
const ORIGIN = '^https?://'
export const WORDS: Readonly<Record<string, string>> = {
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
  update_url: Type.String({ maxLength: TEXT_MAX }),
}
export const FILE_SETTINGS = Object.keys(SETTINGS)

export const FileSchema = Type.Partial(
  Type.Object({
    providers: Type.Array(ProviderSchema, { maxItems: BOUNDS.providersMax }),
    models: Type.Array(ModelSchema, { maxItems: BOUNDS.modelsMax }),
    credits_per_usd: Factor,
    markup: Factor,
    ...SETTINGS,
  }),
  strict,
)
export type FileInput = Static<typeof FileSchema>
