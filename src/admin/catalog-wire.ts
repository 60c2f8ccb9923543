// Providers and models as operators see them, with the names of the configuration file. Of credentials only their ids and last
// four characters.
import {
  type Credential,
  type EnteredRates,
  type Provider,
  type Target,
  typeOf,
  writeCost,
  writePrices,
} from '../domain/catalog.ts'
import { fetchesMedia } from '../domain/remote-media.ts'
import { type CredentialView, RECENT_MINUTES, type TargetView } from '../domain/routing.ts'
import { isoTime, isoTimeOrNull } from '../domain/wire-time.ts'
import { snakeCase } from '../lib/text.ts'
import type { DisabledTarget, ModelEntry, ProviderEntry } from '../store/contract/catalog.ts'

// An operator's input: the configuration file's format, in JSON.
export type Document = Readonly<Record<string, unknown>>

// The routing state of a provider.
export type ProviderHealth = {
  readonly targets: readonly Omit<TargetView, 'provider'>[]
  readonly credentials: readonly Omit<CredentialView, 'provider'>[]
}

export type CredentialObject = {
  readonly object: 'credential'
  readonly id: string
  readonly last4: string
  // Null for one declared by the file or environment.
  readonly created_at: string | null
  readonly state: string
}

// `declared` are the credentials of a provider that a file declares: known to this process and not stored.
export function providerObject(entry: ProviderEntry, declared: readonly Credential[], health: ProviderHealth) {
  const { provider } = entry
  const stateOf = (id: string) => health.credentials.find(each => each.id === id)?.state ?? 'active'
  const held = entry.provisioned ? declared.map(heldCredential) : entry.credentials
  return {
    object: 'provider' as const,
    id: provider.id,
    kind: provider.kind,
    base_url: provider.baseUrl,
    proxy: provider.proxy ?? null,
    passthrough: provider.passthrough,
    remote_media: fetchesMedia(provider),
    max_tokens_field: provider.maxTokensField,
    api: provider.kind === 'openai' ? (provider.api ?? 'chat') : null,
    timeouts: timeoutsOf(provider),
    quirks: snakeCased(provider.quirks),
    settings: provider.settings,
    status: entry.active ? ('active' as const) : ('inactive' as const),
    provisioned: entry.provisioned,
    version: entry.version,
    created_at: isoTime(entry.createdAt),
    credentials: held.map(
      ({ id, last4, createdAt }): CredentialObject => ({
        object: 'credential',
        id,
        last4,
        created_at: isoTimeOrNull(createdAt),
        state: stateOf(id),
      }),
    ),
  }
}

export function modelObject(entry: ModelEntry) {
  const { model, entered } = entry
  const before = entered === null ? undefined : (JSON.parse(entered) as EnteredPrices)
  return {
    object: 'model' as const,
    id: model.id,
    aliases: model.aliases,
    type: typeOf(model),
    name: model.name,
    description: model.description,
    owned_by: model.ownedBy,
    context_length: model.contextLength,
    max_output_tokens: model.maxOutputTokens,
    dimensions: model.embedding?.dimensions ?? null,
    dimensions_min: model.embedding?.dimensionsMin ?? null,
    input_modalities: model.inputModalities,
    media_max_tokens: model.mediaMaxTokens,
    hidden_reasoning: model.hiddenReasoning,
    supported_parameters: model.supportedParameters,
    strategy: model.strategy,
    pricing: writePrices(model.prices),
    price_version: model.priceVersion,
    entered_pricing: before?.pricing ?? null,
    targets: model.targets.map(({ cost, ...target }) => ({
      ...target,
      cost: cost === undefined ? null : writeCost(cost),
      entered_cost: before?.targets?.find(each => isSameTarget(each, target))?.cost ?? null,
    })),
    status: entry.active ? ('active' as const) : ('inactive' as const),
    provisioned: entry.provisioned,
    version: entry.version,
    created_at: isoTime(entry.createdAt),
  }
}

// Of an operator's input, its amounts in US dollars.
type EnteredPrices = {
  readonly pricing?: EnteredRates
  readonly targets?: readonly (Pick<Target, 'provider' | 'model'> & { readonly cost?: EnteredRates })[]
}

function isSameTarget(a: Pick<Target, 'provider' | 'model'>, b: Pick<Target, 'provider' | 'model'>): boolean {
  return a.provider === b.provider && a.model === b.model
}

// Disabled targets are not in force, and have no health.
export function healthObject(
  provider: string,
  { targets: inForce, credentials }: ProviderHealth,
  disabled: readonly DisabledTarget[],
) {
  // One that was disabled a moment ago may still be in force on this node.
  const targets = inForce.filter(({ model }) => !disabled.some(each => each.model === model))
  return {
    object: 'provider_health' as const,
    provider,
    status: providerStatus(targets),
    window_minutes: RECENT_MINUTES,
    targets: [...targets.map(targetObject), ...disabled.map(disabledObject)],
    credentials: credentials.map(({ id, state, until }) => ({ id, state, until: isoTimeOrNull(until) })),
  }
}

// Down if nothing works; degraded if something does not.
function providerStatus(targets: ProviderHealth['targets']): TargetView['status'] | 'unused' {
  if (targets.length === 0) return 'unused'
  if (targets.every(({ status }) => status === 'down')) return 'down'
  return targets.every(({ status }) => status === 'healthy') ? 'healthy' : 'degraded'
}

function targetObject(target: ProviderHealth['targets'][number]) {
  return {
    model: target.model,
    state: target.state as string,
    status: target.status as TargetView['status'] | 'disabled',
    disabled_by: null as string | null,
    disabled_at: null as string | null,
    recent_requests: target.recent.requests,
    recent_failures: target.recent.failures,
    recent_first_byte_ms: rounded(target.recent.firstByteMs),
    success_rate: target.successRate,
    first_byte_ms: rounded(target.firstByteMs),
    in_flight: target.inFlight,
    requests: target.requests,
    failures: target.failures,
    open_until: isoTimeOrNull(target.openUntil),
  }
}

function disabledObject({ model, actor, disabledAt }: DisabledTarget): ReturnType<typeof targetObject> {
  const none = { requests: 0, failures: 0, firstByteMs: null }
  const nothing = { successRate: null, firstByteMs: null, inFlight: 0, requests: 0, failures: 0, openUntil: null }
  return {
    ...targetObject({ model, state: 'closed', status: 'healthy', recent: none, ...nothing }),
    status: 'disabled',
    disabled_by: actor,
    disabled_at: isoTime(disabledAt),
  }
}

function rounded(ms: number | null): number | null {
  return ms === null ? null : Math.round(ms * 10) / 10
}

export type ProviderObject = ReturnType<typeof providerObject>
export type ModelObject = ReturnType<typeof modelObject>
export type HealthObject = ReturnType<typeof healthObject>

// A short secret has no suffix that could be shown without revealing most of it.
export function last4Of(secret: string): string {
  return secret.length < 16 ? '' : secret.slice(-4)
}

function heldCredential({ id, secret }: Credential) {
  return { id, last4: last4Of(secret), createdAt: null }
}

function timeoutsOf({ timeouts }: Provider) {
  return {
    connect: timeouts.connectMs / 1000,
    first_byte_stream: timeouts.firstByteStreamMs / 1000,
    first_byte_json: timeouts.firstByteJsonMs / 1000,
    idle: timeouts.idleMs / 1000,
    total: timeouts.totalMs / 1000,
  }
}

function snakeCased(fields: object): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).map(([name, value]) => [snakeCase(name), value]))
}
