// The catalog in force during concurrent changes: an older read of the store never replaces a newer one.
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { openCatalog } from '../../src/catalog/service.ts'
import { loadConfig } from '../../src/config/config.ts'
import { openContext } from '../../src/server/context.ts'
import type { CatalogStore, StoredCatalog } from '../../src/store/contract/catalog.ts'
import { openSqlite } from '../../src/store/sqlite/sqlite.ts'
import { provider } from '../support/catalog.ts'
import { OPERATOR } from '../support/engines.ts'
import { temporaryFolder } from '../support/folder.ts'

test('refreshes are sequential: a slow read of the store does not undo a later one', async () => {
  await using fixture = await openKeeper()
  const arrival = Promise.withResolvers<void>()
  const read = Promise.withResolvers<void>()
  // The store has responded, and the response is delayed.
  fixture.onLoad = async stored => {
    fixture.onLoad = undefined
    read.resolve()
    await arrival.promise
    return stored
  }

  const first = fixture.catalogService.refresh()
  await read.promise
  await fixture.add('added')
  const second = fixture.catalogService.refresh()
  await Promise.race([second, new Promise(resolve => setTimeout(resolve, 100))])
  arrival.resolve()
  await Promise.all([first, second])

  assert.equal(fixture.catalogService.live.current().provider('added')?.id, 'added')
})

test('a failed refresh does not prevent the next one', async () => {
  await using fixture = await openKeeper()
  await fixture.add('added')

  fixture.onLoad = () => Promise.reject(new Error('the store is away'))
  await assert.rejects(fixture.catalogService.refresh(), /away/)
  fixture.onLoad = undefined
  await fixture.catalogService.refresh()

  assert.equal(fixture.catalogService.live.current().provider('added')?.id, 'added')
})

type OnLoad = (stored: StoredCatalog) => Promise<StoredCatalog>

async function openKeeper() {
  const folder = await temporaryFolder()
  const config = loadConfig({ TURNPIKE_DATA_DIR: folder.path, TURNPIKE_LOG_LEVEL: 'silent' }, folder.path)
  const store = await openSqlite({ path: join(folder.path, 'test.db'), owner: 'test' })
  const load = async () => {
    const stored = await store.catalog.load()
    return fixture.onLoad === undefined ? stored : fixture.onLoad(stored)
  }
  const catalog: CatalogStore = Object.assign(Object.create(store.catalog), { load })
  const fixture = {
    onLoad: undefined as OnLoad | undefined,
    async add(id: string): Promise<void> {
      const added = { provider: provider(id), entered: '{}', active: true, credentials: [] }
      await store.catalog.createProvider(added, 10, OPERATOR)
    },
    async [Symbol.asyncDispose]() {
      await store.close()
      await folder[Symbol.asyncDispose]()
    },
  }
  return Object.assign(fixture, { catalogService: await openCatalog({ ...store, catalog }, openContext(config)) })
}
