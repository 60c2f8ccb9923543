// All targets of the catalog with their state: health, breaker, and their provider's credentials. The state survives a catalog
// change, except for a provider whose address changed.
import { type Credential, isElsewhere, type Model, type Provider, type Target } from '../domain/catalog.ts'
import { type Considered, REASON_OF } from '../domain/routing.ts'
import type { Clock } from '../lib/clock.ts'
import type { Registry } from '../upstream/registry.ts'
import type { Catalog } from './catalog.ts'
import { type Breaker, type BreakerBounds, newBreaker } from './circuit-breaker.ts'
import {
  type CredentialBounds,
  type CredentialPool,
  type CredentialState,
  forgetPastLimits,
  newCredentialState,
} from './credential-pool.ts'
import { type LastResortBounds, type LastResorts, lastResorts } from './last-resort.ts'
import { type Probes, probes } from './probe.ts'
import { type BudgetBounds, type RetryBudget, retryBudget } from './retry-budget.ts'
import { type Health, newHealth } from './target-health.ts'

export type TargetsBounds = BreakerBounds &
  BudgetBounds &
  CredentialBounds &
  LastResortBounds & {
    readonly probeTimeoutMs: number
    readonly probesAtOnceMax: number
    // Minimum interval between probes of a target.
    readonly probeEveryMs: number
  }

export type TargetsNeeds = {
  readonly bounds: TargetsBounds
  readonly catalog: () => Catalog
  readonly adapters: Registry
  readonly clock: Clock
  readonly newId: () => string
  readonly onAlarm: (alarm: TargetAlarm) => void
  readonly onBug: (error: unknown) => void
}

export type TargetAlarm =
  | { readonly kind: 'breaker_opened' | 'breaker_closed'; readonly provider: string; readonly model: string }
  | { readonly kind: 'credential_dead' | 'credential_alive'; readonly provider: string; readonly credential: string }

// The state of a provider's model, whichever catalog models it serves.
export type TargetState = {
  readonly key: string
  readonly provider: string
  readonly model: string
  readonly health: Health
  readonly breaker: Breaker
  probedAtMs: number
}

export type Candidate = {
  readonly model: Model
  readonly target: Target
  readonly provider: Provider
  readonly state: TargetState
  readonly credentialPool: CredentialPool
  // The complete choice when there is only one target: made once, since most requests have only this one.
  readonly alone: Choice
}

// Which targets to try in which order, and why.
export type Choice = {
  readonly queue: readonly Candidate[]
  readonly considered: readonly Considered[]
  // Only targets with an open breaker or with limited or rejected credentials are left: they are tried anyway.
  readonly evenBarred: boolean
  // Only one request per interval is sent, for the model of this name.
  readonly lastResort: string | undefined
  // With an empty queue: when to retry.
  readonly waitMs: number
  // The request's own preferences leave no target.
  readonly unwanted: boolean
}

export type Targets = {
  candidates(model: Model): readonly Candidate[]
  readonly bounds: TargetsBounds
  readonly clock: Clock
  readonly budget: RetryBudget
  readonly probes: Probes
  readonly onAlarm: (alarm: TargetAlarm) => void
  readonly lastResorts: LastResorts
  // In the order in which the catalog names them.
  states(): Iterable<TargetState>
  credentialStates(): Iterable<CredentialState>
  // Where this credential may be sent: the provider in the current catalog, if the credential still belongs to it.
  providerOf(credentialState: CredentialState): Provider | undefined
  // The credentials for calling a target.
  credentialPoolOf(state: TargetState): CredentialPool
  prune(): void
  close(): void
}

