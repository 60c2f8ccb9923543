// Wires everything; the only file that knows every room. Opens the store, sweeps what a crash left, opens the door, and
// drains on SIGTERM.
import { randomBytes, randomUUIDv7 } from 'node:crypto'
import type { Server } from 'node:http'
import { join } from 'node:path'
import { accountVerbs } from './admin/accounts.ts'
import { keyVerbs } from './admin/keys.ts'
import { reportVerbs } from './admin/reports.ts'
import { authenticator } from './admit/authenticate.ts'
import { keyLimits } from './admit/limit.ts'
import { refusalNotes } from './admit/note.ts'
import { BadConfig, type Config, type Listen } from './config.ts'
import { drainable } from './drain.ts'
import { DEMO_MODEL, demoCatalog, firstStart, installationKey, welcome } from './first-start.ts'
import { openApp } from './http/app.ts'
import { bodyRoom } from './http/bodies.ts'
import { type InFlight, v1Door } from './http/door.ts'
import { gatewayMetrics } from './http/metrics.ts'
import { addressOfRequest, addressStandingOf } from './http/peer.ts'
import { requestLine } from './http/request-line.ts'
import { httpServer } from './http/server.ts'
import { chatCompletions } from './http/v1/chat-completions.ts'
import { keyIntrospect } from './http/v1/key-introspect.ts'
import { listModels, oneModel } from './http/v1/models.ts'
import { listUsage, oneUsage, type UsagePage } from './http/v1/usage.ts'
import { alarms } from './lib/alarms.ts'
import { parseCidrs } from './lib/cidr.ts'
import { systemClock } from './lib/clock.ts'
import { failpoints } from './lib/failpoint.ts'
import { fairQueue } from './lib/fair-queue.ts'
import { openLog } from './lib/log.ts'
import { places } from './lib/places.ts'
import { roster } from './lib/roster.ts'
import { tokenCounter } from './lib/tokens.ts'
import { catalogOf } from './route/catalog.ts'
import { keepSweeping, sweepOnce } from './settle/sweep.ts'
import type { Store } from './store/contract.ts'
import { DATABASE_FILE, lockDataDir } from './store/lock.ts'
import { openSqlite } from './store/sqlite.ts'
import { adapterRegistry } from './upstream/registry.ts'

