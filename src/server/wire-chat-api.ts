// Wires /v1: the stages of a request, the endpoints, and the router.
import { type Authenticator, authenticator } from '../admit/authenticate.ts'
import { keyLimits } from '../admit/rate-limit.ts'
import { sharedLimits } from '../admit/rate-limit-shared.ts'
import { openRefusalLog } from '../admit/refusal-log.ts'
import { STEPS } from '../chat/complete.ts'
import { installationKey } from '../config/installation-key.ts'
import { CHAT } from '../dialects/chat/chat.ts'
import { EMBEDDINGS } from '../dialects/embeddings/embeddings.ts'
import { MESSAGES } from '../dialects/messages/messages.ts'
import { RESPONSES } from '../dialects/responses/responses.ts'
import type { Failure } from '../domain/failure.ts'
import type { Key } from '../domain/key.ts'
import type { TargetsView } from '../domain/routing.ts'
import type { ResponseNeeds } from '../http/response.ts'
import { type Router, v1Router } from '../http/router.ts'
import { chatQuote } from '../http/v1/chat-quote.ts'
import { type CompletionEndpoint, completions } from '../http/v1/completions.ts'
import { countTokensEndpoint } from '../http/v1/count-tokens.ts'
import { COMPLETION_PATHS } from '../http/v1/endpoint.ts'
import { keyIntrospect } from '../http/v1/key-introspect.ts'
import { listModels, oneModel } from '../http/v1/models.ts'
import { listUsage, oneUsage, type UsagePage } from '../http/v1/usage.ts'
import { failpoints } from '../lib/failpoint.ts'
import { fairQueue } from '../lib/fair-queue.ts'
import { type Pauses, pauses } from '../lib/pauses.ts'
import { type SlotList, slotList } from '../lib/slot-list.ts'
import { wordsOf } from '../lib/text.ts'
import type { Hint } from '../store/contract/buckets.ts'
import type { OpenOtel } from '../telemetry/otel/otel.ts'
import { requestLine } from '../telemetry/request-log.ts'
import type { PeerNodes } from './cluster/peer-watcher.ts'
import type { ServerContext } from './context.ts'
import type { Drain, Settlements } from './drain.ts'
import { withFailpoints } from './failpoints.ts'
import { openRedis } from './open-redis.ts'
import type { OpenedStore } from './open-store.ts'
import { openCounters, openUpstreams } from './open-upstreams.ts'

type ChatApiDeps = {
  readonly drain: Drain
  readonly peers: Pick<PeerNodes, 'nodesAlive'>
  readonly otel: OpenOtel | undefined
}

export type V1 = {
  readonly router: Router
  readonly authenticator: Authenticator
  // Operators' changes, on this node and, best effort, on the others.
  readonly changed: Changed
  // Whether Redis is used, and available.
  redis(): 'none' | 'ok' | 'away'
  // The routing state of a provider's targets and credentials.
  healthOf(providerId: string): TargetsView
  health(): TargetsView
  readonly testTarget: ReturnType<typeof openUpstreams>['testTarget']
  // Requests with an open row of this node.
  readonly live: SlotList<string>
  readonly settlements: Settlements
  // Closes connections to upstreams; for when no request is in flight any more.
  close(): Promise<void>
}

export type Changed = {
  forget(keyId: string): void
  onKeyChanged(key: Key): Promise<void> | undefined
  forgetAccounts(): void
  abortStreams(keyId: string): void
}

export async function openV1(opened: OpenedStore, deps: ChatApiDeps, context: ServerContext): Promise<V1> {
  const { bounds } = context.config
  const admission = await openAdmission(opened.store, deps, context)
  const counters = openCounters(context)
  const upstreams = openUpstreams(opened, context)
  const live = slotList<string>()
  const betweenTries = pauses(bounds.drainSettlePauseMsMax)
  context.metrics.watchOpenRows(() => live.size)
  const pruning = setInterval(() => {
    admission.prune()
    counters.promptCounts.prune()
  }, bounds.limitsPrunedEveryMs)
  const stages = { admission, counters, upstreams, live, pauses: betweenTries, drain: deps.drain, otel: deps.otel }

  return {
    router: openRouter(opened, stages, context),
    authenticator: admission.authenticator,
    changed: admission.changed,
    redis: admission.redis,
    live,
    settlements: { open: live, hurry: betweenTries.end },
    healthOf: upstreams.healthOf,
    health: upstreams.health,
    testTarget: upstreams.testTarget,
    async close() {
      clearInterval(pruning)
      admission.close()
      await upstreams.close()
      await counters.close()
    },
  }
}

