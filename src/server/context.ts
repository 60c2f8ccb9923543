// The shared context of the process: configuration, clock, randomness, ids, log, metrics, and requests in flight.

import { randomUUIDv7 } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { getHeapStatistics } from 'node:v8'
import type { Config } from '../config/config.ts'
import { type BodyMemory, bodyMemory } from '../http/body-memory.ts'
import { boundConnections, type Connections, connectionsMax } from '../http/connections.ts'
import type { InFlight } from '../http/router.ts'
import { type Clock, systemClock } from '../lib/clock.ts'
import { type CoarseTimers, coarseTimers } from '../lib/coarse-timers.ts'
import { type CidrSet, parseCidrs } from '../lib/ip-address.ts'
import { type SlotList, slotList } from '../lib/slot-list.ts'
import { wordsOf } from '../lib/text.ts'
import { version } from '../lib/version.ts'
import type { NodeFacts } from '../store/contract/nodes.ts'
import { StoreUnavailable } from '../store/contract/store.ts'
import { type Log, openLog } from '../telemetry/log.ts'
import { gatewayMetrics, type Metrics } from '../telemetry/metrics.ts'
import { type ConnectionLimit, connectionLimit } from '../upstream/connection-limit.ts'
import { type AnswerMemory, answerMemory } from '../upstream/response-memory.ts'
import type { WorkerTree } from './cluster/worker.ts'

export type ServerContext = {
  readonly config: Config
  readonly clock: Clock
  readonly random: () => number
  readonly newId: () => string
  readonly log: Log
  readonly node: NodeFacts
  readonly metrics: Metrics
  readonly trustedProxies: CidrSet
  readonly inFlight: SlotList<InFlight>
  readonly bodies: BodyMemory
  readonly answers: AnswerMemory
  readonly connections: Connections
  readonly upstreamConnections: ConnectionLimit
  readonly timers: CoarseTimers
  readonly onBug: (error: unknown, requestId?: string) => void
}

export function openContext(config: Config, tree?: WorkerTree): ServerContext {
  const bodiesMax = bodiesBytesMax(config.bounds)
  const clock = systemClock
  const log = openLog(config.logLevel, process.stdout, clock)
  const inFlight = slotList<InFlight>()
  const bodies = bodyMemory(bodiesMax, bodiesMax / config.bounds.bodiesPerAccountShare)
  const answers = answerMemory({
    bytesMax: config.bounds.answersInMemoryBytesMax,
    bytesMaxPerAccount: config.bounds.answersInMemoryBytesMax / config.bounds.answersPerAccountShare,
  })
  const live = {
    inFlight: () => inFlight.size,
    bodyBytes: () => bodies.bytes,
    answerBytes: () => answers.bytes,
  }
  const metrics = gatewayMetrics(live, tree?.gather)
  tree?.answerWith(metrics.asJson)
  const trustedProxies = parseCidrs(config.trustedProxies)
  const descriptors = descriptorLimit()
  const max = connectionsMax(descriptors, config.bounds)
  const connections = boundConnections({
    max,
    perAddressMax: Math.ceil((max * config.bounds.connectionsPerAddressPercentMax) / 100),
    trustedProxies,
    ...metrics.connections,
  })
  metrics.watchConnections(() => connections.open)
  const onBug = (error: unknown, requestId?: string) => {
    if (error instanceof StoreUnavailable) log.error({ id: requestId, err: error.message }, 'database operation failed')
    else log.error({ id: requestId, err: wordsOf(error) }, 'unexpected error')
  }
  return {
    config,
    clock,
    random: Math.random,
    newId: randomUUIDv7,
    log,
    node: {
      name: (config.nodeName ?? `${hostname()}:${config.port}`) + (tree === undefined ? '' : `/${tree.number}`),
      version: version(),
      startedAt: clock.now(),
      inFlight: () => inFlight.size,
    },
    metrics,
    trustedProxies,
    inFlight,
    bodies,
    answers,
    connections,
    // What is left after the callers' share.
    upstreamConnections: connectionLimit(Math.max(1, descriptors - config.bounds.descriptorsReserved - max)),
    timers: coarseTimers(clock, onBug),
    onBug,
  }
}

// A body takes several times its size while it is served: parsed, and as the text that is sent upstream. Where the heap is small,
// a tenth of it is for bodies; each account may always have one.
function bodiesBytesMax({ bodiesInMemoryBytesMax, bodiesPerAccountShare, bodyBytesMax }: Config['bounds']): number {
  const byHeap = getHeapStatistics().heap_size_limit / 10
  return Math.max(Math.min(bodiesInMemoryBytesMax, byHeap), bodyBytesMax * bodiesPerAccountShare)
}

// The maximum number of files and sockets that this process may have open.

// The usual POSIX default, for systems that do not report a limit.
const USUAL = 1024

function descriptorLimit(): number {
  return fromProc() ?? fromReport() ?? USUAL
}

function fromProc(): number | undefined {
  try {
    return numberOf(/^Max open files\s+(\S+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1])
  } catch {
    return undefined
  }
}

// For systems without /proc; takes a few milliseconds more.
function fromReport(): number | undefined {
  const { userLimits } = process.report.getReport() as {
    readonly userLimits?: { readonly open_files?: { readonly soft?: unknown } }
  }
  return numberOf(userLimits?.open_files?.soft)
}

function numberOf(limit: unknown): number | undefined {
  if (limit === 'unlimited') return Number.MAX_SAFE_INTEGER
  const number = Number(limit)
  return Number.isSafeInteger(number) && number > 0 ? number : undefined
}
