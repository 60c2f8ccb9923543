// Opens the store: Postgres, or the data directory for this process alone with its database; and the catalog.
import { join } from 'node:path'
import { type CatalogService, openCatalog, requirePackages } from '../catalog/service.ts'
import { BadConfig } from '../config/bad-config.ts'
import type { LiveCatalog } from '../route/catalog.ts'
import { type Store, StoreUnavailable } from '../store/contract/store.ts'
import { openPostgres } from '../store/postgres/postgres.ts'
import { DATABASE_FILE, lockDataDir } from '../store/sqlite/lock.ts'
import { openSqlite } from '../store/sqlite/sqlite.ts'
import { transferredTo } from '../store/transfer/marker.ts'
import type { ServerContext } from './context.ts'

export type OpenedStore = {
  readonly store: Store
  readonly catalog: LiveCatalog
  readonly catalogService: CatalogService
  // Calls it when events for webhooks may have been committed by this process.
  onRaised(listener: () => void): void
}

export async function openStore(context: ServerContext): Promise<OpenedStore> {
  const { config } = context
  requirePackages(config.catalog?.providers ?? [])
  const { databaseUrl, dataDir } = config
  let listener = () => {}
  const onRaised = () => listener()
  const store =
    databaseUrl === undefined ? await openEmbedded(context, onRaised) : await openShared(databaseUrl, context, onRaised)
  const catalogService = await openCatalog(store, context).catch(error => {
    // A damaged page is noticed only when it is read.
    throw error instanceof StoreUnavailable
      ? cannotOpen(databaseUrl === undefined ? fileIn(dataDir) : SHARED, error)
      : error
  })
  return {
    store,
    catalog: catalogService.live,
    catalogService,
    onRaised(added) {
      listener = added
    },
  }
}

const SHARED = 'DATABASE_URL: the database'
const fileIn = (dataDir: string) => `the database ${join(dataDir, DATABASE_FILE)}`

function cannotOpen(what: string, error: unknown): BadConfig {
  return new BadConfig(`${what} cannot be opened: ${(error as Error).message}`)
}

function takeDataDir(dir: string): void {
  if (lockOf(dir) === 'taken') throw new BadConfig(`another process is using the data directory ${dir}`)
  const elsewhere = transferredTo(dir)
  if (elsewhere !== undefined) throw new BadConfig(elsewhere)
}

function lockOf(dir: string) {
  try {
    return lockDataDir(dir)
  } catch (error) {
    throw new BadConfig(`TURNPIKE_DATA_DIR: ${dir} cannot be used: ${(error as Error).message}`)
  }
}

async function openShared(url: string, context: ServerContext, onRaised: () => void): Promise<Store> {
  const { config, clock, metrics, newId, node } = context
  try {
    const { nodeLeaseMs: leaseMs, gateWaitMsMax } = config.bounds
    const onUnsafe = (settings: readonly string[]) => refuseUnsafe(settings, context)
    const [owner, onCommit, bounds] = [newId(), metrics.commit, { gateWaitMsMax }]
    return await openPostgres({ url, owner, clock, onCommit, onRaised, leaseMs, node, onUnsafe, bounds })
  } catch (error) {
    throw cannotOpen(SHARED, error)
  }
}

// What was acknowledged as booked must survive a crash of the server too.
function refuseUnsafe(settings: readonly string[], { config, log }: ServerContext): void {
  const why = `${settings.map(name => `${name} = off`).join(', ')}: the server may lose acknowledged commits`
  if (!config.allowUnsafeDatabase) {
    throw new Error(`${why}; turn it on, or set TURNPIKE_ALLOW_UNSAFE_DATABASE=1 to accept data loss`)
  }
  log.warn({}, `${why} (TURNPIKE_ALLOW_UNSAFE_DATABASE)`)
}

async function openEmbedded(
  { config, metrics, newId, node, log }: ServerContext,
  onRaised: () => void,
): Promise<Store> {
  takeDataDir(config.dataDir)
  const path = join(config.dataDir, DATABASE_FILE)
  try {
    const { gateWaitMsMax } = config.bounds
    return await openSqlite({
      path,
      owner: newId(),
      onCommit: metrics.commit,
      onRaised,
      onWarning: warning => log.warn({ file: DATABASE_FILE }, warning),
      node,
      bounds: { gateWaitMsMax },
      failpoints: config.failpoints,
    })
  } catch (error) {
    throw cannotOpen(fileIn(config.dataDir), error)
  }
}