// Who may enter and how often, and what operators change about it.
async function openAdmission(store: OpenedStore['store'], { drain, peers }: ChatApiDeps, context: ServerContext) {
  const { config, clock, metrics } = context
  const { bounds } = config
  const { billing } = store
  const othersMayChangeKeys = config.databaseUrl !== undefined
  const authenticate = authenticator({
    ...bounds,
    unknownKeyLookupsMax: othersMayChangeKeys ? bounds.unknownKeyLookupsTogetherMax : bounds.unknownKeyLookupsMax,
    billing,
    clock,
    keyPrefix: config.brand.keyPrefix,
    othersMayChangeKeys,
    onCache: metrics.keyCache,
  })
  const redis = await openRedis(context, heard)
  const limits =
    redis === undefined
      ? keyLimits({ ...bounds, clock })
      : sharedLimits({
          ...bounds,
          clock,
          buckets: redis.buckets,
          nodesAlive: peers.nodesAlive,
          onLocal: metrics.watchRedis(redis.buckets.isUp),
        })
  const refusalLog = openRefusalLog({ ...bounds, billing, clock, onUnwritten: metrics.unwrittenRefusal })

  function heard(hint: Hint): void {
    if (hint.kind === 'forget') authenticate.forget(hint.keyId)
    else if (hint.kind === 'forget_accounts') authenticate.forgetAccounts()
    else drain.cutKey(hint.keyId)
  }

  function everywhere(hint: Hint): void {
    heard(hint)
    redis?.tell(hint)
  }

  const changed: Changed = {
    forget: keyId => everywhere({ kind: 'forget', keyId }),
    onKeyChanged(key) {
      limits.rpm(key)
      return limits.look?.(key)
    },
    forgetAccounts: () => everywhere({ kind: 'forget_accounts' }),
    abortStreams: keyId => everywhere({ kind: 'abort_streams', keyId }),
  }

  return {
    authenticator: authenticate,
    limits,
    refusalLog,
    changed,
    redis: () => (redis === undefined ? 'none' : redis.buckets.isUp() ? 'ok' : 'away'),
    prune() {
      limits.prune()
      refusalLog.prune()
    },
    close() {
      refusalLog.flush()
      redis?.close()
    },
  }
}

type Stages = {
  readonly admission: Awaited<ReturnType<typeof openAdmission>>
  readonly counters: ReturnType<typeof openCounters>
  readonly upstreams: ReturnType<typeof openUpstreams>
  readonly live: SlotList<string>
  readonly pauses: Pauses
  readonly drain: Drain
  readonly otel: OpenOtel | undefined
}

function openRouter(opened: OpenedStore, stages: Stages, context: ServerContext): Router {
  const { config, clock, metrics, log } = context
  const { bounds, brand } = config
  const { authenticator, limits, refusalLog } = stages.admission
  const { billing } = opened.store
  const reply = {
    limits,
    authenticator,
    headerPrefix: brand.headerPrefix,
    bodyBytesMax: bounds.bodyBytesMax,
    refusedBodyBytesMax: bounds.refusedBodyBytesMax,
    refusedBodyWaitMs: bounds.refusedBodyWaitMs,
    closing: stages.drain.closing,
    corsOrigins: config.corsOrigins,
  }
  return v1Router({
    authenticator,
    limits,
    billing,
    refusalLog,
    clock,
    trustedProxies: context.trustedProxies,
    newRequestId: context.newId,
    openTrace: stages.otel?.openTrace,
    tagsHeader: { name: `${brand.headerPrefix}Tags`, lowerCase: headerKey(`${brand.headerPrefix}Tags`) },
    endpoints: endpoints(opened, reply, stages, context),
    reply,
    open: stages.drain.open,
    inFlight: context.inFlight,
    report(report) {
      metrics.request(report)
      log.info(requestLine(report), 'request')
      stages.otel?.report(report)
    },
    onBug: context.onBug,
  })
}

