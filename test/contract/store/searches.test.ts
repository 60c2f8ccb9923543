// The contract of searches and lists: they do not slow down reservations, show everything committed before they
// started, and wait for no other report.
import assert from 'node:assert/strict'
import { randomUUIDv7 } from 'node:crypto'
import { test } from 'node:test'
import { StoreUnavailable } from '../../../src/store/contract/store.ts'
import { openSqlite } from '../../../src/store/sqlite/sqlite.ts'
import { bill, type Fixture, GATE_ENGINES, newKey, openFixture } from '../../support/billing-stores.ts'
import { ENGINES, OPERATOR, openRepositories } from '../../support/engines.ts'

// As many as the slower engine handles in a test's time; on Postgres each is checked against its account and its key.
const KEYS: Readonly<Record<string, number>> = { sqlite: 200_000, postgres: 40_000 }
const FEW_KEYS = 30_000
const REQUESTS = 40

for (const { engine, make } of GATE_ENGINES) {
  test(`${engine}: searches over ${KEYS[engine]} keys delay no request, and other reads continue`, async () => {
    await using fixture = await openFixture(make, 1_000_000n)
    await fillKeys(engine, fixture, KEYS[engine])
    const { store } = fixture
    await store.keys.list({ limit: 1, q: 'warm up' })
    const alone = await gateTimes(fixture)
    const began = performance.now()
    await store.keys.list({ limit: 50, q: 'nobody has this name' })
    const searchMs = performance.now() - began

    let isOver = false
    const searches = [1, 2].map(async () => {
      while (!isOver) await store.keys.list({ limit: 50, q: 'nobody has this name' })
    })
    const { meanwhile, created, data, listMs } = await readMeanwhile(fixture).finally(() => {
      isOver = true
    })
    await Promise.all(searches)

    assert.equal(typeof created === 'object' && created.id, data[0]?.id, 'a key is listed as soon as it is created')
    // On a busy machine one request may be late; in the search's thread every request would wait for a whole search.
    const delay = percentile(meanwhile, 0.5) - percentile(alone, 0.5)
    assert.ok(delay < 20, `${delay} ms later than alone (search: ${searchMs} ms)`)
    const late = percentile(meanwhile, 0.9)
    assert.ok(late < searchMs / 2, `one of ten took ${late} ms or more, a search ${searchMs} ms`)
    assert.ok(listMs < searchMs, `a list of one took ${listMs} ms, a search ${searchMs} ms`)
  })
}

for (const { engine, open } of ENGINES) {
  test(`${engine}: a search finds matches many pages away, page by page, and takes wildcards literally`, async () => {
    await using repositories = await openRepositories(open)
    await repositories.accounts.create({ id: 'acct', name: 'test' }, OPERATOR)
    await repositories.accounts.create({ id: 'acct_other', name: 'other' }, OPERATOR)
    const insert = `INSERT INTO api_key (id, account_id, name, scopes, ip_allowlist, rpm_limit, max_concurrent, created_at)
      WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 12000)
      SELECT 'key_' || (100000 + i), CASE WHEN i % 2 = 0 THEN 'acct' ELSE 'acct_other' END,
        CASE WHEN i % 4000 = 1 THEN '50%_Off' ELSE '50 plain off' END, '[]', '[]', 1, 1, 0 FROM n`
    await repositories.sql.run(insert)

    const all = await repositories.keys.list({ limit: 10, q: '50%_off' })
    const first = await repositories.keys.list({ limit: 2, q: '%_O' })
    const second = await repositories.keys.list({ limit: 2, q: '%_O', after: first.data.at(-1)?.id })
    const none = await repositories.keys.list({ limit: 10, q: '%_off', accountId: 'acct' })
    const every = await repositories.keys.list({ limit: 1000, accountId: 'acct', after: 'key_106000' })

    const ids = ['key_108001', 'key_104001', 'key_100001']
    assert.deepEqual([all.data.map(key => key.id), all.hasMore], [ids, false])
    assert.deepEqual([first.data.map(key => key.id), first.hasMore], [ids.slice(0, 2), true])
    assert.deepEqual([second.data.map(key => key.id), second.hasMore], [ids.slice(2), false])
    assert.deepEqual([none.data, none.hasMore], [[], false])
    assert.deepEqual([every.data[0]?.id, every.data.length, every.hasMore], ['key_105998', 1000, true])
  })
}

