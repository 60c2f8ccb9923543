// Wires /v1: the stages of a request's life, the endpoints, and the door in front of them.
import { type Authenticator, authenticator } from './admit/authenticate.ts'
import { keyLimits } from './admit/limit.ts'
import { refusalNotes } from './admit/note.ts'
import type { Failure } from './domain/failure.ts'
import type { FleetView } from './domain/fleet-view.ts'
import type { Drain } from './drain.ts'
import { installationKey } from './first-start.ts'
import { type Door, v1Door } from './http/door.ts'
import { requestLine } from './http/request-line.ts'
import { chatCompletions } from './http/v1/chat-completions.ts'
import { chatQuote } from './http/v1/chat-quote.ts'
import { keyIntrospect } from './http/v1/key-introspect.ts'
import { listModels, oneModel } from './http/v1/models.ts'
import { listUsage, oneUsage, type UsagePage } from './http/v1/usage.ts'
import { alarms } from './lib/alarms.ts'
import { failpoints } from './lib/failpoint.ts'
import { fairQueue } from './lib/fair-queue.ts'
import { places } from './lib/places.ts'
import { type Roster, roster } from './lib/roster.ts'
import { tokenCounter } from './lib/tokens.ts'
import { type Ground, wordsOf } from './main-ground.ts'
import type { House } from './main-store.ts'
import { type FleetAlarm, openFleet } from './route/fleet.ts'
import { snapshot } from './route/snapshot.ts'
import { tend } from './route/trip.ts'
import { adapterRegistry } from './upstream/registry.ts'

export type V1 = {
  readonly door: Door
  readonly authenticator: Authenticator
  // What routing knows of a provider's targets and credentials.
  healthOf(providerId: string): FleetView
  // Requests with an open row of ours.
  readonly live: Roster<string>
  // Ends what is open to upstreams; for when no request is in flight any more.
  close(): Promise<void>
}

export function openV1({ store, catalog }: House, drain: Drain, ground: Ground): V1 {
  const { config, clock, metrics, log, onBug } = ground
  const { bounds, brand } = config
  const { gates } = store
  const limits = keyLimits({ ...bounds, clock })
  const notes = refusalNotes({ ...bounds, gates, clock, onUnwritten: metrics.unwrittenRefusal })
  const pruning = setInterval(() => {
    limits.prune()
    notes.prune()
  }, bounds.limitsPrunedEveryMs)
  const onCache = metrics.keyCache
  const authenticate = authenticator({ ...bounds, gates, clock, keyPrefix: brand.keyPrefix, onCache })
  const counter = tokenCounter({ timeoutMs: bounds.estimateTimeoutMs })
  const adapters = adapterRegistry(bounds, { clock, onBug })
  const fleet = openFleet({
    bounds,
    catalog: catalog.current,
    adapters,
    clock,
    newId: ground.newId,
    onAlarm(alarm) {
      metrics.fleetAlarm(alarm.kind)
      log.warn(alarm, ALARMS[alarm.kind])
    },
    onBug,
  })
  metrics.watch(() => snapshot(fleet))
  const tending = setInterval(tend, bounds.fleetTendedEveryMs, fleet)
  const live = roster<string>()
  const lists = fairQueue<UsagePage>({
    concurrent: bounds.usageListsAtOnceMax,
    waitingMax: bounds.usageListsWaitingMax,
    waitingPerOwnerMax: bounds.usageListsPerAccountWaitingMax,
  })
  const reply = {
    limits,
    authenticator: authenticate,
    headerPrefix: brand.headerPrefix,
    bodyBytesMax: bounds.bodyBytesMax,
    refusedBodyBytesMax: bounds.refusedBodyBytesMax,
    refusedBodyWaitMs: bounds.refusedBodyWaitMs,
    closing: drain.closing,
    corsOrigins: config.corsOrigins,
  }
  const entering = { gates, authenticator: authenticate, limits, reply, catalog: catalog.current, usage: store.usage }
  const gatewayNeeds = {
    ...entering,
    ...bounds,
    ...warnings(ground),
    alarms: alarms(clock, onBug),
    adapters,
    fleet,
    clock,
    random: ground.random,
    counter,
    live,
    readOnFor: places(bounds.readOnPerAccountMax).of,
    hmacKey: installationKey(config),
    failpoint: failpoints(config.failpoints),
    bodies: ground.bodies,
    bodyTimeoutMs: bounds.requestTimeoutMs,
    streams: metrics.streams,
    pace: bounds,
    explainAllowed: config.explain,
    explainHeader: `${brand.headerPrefix}Explain`.toLowerCase(),
  }

  const door = v1Door({
    authenticator: authenticate,
    limits,
    gates: { note: notes.note, touch: gates.touch },
    clock,
    trustedProxies: ground.trustedProxies,
    newRequestId: ground.newId,
    endpoints: [
      chatCompletions(gatewayNeeds),
      chatQuote(gatewayNeeds),
      listModels(entering),
      oneModel(entering),
      keyIntrospect(entering),
      listUsage({ ...entering, ...bounds, lists }),
      oneUsage(entering),
    ],
    reply,
    open: drain.open,
    inFlight: ground.inFlight,
    report(report) {
      metrics.request(report)
      log.info(requestLine(report), 'request')
    },
    onBug: ground.onBug,
  })

  return {
    door,
    authenticator: authenticate,
    live,
    healthOf(id) {
      const { targets, credentials } = snapshot(fleet)
      const ofIt = ({ provider }: { readonly provider: string }) => provider === id
      return { targets: targets.filter(ofIt), credentials: credentials.filter(ofIt) }
    },
    async close() {
      clearInterval(pruning)
      clearInterval(tending)
      fleet.close()
      await adapters.close()
      await counter.close()
    },
  }
}

const ALARMS: Readonly<Record<FleetAlarm['kind'], string>> = {
  breaker_opened: 'a target fails and is not called for a while',
  breaker_closed: 'a target is well again',
  credential_dead: 'a provider refuses a credential, which is set aside',
  credential_alive: 'a provider takes a credential again',
}

// What a request's life tells the operator when it does not go as it should.
function warnings({ metrics, log }: Ground) {
  return {
    onFailure(provider: string, failure: Failure) {
      metrics.upstreamError(failure.kind)
      log.warn({ provider, kind: failure.kind, why: failure.message }, 'upstream failed')
    },
    onClamped(id: string) {
      metrics.clamped()
      log.warn({ id }, 'upstream usage was above what could be and was clamped')
    },
    onLate(id: string, error: unknown) {
      metrics.lateSettlement()
      log.error({ id, err: wordsOf(error) }, 'settlement failed and is tried again')
    },
  }
}