function endpoints({ store, catalog }: OpenedStore, reply: ResponseNeeds, stages: Stages, context: ServerContext) {
  const { config, clock, metrics } = context
  const { bounds, brand } = config
  const { authenticator, limits, refusalLog } = stages.admission
  const entering = {
    billing: store.billing,
    clock,
    authenticator,
    limits,
    refusalLog,
    reply,
    catalog: catalog.current,
    usage: store.usage,
  }
  const chatNeeds = {
    ...entering,
    ...bounds,
    ...warnings(context),
    timers: context.timers,
    adapters: stages.upstreams.adapters,
    targets: stages.upstreams.targets,
    clock,
    random: context.random,
    counter: stages.counters.counter,
    promptCounts: stages.counters.promptCounts,
    live: stages.live,
    pauses: stages.pauses,
    hmacKey: installationKey(config),
    steps: withFailpoints(STEPS, failpoints(config.failpoints)),
    bodies: context.bodies,
    bodyTimeoutMs: bounds.requestTimeoutMs,
    streams: metrics.streams,
    pace: bounds,
    explainAllowed: config.explain,
    explainHeader: headerKey(`${brand.headerPrefix}Explain`),
  }
  const lists = fairQueue<UsagePage>({
    concurrent: bounds.usageListsAtOnceMax,
    waitingMax: bounds.usageListsWaitingMax,
    waitingPerOwnerMax: bounds.usageListsPerAccountWaitingMax,
  })
  return [
    ...COMPLETIONS.map(endpoint => completions(endpoint, chatNeeds)),
    chatQuote(chatNeeds),
    countTokensEndpoint(chatNeeds),
    listModels(entering),
    oneModel(entering),
    keyIntrospect(entering),
    listUsage({ ...entering, ...bounds, lists, showUpstreamCost: config.showUpstreamCost }),
    oneUsage({ ...entering, showUpstreamCost: config.showUpstreamCost }),
  ]
}

// What is answered by a provider, by the dialect that its callers speak.
const COMPLETIONS: readonly CompletionEndpoint[] = [
  { endpoint: 'chat.completions', path: COMPLETION_PATHS.chat, scope: 'chat.completions', dialect: CHAT },
  { endpoint: 'messages', path: COMPLETION_PATHS.messages, scope: 'chat.completions', dialect: MESSAGES },
  { endpoint: 'responses', path: COMPLETION_PATHS.responses, scope: 'chat.completions', dialect: RESPONSES },
  { endpoint: 'embeddings', path: COMPLETION_PATHS.embeddings, scope: 'embeddings', dialect: EMBEDDINGS },
]

const ODD_SETTLEMENTS = {
  corrected: 'row was recovered before it was settled; applied as a correction',
  unknown: 'row to settle not found; nothing was charged',
} as const

// What a request reports to the operator when something goes wrong.
function warnings({ metrics, log }: ServerContext) {
  return {
    onFailure(provider: string, failure: Failure) {
      metrics.upstreamError(failure.kind)
      log.warn({ provider, kind: failure.kind, why: failure.message }, 'upstream failed')
    },
    onClamped(id: string) {
      metrics.clamped()
      log.warn({ id }, 'upstream reported impossible usage; clamped')
    },
    onOddlySettled(id: string, settled: 'corrected' | 'unknown') {
      metrics.oddSettlement(settled)
      log.warn({ id, settled }, ODD_SETTLEMENTS[settled])
    },
    onLate(id: string, error: unknown) {
      metrics.lateSettlement()
      log.error({ id, err: wordsOf(error) }, 'settlement failed; retrying')
    },
  }
}

// The name under which a header is found. V8 internalizes names of properties, and finds a property fastest by such a string.
function headerKey(name: string): string {
  return Object.keys({ [name.toLowerCase()]: 0 })[0] as string
}