export function openTargets(needs: TargetsNeeds): Targets {
  const { bounds, clock } = needs
  let prepared: Catalog | undefined
  let states = new Map<string, TargetState>()
  let credentialPools = new Map<string, { readonly provider: Provider; readonly credentialPool: CredentialPool }>()
  let byModel = new WeakMap<Model, readonly Candidate[]>()
  const lastTries = lastResorts({ ...bounds, clock })
  const budget = retryBudget({ ...bounds, clock })
  const asking = probes({
    ...bounds,
    ...needs,
    vectors(providerId, model) {
      const isIts = ({ targets }: Model) => targets.some(each => each.provider === providerId && each.model === model)
      const embedding = needs.catalog().models.find(isIts)?.embedding
      return embedding && { dimensions: embedding.dimensions, isResizable: embedding.dimensionsMin !== null }
    },
  })

  // All at once, so that targets missing from the new catalog are dropped.
  function prepare(catalog: Catalog): void {
    prepared = catalog
    const before = { states, credentialPools }
    states = new Map()
    credentialPools = new Map()
    byModel = new WeakMap()
    for (const model of catalog.models) byModel.set(model, candidatesOf(model, catalog, before))
    lastTries.keep(id => catalog.model(id)?.id === id)
    needs.adapters.keep(catalog.providers)
  }

  function prepareCurrent(): void {
    const catalog = needs.catalog()
    if (catalog !== prepared) prepare(catalog)
  }

  function candidatesOf(
    model: Model,
    catalog: Catalog,
    before: { readonly states: typeof states; readonly credentialPools: typeof credentialPools },
  ): readonly Candidate[] {
    return model.targets.flatMap(target => {
      const provider = catalog.provider(target.provider)
      if (provider === undefined) return []
      const had = before.credentialPools.get(provider.id)
      const moved = had === undefined || isElsewhere(had.provider, provider)
      let known = credentialPools.get(provider.id)
      if (known === undefined) {
        const old = moved ? undefined : had.credentialPool
        known = { provider, credentialPool: credentialPoolOf(provider.id, catalog.credentials(provider.id), old) }
        credentialPools.set(provider.id, known)
      }
      const key = `${provider.id}\n${target.model}`
      let state = states.get(key)
      if (state === undefined) {
        state = (moved ? undefined : before.states.get(key)) ?? newState(key, target)
        states.set(key, state)
      }
      return [candidateOf(model, target, provider, state, known.credentialPool)]
    })
  }

  return {
    candidates(model) {
      prepareCurrent()
      return byModel.get(model) ?? NOBODY
    },
    bounds,
    clock,
    budget,
    probes: asking,
    onAlarm: needs.onAlarm,
    lastResorts: lastTries,
    states() {
      prepareCurrent()
      return states.values()
    },
    *credentialStates() {
      prepareCurrent()
      for (const { credentialPool } of credentialPools.values()) yield* credentialPool.credentials
    },
    providerOf(credentialState) {
      prepareCurrent()
      const known = credentialPools.get(credentialState.provider)
      return known?.credentialPool.credentials.includes(credentialState) ? known.provider : undefined
    },
    credentialPoolOf: ({ provider }) => credentialPools.get(provider)?.credentialPool ?? NO_KEYS,
    prune() {
      const nowMs = clock.monotonic()
      for (const { credentialPool } of credentialPools.values())
        for (const credentialState of credentialPool.credentials) forgetPastLimits(credentialState, nowMs)
      asking.prune()
      budget.prune()
      lastTries.prune()
    },
    close: () => asking.close(),
  }
}

const NOBODY: readonly Candidate[] = []
const NO_KEYS: CredentialPool = { credentials: [], turn: 0 }

function newState(key: string, { provider, model }: Target): TargetState {
  const never = Number.NEGATIVE_INFINITY
  return { key, provider, model, health: newHealth(), breaker: newBreaker(), probedAtMs: never }
}

// A credential's state is kept as long as its secret is the same.
function credentialPoolOf(
  provider: string,
  credentials: readonly Credential[],
  old: CredentialPool | undefined,
): CredentialPool {
  const had = old?.credentials ?? []
  const turn = old?.turn ?? 0
  if (credentials.length === 0) {
    const none = had.find(credentialState => credentialState.credential === undefined)
    return { credentials: [none ?? newCredentialState(provider, undefined)], turn }
  }
  const credentialStates = credentials.map(({ id, secret }, at) => {
    const known = had.find(({ credential }) => credential?.id === id && credential.secret === secret)
    return known ?? newCredentialState(provider, credentials[at])
  })
  return { credentials: credentialStates, turn: turn % credentialStates.length }
}

function candidateOf(
  model: Model,
  target: Target,
  provider: Provider,
  state: TargetState,
  credentialPool: CredentialPool,
): Candidate {
  const reason = REASON_OF[model.strategy]
  const considered = [{ model: model.id, provider: provider.id, position: 0, reason }] as const
  const queue: Candidate[] = []
  const alone: Choice = { queue, considered, evenBarred: false, lastResort: undefined, waitMs: 0, unwanted: false }
  const candidate: Candidate = { model, target, provider, state, credentialPool, alone }
  queue.push(candidate)
  return candidate
}