export async function serve(config: Config): Promise<void> {
  const { bounds } = config
  const clock = systemClock
  const newId = randomUUIDv7
  const log = openLog(config.logLevel, process.stdout, clock)
  process.on('exit', log.flush)
  process.on('SIGHUP', () => log.warn({}, 'SIGHUP ignored: the configuration file is read at start only'))
  const inFlight = roster<InFlight>()
  const bodies = bodyRoom(bounds.bodiesInMemoryBytesMax, bounds.bodiesInMemoryBytesMax / bounds.bodiesPerAccountShare)
  const metrics = gatewayMetrics({ inFlight: () => inFlight.size, bodyBytes: () => bodies.bytes })
  const onBug = (error: unknown, requestId?: string) => log.error({ id: requestId, err: words(error) }, 'a bug of ours')

  if (lockDataDir(config.dataDir) === 'taken')
    throw new BadConfig(`another process is using the data directory ${config.dataDir}`)
  const store = await openStore(config, metrics.commit)
  const stored = await store.catalog.provision(declared(config, newId))
  const catalog = catalogOf(stored)
  const apiKeys = new Map(
    (config.catalog?.providers ?? []).flatMap(({ id, apiKey }) =>
      apiKey === undefined ? [] : [[id, apiKey] as const],
    ),
  )

  const authenticate = authenticator({
    ...bounds,
    gates: store.gates,
    clock,
    keyPrefix: config.brand.keyPrefix,
    onCache: metrics.keyCache,
  })
  const live = roster<string>()
  const limits = keyLimits({ ...bounds, clock })
  const notes = refusalNotes({ ...bounds, gates: store.gates, clock, onUnwritten: metrics.unwrittenRefusal })
  const trusted = parseCidrs(config.trustedProxies)
  const drain = drainable({ inFlight, bounds, log })
  const readOns = places(bounds.readOnPerAccountMax)

  const accounts = accountVerbs({ accounts: store.accounts, newId, forgetAccount: authenticate.forgetAccounts })
  // What a first start makes is made once the address is ours: a start that fails leaves nothing whose secret nobody saw.
  const first = { accountId: undefined as string | undefined, adminTokenHash: randomBytes(32) as Buffer }
  const keys = keyVerbs({
    keys: store.keys,
    clock,
    brand: config.brand,
    defaults: config.defaults,
    defaultAccountId: () => first.accountId,
    newId,
    randomBytes,
    forget: authenticate.forget,
    abortStreams: drain.cutKey,
  })

  const reply = {
    limits,
    authenticator: authenticate,
    headerPrefix: config.brand.headerPrefix,
    bodyBytesMax: bounds.bodyBytesMax,
    refusedBodyBytesMax: bounds.refusedBodyBytesMax,
    refusedBodyWaitMs: bounds.refusedBodyWaitMs,
    closing: drain.closing,
    corsOrigins: config.corsOrigins,
  }
  const counter = tokenCounter({ timeoutMs: bounds.estimateTimeoutMs })
  const adapters = adapterRegistry(apiKeys, bounds, clock)
  const entering = {
    gates: store.gates,
    authenticator: authenticate,
    limits,
    reply,
    catalog: () => catalog,
    usage: store.usage,
  }
  const lists = fairQueue<UsagePage>({
    concurrent: bounds.usageListsAtOnceMax,
    waitingMax: bounds.usageListsWaitingMax,
    waitingPerOwnerMax: bounds.usageListsPerAccountWaitingMax,
  })
  const gateway = {
    ...entering,
    ...bounds,
    alarms: alarms(clock),
    adapters,
    clock,
    random: Math.random,
    onFailure: (provider: string, failure: { kind: Parameters<typeof metrics.upstreamError>[0]; message: string }) => {
      metrics.upstreamError(failure.kind)
      log.warn({ provider, kind: failure.kind, why: failure.message }, 'upstream failed')
    },
    counter,
    live,
    onClamped: (id: string) => {
      metrics.clamped()
      log.warn({ id }, 'upstream usage was above what could be and was clamped')
    },
    onLate: (id: string, error: unknown) => {
      metrics.lateSettlement()
      log.error({ id, err: words(error) }, 'settlement failed and is tried again')
    },
    readOnFor: readOns.of,
    hmacKey: installationKey(config),
    failpoint: failpoints(config.failpoints),
    bodies,
    bodyTimeoutMs: bounds.requestTimeoutMs,
    streams: metrics.streams,
    pace: bounds,
  }

  const door = v1Door({
    authenticator: authenticate,
    limits,
    gates: { note: notes.note, touch: store.gates.touch },
    clock,
    trustedProxies: trusted,
    newRequestId: newId,
    endpoints: [
      chatCompletions(gateway),
      listModels(entering),
      oneModel(entering),
      keyIntrospect(entering),
      listUsage({ ...entering, ...bounds, lists }),
      oneUsage(entering),
    ],
    reply,
    open: drain.open,
    inFlight,
    report(report) {
      metrics.request(report)
      log.info(requestLine(report), 'request')
    },
    onBug,
  })

  const admin = {
    clock,
    adminTokenHash: () => first.adminTokenHash,
    addressOf: addressOfRequest(trusted),
    keys,
    accounts,
    reports: reportVerbs(store),
    jsonDepthMax: bounds.jsonDepthMax,
    onBug,
  }
  const appNeeds = {
    // The listener is open before the admin token is known; nobody should come before that.
    ready: async () =>
      first.accountId === undefined ? 'starting' : readiness(store, catalog.models.length, drain.closing()),
    metrics,
    metricsToken: config.metricsToken,
    newRequestId: newId,
    admin,
    brand: config.brand,
    bodyBytesMax: bounds.adminBodyBytesMax,
    onBug,
  }
  const app = await openApp({ admin: config.adminListen === undefined }, appNeeds)
  const apps = [app]
  const serverNeeds = {
    ...bounds,
    v1: door,
    others: app.routing,
    newRequestId: newId,
    addressStanding: addressStandingOf(authenticate),
    headerPrefix: config.brand.headerPrefix,
    onParserError: metrics.parserError,
  }
  const server = httpServer(serverNeeds)
  const sweepNeeds = {
    gates: store.gates,
    keys: store.keys,
    live,
    forget: authenticate.forget,
    onSwept(rows: number) {
      metrics.swept(rows)
      log.warn({ rows }, 'rows of a dead process were recovered')
    },
    onError: (error: unknown) => log.error({ err: words(error) }, 'the sweep failed'),
  }
  await sweepOnce(sweepNeeds)
  const stopSweeping = keepSweeping(sweepNeeds, bounds)
  const pruning = setInterval(() => {
    limits.prune()
    notes.prune()
  }, bounds.limitsPrunedEveryMs)

  const servers = [{ server, listen: { host: config.host, port: config.port } }]
  if (typeof config.adminListen === 'object') {
    const adminApp = await openApp({ admin: true }, appNeeds)
    apps.push(adminApp)
    servers.push({
      server: httpServer({
        ...serverNeeds,
        v1: async (req, res) => adminApp.routing(req, res),
        others: adminApp.routing,
      }),
      listen: config.adminListen,
    })
  }
  for (const each of servers) await listen(each.server, each.listen, bounds.backlogMax)
  const start = await firstStart(config, { store, accounts, keys, newId })
  Object.assign(first, { accountId: start.accountId, adminTokenHash: start.adminTokenHash })
  if (start.made.adminToken !== undefined || start.made.secret !== undefined) {
    process.stdout.write(welcome(addressOf(server, config.host), start.made, DEMO_MODEL))
  }
  await start.shown()
  log.info({ url: addressOf(server, config.host), models: catalog.models.length }, 'listening')

  await drain.finished(servers.map(each => each.server))
  stopSweeping()
  clearInterval(pruning)
  await adapters.close()
  await counter.close()
  for (const each of apps) await each.close()
  await store.close()
  log.info({}, 'drained')
  log.flush()
}

