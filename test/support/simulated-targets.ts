// Simulated upstreams under a clock that only advances when something is due: the real route() over them, minutes of
// traffic in a moment, deterministic by seed.

import { parseChat } from '../../src/chat/parse-request.ts'
import { BOUNDS, TIMEOUTS } from '../../src/config/limits.ts'
import { type Credential, type Model, NO_QUIRKS, type Provider, type Target } from '../../src/domain/catalog.ts'
import type { Failure } from '../../src/domain/failure.ts'
import type { Answer, Client } from '../../src/domain/handoff.ts'
import type { RoutingPreferences, Strategy } from '../../src/domain/routing.ts'
import { type Catalog, catalogOf, liveCatalog } from '../../src/route/catalog.ts'
import { type ChooseNeeds, type ChooseRequest, choose } from '../../src/route/choose.ts'
import { type RouteNeeds, type RouteRequest, route } from '../../src/route/route.ts'
import { openTargets, type TargetAlarm, type Targets, type TargetsBounds } from '../../src/route/targets.ts'
import type { Adapter, UpstreamRequest } from '../../src/upstream/adapter.ts'
import { type ManualClock, manualClock } from './manual-clock.ts'

// What an upstream does with a call: after a delay it fails, or begins to answer, which takes a while and may break.
export type Doing = {
  readonly afterMs: number
  readonly failure?: Failure
  readonly lastsMs?: number
  readonly breaks?: Failure
  // It failed before the request was sent.
  readonly unsent?: boolean
}
export type Behaviour = (call: UpstreamRequest, nowMs: number) => Doing

export type Member = {
  readonly id: string
  behave: Behaviour
  readonly baseUrl?: string
  readonly credentials?: readonly Credential[]
  readonly target?: Partial<Target>
}

export type Called = {
  readonly provider: string
  readonly model: string
  readonly credential: string | undefined
  readonly requestId: string
  readonly outputTokens: number | null
  readonly atMs: number
}

export type Ask = {
  readonly account?: string
  readonly models?: readonly [Model, ...Model[]]
  readonly preferences?: RoutingPreferences
  readonly body?: Record<string, unknown>
  readonly stickTo?: string
  readonly outputTokens?: number
  readonly client?: Client
}

export type Told = { readonly answer: Answer; readonly broke: Failure | undefined; readonly tookMs: number }

export type World = {
  readonly clock: ManualClock
  readonly model: Model
  readonly targets: Targets
  readonly needs: RouteNeeds & ChooseNeeds
  readonly alarms: TargetAlarm[]
  // Every call that an upstream received, probes included.
  readonly calls: Called[]
  at(ms: number, run: () => void): void
  // Sends a request and reads the answer to its end.
  ask(asked?: Ask): Promise<Told>
  // The same, and advances the clock until it is done.
  answer(asked?: Ask): Promise<Told>
  request(asked?: Ask): RouteRequest & ChooseRequest
  run(untilMs: number): Promise<void>
  replace(catalog: Catalog): void
}

export const WELL: Behaviour = () => ({ afterMs: 100, lastsMs: 100 })

// Repeating a breaker scenario ten times adds nothing.
const QUICK = { breakerFailuresInARowMax: 5 }

