// The life of the process: opens the store, recovers what a crash left, starts listening, and drains on SIGTERM. Only the files
// of this folder know every layer.
import { setTimeout } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { DEMO_MODEL } from '../catalog/demo.ts'
import { BadConfig, NoConfigFile } from '../config/bad-config.ts'
import type { Config } from '../config/config.ts'
import { wordsOf } from '../lib/text.ts'
import { keepSweeping, type SweepNeeds, sweepOnce } from '../settle/recover.ts'
import { StoreUnavailable } from '../store/contract/store.ts'
import { type FirstStart, welcome } from './bootstrap.ts'
import { watchNodes } from './cluster/peer-watcher.ts'
import { joinTree } from './cluster/worker.ts'
import { openContext, type ServerContext } from './context.ts'
import { drainable, onHangUp } from './drain.ts'
import { openListeners } from './listeners.ts'
import { collectWhenIdle, startMaintenance } from './maintenance.ts'
import { openOtel } from './open-otel.ts'
import { type OpenedStore, openStore } from './open-store.ts'
import { openWebhooks } from './open-webhooks.ts'
import { openOperator } from './wire-admin-api.ts'
import { openV1, type V1 } from './wire-chat-api.ts'

// Returns the exit code.
export async function serve(config: Config): Promise<number> {
  // Everything created is private, also in an existing data directory that is open to others.
  process.umask(0o077)
  const tree = joinTree()
  const context = openContext(config, tree)
  const { log, inFlight } = context
  process.on('exit', log.flush)
  // A signal that arrives before there is anything to apply would otherwise end the process.
  let reload = () => log.warn({}, 'SIGHUP ignored: the gateway is still starting')
  onHangUp(() => reload())

  const opened = await openStore(context)
  await using start = leaveUnlessServing(opened.store)
  reload = () => void applyFile(opened, context)
  watchStore(opened, context)
  const drain = drainable({ inFlight, bounds: config.bounds, log, onTold: tree?.onDrain })
  const peers = watchNodes(opened, drain, context)
  const otel = await openOtel(opened, context)
  const v1 = await openV1(opened, { drain, peers, otel }, context)
  const webhooks = await openWebhooks(opened, context)
  const operator = openOperator(opened, { v1, webhooks }, drain, context)
  const listeners = await openListeners(v1, operator, drain, context)
  const stopSweeping = await startSweeping(opened, v1, context)
  const stopMaintenance = await startMaintenance(opened.store, context)
  // Of nodes that start at once on an empty database one does the first-start work, and has shown it before the next one checks.
  const begin = () =>
    opened.store.nodes.withStartupLock(async () => {
      await show(await operator.begin(), { url: listeners.url(), adminUrl: listeners.adminUrl() }, config)
    })
  if (tree?.isLater) await begin()
  // Workers listen through their primary.
  await Promise.race([listeners.listen(), ...(tree === undefined ? [] : [tree.orphaned])])
  if (!tree?.isLater) await begin()
  const { models } = opened.catalog.current()
  log.info({ url: listeners.url(), node: context.node.name, pid: process.pid, models: models.length }, 'listening')
  tree?.ready()
  start.serves()
  keepHeapSmall()
  collectWhenIdle(() => inFlight.size === 0)

  // Until then the sweeps continue, which renew the lease: other nodes leave the rows alone that are still to be settled.
  const unsettled = await drain.finished(listeners.servers, v1.settlements)
  stopSweeping()
  peers.stop()
  await stopMaintenance()
  await webhooks.stop()
  await v1.close()
  await listeners.close()
  await otel?.close(config.bounds.drainTelemetryMsMax)
  if (unsettled.length > 0) await closeUnwell(opened.store, unsettled, context)
  else {
    await opened.store.close()
    log.info({}, 'drained')
  }
  await log.end()
  return unsettled.length === 0 ? 0 : 1
}