test('sqlite: a report beyond its time limit is aborted, and the next one is served', async () => {
  await using fixture = await openFixture(GATE_ENGINES[0]!.make, 0n)
  await fillKeys('sqlite', fixture, FEW_KEYS)
  const reports = { msMax: 5, statementMsMax: 60_000, waitingMax: 3 }
  const store = await openSqlite({ path: fixture.url, owner: 'second', reports })
  const search = () => store.keys.list({ limit: 50, q: 'nobody has this name' })

  await assert.rejects(
    search,
    (error: Error) => error instanceof StoreUnavailable && /took too long/.test(error.message),
  )
  const page = await store.keys.list({ limit: 2 })
  const answers = await Promise.allSettled([search(), search(), search(), search()])
  await store.close()

  assert.equal(page.data.length, 2)
  const words = answers.map(answer => answer.status === 'rejected' && (answer.reason as Error).message)
  assert.match(String(words[3]), /too many queued reports/)
})

test('sqlite: an unresponsive reader is replaced after the time limit', async () => {
  await using fixture = await openFixture(GATE_ENGINES[0]!.make, 0n)
  await fillKeys('sqlite', fixture, FEW_KEYS)
  // With no time allowed for a statement, every query finds its thread unresponsive.
  const reports = { msMax: 0, statementMsMax: 1, waitingMax: 3 }
  const store = await openSqlite({ path: fixture.url, owner: 'second', reports })

  await assert.rejects(store.keys.list({ limit: 50, q: 'nobody has this name' }), StoreUnavailable)
  await assert.rejects(store.keys.list({ limit: 50, q: 'nobody has this name' }), StoreUnavailable)
  await store.keys.create(newKey('key_after'), OPERATOR)
  await store.close()
})

async function readMeanwhile(fixture: Fixture) {
  const meanwhile = await gateTimes(fixture)
  const created = await fixture.store.keys.create(newKey('key_z_new'), OPERATOR)
  const began = performance.now()
  const { data } = await fixture.store.keys.list({ limit: 1 })
  return { meanwhile, created, data, listMs: performance.now() - began }
}

async function fillKeys(engine: string, fixture: Fixture, keys = FEW_KEYS): Promise<void> {
  const padded = engine === 'postgres' ? `lpad(i::text, 6, '0')` : `printf('%06d', i)`
  const numbers = `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${keys})`
  await fixture.tamper(`INSERT INTO api_key (id, account_id, name, scopes, ip_allowlist, rpm_limit, max_concurrent, created_at)
    ${numbers} SELECT 'key_' || ${padded}, 'acct', 'Customer of the reseller ' || i, '[]', '[]', 300, 100, 0 FROM n`)
  await fixture.tamper(`INSERT INTO secret (hash, key_id, prefix, last4, created_at)
    ${numbers} SELECT 'hash_' || ${padded}, 'key_' || ${padded}, 'svc_live_', 'abcd', 0 FROM n`)
  await fixture.tamper(`INSERT INTO key_balance (key_id) ${numbers} SELECT 'key_' || ${padded} FROM n`)
}

async function gateTimes({ store, ask }: Fixture): Promise<readonly number[]> {
  const times: number[] = []
  for (let i = 0; i < REQUESTS; i++) {
    const id = randomUUIDv7()
    const began = performance.now()
    await store.billing.reserve(ask(id))
    await store.billing.settle(bill(id, { prompt: 1 }))
    times.push(performance.now() - began)
  }
  return times
}

function percentile(times: readonly number[], share: number): number {
  return times.toSorted((a, b) => a - b)[Math.floor(times.length * share)] ?? 0
}