async function openStore(config: Config, onCommit: (ops: number, ms: number) => void): Promise<Store> {
  const path = join(config.dataDir, DATABASE_FILE)
  try {
    return await openSqlite({ path, owner: randomUUIDv7(), onCommit })
  } catch (error) {
    throw new BadConfig(`the database ${path} cannot be opened: ${(error as Error).message}`)
  }
}

function declared(config: Config, newId: () => string) {
  if (config.catalog === undefined) return demoCatalog(newId)
  const { providers, models } = config.catalog
  return {
    providers: providers.map(({ apiKey: _secret, ...provider }) => provider),
    models: models.map(model => ({ ...model, newPriceVersion: newId() })),
  }
}

async function readiness(store: Store, models: number, closing: boolean): Promise<string | undefined> {
  if (closing) return 'draining'
  if (models === 0) return 'no model is active'
  try {
    await store.ping()
    return undefined
  } catch {
    return 'the store does not answer'
  }
}

function listen(server: Server, at: Listen, backlogMax: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      reject(
        error.code === 'EADDRINUSE'
          ? new BadConfig(`${at.host}:${at.port} is in use by another process (TURNPIKE_PORT)`)
          : error,
      )
    })
    server.listen(at.port, at.host, backlogMax, resolve)
  })
}

function addressOf(server: Server, host: string): string {
  const address = server.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`
}

function words(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error)
}