// The next start, or another node, recovers the rows by their last checkpoint: the operator must know which callers were sent
// another cost.
async function closeUnwell(
  store: OpenedStore['store'],
  unsettled: readonly string[],
  { config, log }: ServerContext,
): Promise<void> {
  const ids = unsettled.slice(0, IDS_IN_A_LINE)
  log.error({ unsettled: unsettled.length, ids }, 'exiting with unsettled requests: the database did not accept them')
  for (let at = IDS_IN_A_LINE; at < unsettled.length; at += IDS_IN_A_LINE) {
    log.error({ ids: unsettled.slice(at, at + IDS_IN_A_LINE) }, 'more unsettled requests')
  }
  const closing = store.close().catch(error => log.error({ err: wordsOf(error) }, 'cannot close the database'))
  await Promise.race([closing, setTimeout(config.bounds.drainCloseMsMax)])
}

const IDS_IN_A_LINE = 1000

// From here on the heap grows by 30 % between collections instead of doubling: garbage of requests is collected sooner, and the
// process stays small. What a start loads is not garbage, and collecting it would only delay the start. Pretenuring is off: V8
// would allocate objects of requests in the old generation if similar ones have survived, where they keep whole requests alive
// until the next full collection. So little survives in the young generation that helper threads cost more than they save. See
// docs/performance.md.
function keepHeapSmall(): void {
  setFlagsFromString('--heap-growing-percent=30')
  setFlagsFromString('--no-allocation-site-pretenuring')
  setFlagsFromString('--no-parallel-scavenge')
}

// A failed start releases its lease: nobody should wait for a node that never served.
function leaveUnlessServing({ nodes }: OpenedStore['store']) {
  let isServing = false
  return {
    serves() {
      isServing = true
    },
    async [Symbol.asyncDispose]() {
      if (!isServing) await nodes.leave().catch(() => undefined)
    },
  }
}

function watchStore({ store }: OpenedStore, { config, clock, log, metrics }: ServerContext): void {
  metrics.watchStore({
    store: { ping: store.ping, money: store.gauges.money },
    bounds: config.bounds,
    clock,
    onError: error => log.warn({ err: wordsOf(error) }, 'cannot read balances and budgets for the metrics'),
  })
}

// Rows of a dead process are booked before anything new.
async function startSweeping(
  { store }: OpenedStore,
  v1: V1,
  { config, metrics, log }: ServerContext,
): Promise<() => void> {
  const needs = {
    billing: store.billing,
    keys: store.keys,
    sessions: [store.sessions, store.portal],
    live: v1.live,
    forget: v1.authenticator.forget,
    onSwept(rows: number) {
      metrics.swept(rows)
      log.warn({ rows }, 'recovered open rows of a crashed process')
    },
    onError: (error: unknown) => log.error({ err: wordsOf(error) }, 'recovery of open rows failed'),
  }
  await firstSweep(needs, config.bounds)
  return keepSweeping(needs, config.bounds)
}

// A store that others use may be busy for a moment: that is no reason to abort the start.
async function firstSweep(needs: SweepNeeds, bounds: Config['bounds']): Promise<void> {
  for (let tries = 1; ; tries++) {
    try {
      return await sweepOnce(needs)
    } catch (error) {
      if (!(error instanceof StoreUnavailable) || tries === bounds.firstSweepTriesMax) throw error
      needs.onError(error)
      await setTimeout(bounds.firstSweepPauseMs)
    }
  }
}

// On SIGHUP: the file is read again and its catalog is in force at once; a bad file changes nothing.
async function applyFile({ catalogService }: OpenedStore, { log }: ServerContext): Promise<void> {
  try {
    const { changes, atNextStart } = await catalogService.apply(false, { name: 'SIGHUP', address: 'local' })
    log.info({ changes, atNextStart }, 'configuration file applied')
  } catch (error) {
    if (error instanceof NoConfigFile) return log.info({}, 'SIGHUP ignored: no configuration file')
    const why = error instanceof BadConfig ? error.message : wordsOf(error)
    log.error({ err: why }, 'configuration file rejected; nothing was changed')
  }
}

// Secrets are shown once, and only then become permanent.
async function show(first: FirstStart, at: Parameters<typeof welcome>[0], { detected }: Config): Promise<void> {
  const { adminToken, secret } = first.made
  if (adminToken !== undefined || secret !== undefined) await print(welcome(at, first, DEMO_MODEL, detected.found))
  await first.shown()
}

// Rejects if nobody can read it.
function print(text: string): Promise<void> {
  return new Promise((resolve, reject) => {
    process.stdout.write(text, error => (error ? reject(error) : resolve()))
  })
}