export function openWorld(
  members: readonly Member[],
  options: { readonly strategy?: Strategy; readonly seed?: number; readonly bounds?: Partial<TargetsBounds> } = {},
): World {
  const clock = manualClock()
  const random = chance(options.seed ?? 1)
  const due: { readonly atMs: number; readonly run: () => void }[] = []
  const calls: Called[] = []
  const alarms: TargetAlarm[] = []
  let ids = 0

  // Sorted by time; the last added is mostly due last.
  function at(ms: number, run: () => void): void {
    let place = due.length
    while (place > 0 && (due[place - 1]?.atMs ?? 0) > ms) place -= 1
    due.splice(place, 0, { atMs: ms, run })
  }

  const adapters = {
    get: (provider: Provider): Adapter => ({
      provider,
      call(upstreamRequest, listener) {
        const nowMs = clock.monotonic()
        const { requestId, model, credential, outputTokens } = upstreamRequest
        calls.push({ provider: provider.id, model, credential: credential?.id, requestId, outputTokens, atMs: nowMs })
        const member = members.find(({ id }) => id === provider.id)
        const doing = member?.behave(upstreamRequest, nowMs) ?? { afterMs: 0 }
        let aborted = false
        const after = (ms: number, run: () => void) => at(clock.monotonic() + ms, () => aborted || run())
        if (!doing.unsent && !NEVER_SENT.has(doing.failure?.kind)) upstreamRequest.onSent()
        after(doing.afterMs, () => {
          if (doing.failure !== undefined) return listener.end(doing.failure)
          listener.chunks([{ choices: [{ index: 0, delta: { content: 'Hello' }, finish_reason: null }], ...UNSAID }])
          after(doing.lastsMs ?? 0, () => listener.end(doing.breaks))
        })
        const abort = () => {
          aborted = true
        }
        return { pause: () => undefined, resume: () => undefined, abort, upstreamId: () => null }
      },
      ignored: () => [],
      retire: () => undefined,
      close: async () => undefined,
    }),
    keep: () => undefined,
    close: async () => undefined,
  }

  const model = modelOf('m', members, options.strategy)
  const catalog = liveCatalog(worldCatalog(members, [model]))
  const onBug = (error: unknown) => {
    throw error
  }
  const newId = () => `probe-${ids++}`
  const bounds = { ...BOUNDS, ...QUICK, ...options.bounds }
  const onAlarm = (alarm: TargetAlarm) => void alarms.push(alarm)
  const targets = openTargets({ bounds, catalog: catalog.current, adapters, clock, newId, onAlarm, onBug })
  const needs = {
    targets,
    random,
    adapters,
    clock,
    attemptsMax: 3,
    catalog: catalog.current,
    onFailure: () => undefined,
  }

  function request(asked: Ask = {}): RouteRequest & ChooseRequest {
    const chat = asked.body === undefined ? CHAT : parseChat({ ...BODY, ...asked.body })
    return {
      requestId: `request-${ids++}`,
      account: { id: asked.account ?? 'alice' },
      chat: asked.preferences === undefined ? chat : { ...chat, preferences: asked.preferences },
      models: asked.models ?? [model],
      stickTo: asked.stickTo ?? null,
      unfit: [],
      capTokens: asked.outputTokens ?? null,
      identifiers: {},
      accountMark: 'account',
      client: asked.client ?? STAYS,
      trace: undefined,
      readsOn: () => false,
      onFailed: () => undefined,
      onDispatch: () => undefined,
    }
  }

  async function ask(asked?: Ask): Promise<Told> {
    const startedMs = clock.monotonic()
    const wanted = request(asked)
    const answer = await route(wanted, choose(wanted, needs), needs)
    const tookMs = clock.monotonic() - startedMs
    const { served } = answer
    if (served === undefined) return { answer, broke: undefined, tookMs }
    return new Promise(resolve => {
      served.listen({
        chunks: () => undefined,
        whole: () => undefined,
        end: broke => resolve({ answer, broke, tookMs }),
      })
    })
  }

  async function step(): Promise<void> {
    const next = due.shift()
    if (next !== undefined) {
      clock.advance(Math.max(0, next.atMs - clock.monotonic()))
      next.run()
    }
    // Everything that waited for it continues before time does.
    await new Promise(setImmediate)
  }

  return {
    clock,
    model,
    targets,
    needs,
    alarms,
    calls,
    at,
    ask,
    async answer(asked) {
      let told: Told | undefined
      ask(asked).then(result => {
        told = result
      })
      await step()
      for (let steps = 0; told === undefined && steps < 10_000; steps++) await step()
      if (told === undefined) throw new Error('nobody answers')
      return told
    },
    request,
    async run(untilMs) {
      while ((due[0]?.atMs ?? Number.POSITIVE_INFINITY) <= untilMs) await step()
      clock.advance(Math.max(0, untilMs - clock.monotonic()))
    },
    replace: catalog.replace,
  }
}

export function modelOf(
  id: string,
  members: readonly Member[],
  strategy: Strategy = 'priority',
  more: Partial<Model> = {},
): Model {
  return {
    id,
    aliases: [],
    name: id,
    description: '',
    ownedBy: 'test',
    createdAt: 0,
    contextLength: 10_000,
    maxOutputTokens: 1000,
    inputModalities: ['text'],
    mediaMaxTokens: 0,
    hiddenReasoning: false,
    supportedParameters: [],
    prices: { prompt: 10n, completion: 20n, cacheRead: 10n, cacheWrite: 10n, request: 0n },
    priceVersion: '1',
    strategy,
    targets: members.map(({ id: provider, target }) => ({ provider, model: 'up', priority: 0, weight: 1, ...target })),
    ...more,
  }
}

export function worldCatalog(members: readonly Member[], models: readonly Model[]): Catalog {
  const providers = members.map(
    ({ id, baseUrl }): Provider => ({
      id,
      kind: 'openai',
      baseUrl: baseUrl ?? `http://${id}.test/v1`,
      passthrough: [],
      maxTokensField: 'max_tokens',
      timeouts: TIMEOUTS,
      quirks: NO_QUIRKS,
      settings: {},
    }),
  )
  return catalogOf({ providers, models }, new Map(members.map(({ id, credentials }) => [id, credentials ?? []])))
}

// The same numbers for the same seed (mulberry32).
export function chance(seed: number): () => number {
  let state = seed | 0
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

const NEVER_SENT: ReadonlySet<string | undefined> = new Set(['refused', 'dns', 'tls', 'connect_timeout'])
const UNSAID = { usage: undefined, fingerprint: undefined }
const BODY = { model: 'm', messages: [{ role: 'user', content: 'Hello' }], stream: true }
const CHAT = parseChat(structuredClone(BODY))
const STAYS: Client = { gone: false, onGone: () => () => undefined, onCancelled: () => () => undefined }
