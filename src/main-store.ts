// Opens what is kept: Postgres, or the data directory for this process alone and the database in it; and the catalog.
import { join } from 'node:path'
import { BadConfig } from './config.ts'
import { type CatalogKeeper, openCatalog, requirePackages } from './main-catalog.ts'
import type { Ground } from './main-ground.ts'
import type { LiveCatalog } from './route/catalog.ts'
import type { Store } from './store/contract.ts'
import { DATABASE_FILE, lockDataDir } from './store/lock.ts'
import { movedAway } from './store/move-note.ts'
import { openPostgres } from './store/postgres.ts'
import { openSqlite } from './store/sqlite.ts'

export type House = { readonly store: Store; readonly catalog: LiveCatalog; readonly keeper: CatalogKeeper }

export async function openHouse(ground: Ground): Promise<House> {
  const { config } = ground
  requirePackages(config.catalog?.providers ?? [])
  const store =
    config.databaseUrl === undefined ? await openEmbedded(ground) : await openShared(config.databaseUrl, ground)
  const keeper = await openCatalog(store, ground)
  return { store, catalog: keeper.live, keeper }
}

function takeDataDir(dir: string): void {
  if (lockOf(dir) === 'taken') throw new BadConfig(`another process is using the data directory ${dir}`)
  const elsewhere = movedAway(dir)
  if (elsewhere !== undefined) throw new BadConfig(elsewhere)
}

function lockOf(dir: string) {
  try {
    return lockDataDir(dir)
  } catch (error) {
    throw new BadConfig(`TURNPIKE_DATA_DIR: ${dir} cannot be used: ${(error as Error).message}`)
  }
}

async function openShared(url: string, { config, clock, metrics, newId, node }: Ground): Promise<Store> {
  try {
    const leaseMs = config.bounds.nodeLeaseMs
    return await openPostgres({ url, owner: newId(), clock, onCommit: metrics.commit, leaseMs, node })
  } catch (error) {
    throw new BadConfig(`DATABASE_URL: the database cannot be opened: ${(error as Error).message}`)
  }
}

async function openEmbedded({ config, metrics, newId, node }: Ground): Promise<Store> {
  takeDataDir(config.dataDir)
  const path = join(config.dataDir, DATABASE_FILE)
  try {
    return await openSqlite({ path, owner: newId(), onCommit: metrics.commit, node })
  } catch (error) {
    throw new BadConfig(`the database ${path} cannot be opened: ${(error as Error).message}`)
  }
}
