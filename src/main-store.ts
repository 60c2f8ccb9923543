// Opens what is kept: the data directory for this process alone, the database in it, and the catalog as it is declared.
import { join } from 'node:path'
import { BadConfig, type Config } from './config.ts'
import { demoCatalog } from './first-start.ts'
import type { Ground } from './main-ground.ts'
import { type Credentials, catalogOf, type LiveCatalog, liveCatalog } from './route/catalog.ts'
import type { Store } from './store/contract.ts'
import type { DeclaredCatalog } from './store/contract-operator.ts'
import { DATABASE_FILE, lockDataDir } from './store/lock.ts'
import { openSqlite } from './store/sqlite.ts'
import { missingPackages } from './upstream/ai-sdk-models.ts'

export type House = { readonly store: Store; readonly catalog: LiveCatalog }

export async function openHouse(ground: Ground): Promise<House> {
  const { config } = ground
  const missing = missingPackages(config.catalog?.providers ?? [])
  if (missing !== undefined) throw new BadConfig(missing)
  takeDataDir(config.dataDir)
  const store = await openStore(ground)
  const stored = await store.catalog.provision(declared(config, ground.newId))
  return { store, catalog: liveCatalog(catalogOf(stored, declaredCredentials(config))) }
}

function takeDataDir(dir: string): void {
  if (lockOf(dir) === 'taken') throw new BadConfig(`another process is using the data directory ${dir}`)
}

function lockOf(dir: string) {
  try {
    return lockDataDir(dir)
  } catch (error) {
    throw new BadConfig(`TURNPIKE_DATA_DIR: ${dir} cannot be used: ${(error as Error).message}`)
  }
}

async function openStore({ config, metrics, newId }: Ground): Promise<Store> {
  const path = join(config.dataDir, DATABASE_FILE)
  try {
    return await openSqlite({ path, owner: newId(), onCommit: metrics.commit })
  } catch (error) {
    throw new BadConfig(`the database ${path} cannot be opened: ${(error as Error).message}`)
  }
}

// Credentials stay in memory; what is stored of a provider has none.
function declared(config: Config, newId: () => string): DeclaredCatalog {
  if (config.catalog === undefined) return demoCatalog(newId)
  const { providers, models } = config.catalog
  return {
    providers: providers.map(({ credentials: _secret, ...provider }) => provider),
    models: models.map(model => ({ ...model, newPriceVersion: newId() })),
  }
}

function declaredCredentials({ catalog }: Config): Credentials {
  return new Map(catalog?.providers.map(({ id, credentials }) => [id, credentials]))
}
