// The contract of nodes that share a store: their listed states, when they are forgotten, the changes each receives
// from the others, and that they take turns.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { DAY_MS } from '../../../src/domain/key.ts'
import { systemClock } from '../../../src/lib/clock.ts'
import type { NodeFacts } from '../../../src/store/contract/nodes.ts'
import { openPostgres } from '../../../src/store/postgres/postgres.ts'
import { openPostgresSql } from '../../../src/store/postgres/sql.ts'
import { openSqlite } from '../../../src/store/sqlite/sqlite.ts'
import { bill, GATE_ENGINES, openFixture } from '../../support/billing-stores.ts'
import { provider } from '../../support/catalog.ts'
import { temporaryFolder } from '../../support/folder.ts'

const ACTOR = { name: 'test', address: 'local' }
const postgres = GATE_ENGINES.find(({ engine }) => engine === 'postgres')

test('the embedded store has one live node and no changes from others', async () => {
  await using folder = await temporaryFolder()
  const store = await openSqlite({ path: `${folder.path}/test.db`, owner: 'me', node: facts('here') })

  const [node, ...others] = await store.nodes.list()

  assert.deepEqual([others.length, node?.id, node?.name, node?.version], [0, 'me', 'here', '1.2.3'])
  assert.deepEqual([node?.state, node?.self, node?.inFlight], ['alive', true, 7])
  assert.equal((await store.nodes.changes()).nodesAlive, 1)
  assert.equal(await store.nodes.withStartupLock(async () => 'done'), 'done')
  await store.close()
})

if (postgres !== undefined) {
  const { make } = postgres
  const opened = (url: string, owner: string, leaseMs = 20_000) =>
    openPostgres({ url, owner, clock: systemClock, leaseMs, node: facts(owner) })

  test('each node lists all nodes with their details; one without a renewed lease is silent; one that ends is removed', async () => {
    await using fixture = await openFixture(make, 0n)
    const [one, two] = [await opened(fixture.url, 'one', 400), await opened(fixture.url, 'two', 400)]
    await one.billing.sweep([])
    await two.billing.sweep([])

    const both = await one.nodes.list()
    await setTimeout(500)
    await one.billing.sweep([])
    const later = await one.nodes.list()

    assert.deepEqual(
      both.map(node => [node.id, node.name, node.version, node.state, node.self, node.inFlight]),
      [
        ['one', 'one', '1.2.3', 'alive', true, 7],
        ['two', 'two', '1.2.3', 'alive', false, 7],
      ],
    )
    assert.deepEqual(
      later.map(node => [node.id, node.state]),
      [
        ['one', 'alive'],
        ['two', 'silent'],
      ],
    )
    assert.deepEqual([(await one.nodes.changes()).nodesAlive, (await two.nodes.changes()).nodesAlive], [1, 1])
    await two.close()
    assert.deepEqual((await one.nodes.list()).map(ofId), ['one'])
    await one.close()
  })

  test('nodes that are silent for a day are removed, unless they left rows open', async () => {
    await using fixture = await openFixture(make, 1000n)
    const [one, dead, owing] = await Promise.all(['one', 'dead', 'owing'].map(owner => opened(fixture.url, owner)))
    for (const node of [one!, dead!, owing!]) await node.billing.sweep([])
    await owing!.billing.reserve(fixture.ask('r1'))
    const sql = await openPostgresSql({ url: fixture.url, clock: systemClock })
    const age = (ms: number) => sql.run('UPDATE node SET renewed_at = renewed_at - $1', [ms])

    await age(DAY_MS - 60_000)
    const early = await one!.nodes.clear()
    await age(120_000)
    const late = await one!.nodes.clear()

    assert.deepEqual([early, late], [0, 1])
    assert.deepEqual((await one!.nodes.list()).map(ofId).sort(), ['one', 'owing'])
    // The settlement renews its lease.
    await owing!.billing.settle(bill('r1', {}))
    await age(DAY_MS + 60_000)
    assert.equal(await one!.nodes.clear(), 1)
    await sql.close()
    for (const node of [one!, dead!, owing!]) await node.close()
  })

  test('a node receives catalog changes and keys whose streams must end, but no other revoke', async () => {
    await using fixture = await openFixture(make, 0n)
    const node = await opened(fixture.url, 'one')
    const before = await node.nodes.changes()

    const input = { provider: provider('p'), entered: '{}', active: true, credentials: [] }
    await fixture.store.catalog.createProvider(input, 10, ACTOR)
    await fixture.store.keys.revoke('key', ACTOR)
    const revoked = await node.nodes.changes()
    await fixture.store.keys.revoke('key', ACTOR, true)
    const aborted = await node.nodes.changes()

    assert.ok(revoked.catalogRevision > before.catalogRevision)
    assert.equal(revoked.catalogRevision, (await node.catalog.load()).revision)
    assert.deepEqual([before.abortedKeys, revoked.abortedKeys, aborted.abortedKeys], [[], [], ['key']])
    await node.close()
  })

  test('nodes take turns, also after one has failed in its turn', async () => {
    await using fixture = await openFixture(make, 0n)
    const nodes = await Promise.all(['one', 'two', 'three'].map(owner => opened(fixture.url, owner)))
    let [inside, most] = [0, 0]
    const work = async (name: string) => {
      inside += 1
      most = Math.max(most, inside)
      await setTimeout(100)
      inside -= 1
      if (name === 'two') throw new Error('failed in its turn')
      return name
    }

    const done = await Promise.allSettled(
      ['one', 'two', 'three'].map((name, i) => nodes[i]!.nodes.withStartupLock(() => work(name))),
    )

    assert.equal(most, 1)
    assert.deepEqual(
      done.map(turn => (turn.status === 'fulfilled' ? turn.value : turn.reason.message)),
      ['one', 'failed in its turn', 'three'],
    )
    for (const node of nodes) await node.close()
  })

  test('while one node has its turn, the others reserve and settle chats and hours are rolled up', async () => {
    await using fixture = await openFixture(make, 1000n)
    const starting = await opened(fixture.url, 'starting')

    const done = await starting.nodes.withStartupLock(async () => [
      (await fixture.store.billing.reserve(fixture.ask('r1'))).kind,
      await fixture.store.billing.settle(bill('r1', {})),
      await fixture.store.maintenance.rollUp(0),
    ])

    assert.deepEqual(done.slice(0, 2), ['reserved', 'settled'])
    await starting.close()
  })
}

function facts(name: string): NodeFacts {
  return { name, version: '1.2.3', startedAt: systemClock.now(), inFlight: () => 7 }
}

function ofId({ id }: { readonly id: string }): string {
  return id
}
