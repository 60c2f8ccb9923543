// The index of usage rows by key on SQLite: new rows wait in a table of their own, and are moved in steps. Lists are complete at every
// instant.
import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { systemClock } from '../../../src/lib/clock.ts'
import { type SqliteSql, sqliteSql } from '../../../src/store/sqlite/sql.ts'
import { usageIndex } from '../../../src/store/sqlite/usage-index.ts'
import { GATE_ENGINES, newKey, openFixture, UNBILLED } from '../../support/billing-stores.ts'
import { until } from '../../support/until.ts'

const [sqlite] = GATE_ENGINES
const make = sqlite!.make
const SMALL = { recentMax: 10, sliceMax: 4, stepMax: 4, roundMax: 64 }

// Ids that end with 00 are the sample by which the index decides.
for (const { moved, end, isInBoth } of [
  { moved: 'in the order of the keys', end: '', isInBoth: true },
  { moved: 'in the order of time, as those of few keys', end: '00', isInBoth: false },
])
  test(`rows of a key are complete while they are moved to its index ${moved}`, async () => {
    await using fixture = await openFixture(make, 1000n)
    for (let i = 0; i < 30; i++) {
      await fixture.store.billing.reserve(fixture.ask(`r${String(i).padStart(2, '0')}${end}`, { entry: UNBILLED }))
    }
    await fixture.store.keys.markEnds()
    const sql = sqliteSql(fixture.url, systemClock)
    const listed: number[] = []
    const late: string[] = []
    let inBoth = 0
    // Between two steps of the move: rows of requests that began before it and end during it.
    const list = async () => {
      inBoth += count(fixture.url, IN_BOTH)
      if (late.length < 5) {
        const id = `r0-late-${late.length}`
        late.push(id)
        await fixture.store.billing.reserve(fixture.ask(id, { entry: UNBILLED }))
        index.added([id])
      }
      const { data } = await fixture.store.usage.list({ limit: 100, keyId: 'key', endpoint: 'all', lookMax: 1000 })
      listed.push(data.length - late.length)
    }
    const index = usageIndex(sql, { bounds: SMALL, turn: list })

    index.added(['r'])
    await until('all are moved', async () => recent(fixture.url) === 0)
    await index.close()
    sql.close()

    assert.ok(listed.length > 5 && listed.every(rows => rows === 30), listed.join())
    assert.equal(recent(fixture.url), 0)
    assert.equal(inBoth > 0, isInBoth)
  })

test('rows that come late while a running store moves tens of thousands are in the list of their key', async () => {
  await using fixture = await openFixture(make, 0n)
  const { store } = fixture
  const actor = { name: 'test', address: 'local' }
  const keys = Array.from({ length: 300 }, (_, i) => `k${i}`)
  for (const id of keys) await store.keys.create(newKey(id), actor)
  let [rows, isMoved] = [0, false]
  const insert = (requestId: string) => {
    const ask = fixture.ask(requestId, { entry: UNBILLED })
    const keyId = keys[rows++ % keys.length] as string
    return store.billing.reserve({ ...ask, facts: { ...ask.facts, keyId } })
  }
  // As many as are moved together, with the last digits that random ids have.
  const ids = Array.from(
    { length: 32_800 },
    (_, i) => `r${String(i).padStart(6, '0')}${(i % 251).toString(16).padStart(2, '0')}`,
  )
  await Promise.all(ids.map(insert))

  // Older than all of these, until the move is over.
  for (let i = 0; !isMoved; i++) {
    await insert(`q${i}`)
    isMoved = recent(fixture.url) < 16_000
  }
  await until('the rest is moved', async () => recent(fixture.url) < 1000)

  let listed = 0
  for (const keyId of keys) {
    const { data } = await store.usage.list({ limit: 1000, keyId, endpoint: 'all', lookMax: 100_000 })
    listed += data.length
  }
  assert.equal(listed, rows)
})

test('of a large backlog of rows that are not in the index by key, a limited number is moved at a time', async () => {
  await using fixture = await openFixture(make, 1000n)
  for (let i = 0; i < 30; i++) await fixture.store.billing.reserve(fixture.ask(`r${i + 10}`, { entry: UNBILLED }))
  await fixture.store.keys.markEnds()
  const sql = sqliteSql(fixture.url, systemClock)
  const index = usageIndex(sql, { bounds: { ...SMALL, roundMax: 15 } })

  index.added(['r'])
  await until('some are moved', async () => recent(fixture.url) === 15)
  await until('the rest is moved when further rows come', async () => {
    index.added([])
    return recent(fixture.url) === 0
  })
  await index.close()
  sql.close()
})

test('rows that cannot be moved to the index by key, or counted, do not end the thread', async () => {
  await using fixture = await openFixture(make, 1000n)
  await fixture.store.billing.reserve(fixture.ask('r1', { entry: UNBILLED }))
  await fixture.store.keys.markEnds()
  const sql = sqliteSql(fixture.url, systemClock)
  const index = usageIndex({ ...sql, prepare: failsAfter(1, sql.prepare) }, { bounds: { ...SMALL, recentMax: 1 } })

  index.added(['r'])
  await assert.doesNotReject(index.close())
  sql.close()
})

// As a statement does on a disk that cannot be read.
function failsAfter(calls: number, prepare: SqliteSql['prepare']): SqliteSql['prepare'] {
  let done = 0
  return text => {
    if (++done > calls) throw new Error('disk I/O error')
    return prepare(text)
  }
}

const IN_BOTH = 'usage_recent JOIN usage_by_key USING (key_id, request_id)'
const recent = (path: string) => count(path, 'usage_recent')

function count(path: string, from: string): number {
  using db = new DatabaseSync(path)
  return Number(db.prepare(`SELECT COUNT(*) AS n FROM ${from}`).get()?.n)
}
