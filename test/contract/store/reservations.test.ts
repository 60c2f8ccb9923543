// The contract of billing on the hot path: a row is settled once, a dead owner's row is recovered and can be corrected
// once, and in a batch each operation succeeds or fails alone.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { priceSnapshot } from '../../../src/domain/catalog.ts'
import { bill, checkpoint, GATE_ENGINES, openFixture } from '../../support/billing-stores.ts'

for (const { engine, make } of GATE_ENGINES) {
  test(`${engine}: a hold is taken with the row and released with its settlement, and a second settlement books nothing`, async () => {
    await using fixture = await openFixture(make, 1000n)
    const { billing } = fixture.store

    const verdict = await billing.reserve(fixture.ask('r1'))
    assert.deepEqual(
      [verdict.kind, await fixture.balance()],
      ['reserved', { available: 900n, held: 100n, spent: 0n, owed: 0n }],
    )
    const first = await billing.settle(bill('r1', { prompt: 10, completion: 20 }))
    const second = await billing.settle(bill('r1', { prompt: 99, completion: 99 }))

    assert.deepEqual([first, second], ['settled', 'again'])
    assert.deepEqual(await fixture.balance(), { available: 950n, held: 0n, spent: 50n, owed: 0n })
    assert.deepEqual(await fixture.ledger(), ['charge -50'])
    assert.equal(await billing.settle(bill('never-gated', { prompt: 1 })), 'unknown')
  })

  test(`${engine}: the reservation refuses a secret whose grace period has ended, whatever a cache holds`, async () => {
    await using fixture = await openFixture(make, 1000n)
    const gate = async (requestId: string, graceExpiresAt: number | null) =>
      (await fixture.store.billing.reserve(fixture.ask(requestId, { graceExpiresAt }))).kind

    assert.equal(await gate('r1', Date.now() - 60_000), 'key_changed')
    assert.deepEqual(await fixture.balance(), { available: 1000n, held: 0n, spent: 0n, owed: 0n })
    assert.equal(await fixture.store.usage.get('r1'), undefined)
    assert.equal(await gate('r2', Date.now() + 3_600_000), 'reserved')
    await fixture.store.billing.settle(bill('r2', {}))
  })

  test(`${engine}: a cost above hold and balance is owed, and blocks new holds until it is paid`, async () => {
    await using fixture = await openFixture(make, 150n)
    const { billing } = fixture.store
    await billing.reserve(fixture.ask('r1'))

    await billing.settle(bill('r1', { completion: 100 }))

    assert.deepEqual(await fixture.balance(), { available: 0n, held: 0n, spent: 200n, owed: 50n })
    const verdict = await billing.reserve(fixture.ask('r2'))
    assert.ok(verdict.kind === 'insufficient_funds' && verdict.owed === 50n)
  })

  test(`${engine}: a row that a fallback model was answering is recovered with that model and its price`, async () => {
    await using fixture = await openFixture(make, 1000n)
    const dead = fixture.store.billing
    await dead.reserve(fixture.ask('r1'))
    const pricier = { prompt: 3000n, completion: 4000n, cacheRead: 3000n, cacheWrite: 3000n, request: 0n }
    const own = { model: 'pricier', priceVersion: 'v2', price: priceSnapshot(pricier), cost: 43n }
    await fixture.tamper(
      `INSERT INTO price (model_id, version, price, created_at) VALUES ('pricier', 'v2', '${own.price}', 1)`,
    )
    dead.checkpoint({ ...checkpoint('r1', { prompt: 5, completion: 7 }), ...own })
    // Written in the background: a later awaited write is committed with it or after it.
    await dead.settle(bill('nobody', {}))
    const next = await fixture.another()

    await next.billing.sweep([])

    const row = await next.usage.get('r1')
    assert.deepEqual(
      [row?.modelServed, row?.priceVersion, row?.price, row?.cost],
      [own.model, own.priceVersion, own.price, own.cost],
    )
  })

  test(`${engine}: a withdrawn checkpoint bills nothing, and a later one bills again`, async () => {
    await using fixture = await openFixture(make, 1000n)
    const dead = fixture.store.billing
    for (const id of ['row-0001', 'row-0002']) {
      await dead.reserve(fixture.ask(id))
      dead.checkpoint(checkpoint(id, { prompt: 5, completion: 7 }))
      await dead.settle(bill('nobody', {}))
      dead.checkpoint({ requestId: id, provider: null })
    }
    dead.checkpoint(checkpoint('row-0002', { prompt: 6 }))
    await dead.settle(bill('nobody', {}))
    const next = await fixture.another()

    await next.billing.sweep([])

    const rows = [await next.usage.get('row-0001'), await next.usage.get('row-0002')]
    assert.deepEqual(
      rows.map(row => [row?.state, row?.usageSource, row?.tokens.prompt, row?.cost]),
      [
        ['recovered', 'none', 0, 0n],
        ['recovered', 'estimate', 6, 6n],
      ],
    )
    assert.deepEqual(await fixture.ledger(), ['charge -6'])
  })

  test(`${engine}: a sweep recovers the rows of a dead owner at their last checkpoint, and its own only without a live request`, async () => {
    await using fixture = await openFixture(make, 1000n)
    const dead = fixture.store.billing
    for (const id of ['marked', 'unmarked']) await dead.reserve(fixture.ask(id))
    dead.checkpoint(checkpoint('marked', { prompt: 5 }))
    dead.checkpoint(checkpoint('marked', { prompt: 5, completion: 7 }))
    await dead.reserve(fixture.ask('done'))
    await dead.settle(bill('done', { prompt: 1 }))
    const next = await fixture.another()
    for (const id of ['alive', 'orphaned']) await next.billing.reserve(fixture.ask(id))

    const swept = await next.billing.sweep(['alive'])

    assert.equal(swept, 3)
    const stateOf = async (id: string) => {
      const row = await next.usage.get(id)
      return [row?.state, row?.outcome, row?.cost]
    }
    assert.deepEqual(await stateOf('marked'), ['recovered', 'recovered', 19n])
    assert.deepEqual(await stateOf('unmarked'), ['recovered', 'recovered', 0n])
    assert.deepEqual(await stateOf('orphaned'), ['recovered', 'recovered', 0n])
    assert.deepEqual(await stateOf('done'), ['settled', 'completed', 1n])
    assert.deepEqual(await stateOf('alive'), ['open', null, 0n])
    assert.deepEqual(await fixture.balance(), { available: 880n, held: 100n, spent: 20n, owed: 0n })
    assert.equal(await next.billing.sweep(['alive']), 0)
    await next.billing.settle(bill('alive', {}))
  })

  for (const [what, tokens, correction] of [
    ['more than', { prompt: 5, completion: 20 }, 'correction -26'],
    ['less than', { prompt: 5, completion: 1 }, 'correction 12'],
    ['the same as', { prompt: 5, completion: 7 }, undefined],
  ] as const) {
    test(`${engine}: an owner that was only paused settles its recovered row once: ${what} the checkpoint reported`, async () => {
      await using fixture = await openFixture(make, 1000n)
      const paused = fixture.store.billing
      // They end in distinct digits, as real ones do: the paused owner still has the first in memory as open.
      const [id, other] = ['row-0001', 'row-0002']
      await paused.reserve(fixture.ask(id))
      paused.checkpoint(checkpoint(id, { prompt: 5, completion: 7 }))
      await paused.reserve(fixture.ask(other))
      await paused.settle(bill(other, {}))
      await (await fixture.another()).billing.sweep([])
      const last = bill(id, tokens)

      const outcomes = [await paused.settle(last), await paused.settle(last)]
      paused.checkpoint(checkpoint(id, { completion: 1000 }))

      assert.deepEqual(outcomes, ['corrected', 'again'])
      assert.deepEqual(await fixture.ledger(), ['charge -19', ...(correction === undefined ? [] : [correction])])
      assert.deepEqual(await fixture.balance(), { available: 1000n - last.cost, held: 0n, spent: last.cost, owed: 0n })
      const row = await fixture.store.usage.get(id)
      assert.deepEqual([row?.state, row?.outcome, row?.cost], ['settled', 'completed', last.cost])
    })
  }

  test(`${engine}: an operation that the database rejects fails alone, after its batch was split`, async () => {
    await using fixture = await openFixture(make, 10_000n)
    const { billing } = fixture.store
    await billing.reserve(fixture.ask('taken'))
    const ids = Array.from({ length: 20 }, (_, i) => (i === 7 ? 'taken' : `r${i}`))

    const results = await Promise.allSettled(ids.map(id => billing.reserve(fixture.ask(id))))

    assert.deepEqual(
      results.flatMap((result, i) => (result.status === 'rejected' ? [i] : [])),
      [7],
    )
    assert.equal(fixture.batches.at(-1), 20)
    assert.equal((await fixture.balance()).held, 2000n)
    const beyond = ids.map((id, i) => billing.settle(bill(id, {}, i === 3 ? { cost: 2n ** 70n } : {})))
    const settled = await Promise.allSettled(beyond)
    assert.deepEqual(
      settled.flatMap((result, i) => (result.status === 'rejected' ? [i] : [])),
      [3],
    )
    assert.equal(await billing.settle(bill('r3', {})), 'settled')
  })

  test(`${engine}: a sweep that meets an unreadable checkpoint fails alone, and the rest of its batch succeeds`, async () => {
    await using fixture = await openFixture(make, 10_000n)
    const { billing } = fixture.store
    await billing.reserve(fixture.ask('unreadable'))
    await fixture.tamper(`UPDATE usage SET checkpoint = '{' WHERE request_id = 'unreadable'`)
    const ids = Array.from({ length: 5 }, (_, i) => `r${i}`)

    const [swept, ...granted] = await Promise.allSettled([
      billing.sweep([]),
      ...ids.map(id => billing.reserve(fixture.ask(id))),
    ])

    assert.equal(swept.status, 'rejected')
    assert.equal(fixture.batches.at(-1), 6)
    assert.deepEqual(
      granted.map(result => result.status === 'fulfilled' && result.value.kind),
      ids.map(() => 'reserved'),
    )
    await Promise.all(['unreadable', ...ids].map(id => billing.settle(bill(id, {}))))
  })

  test(`${engine}: a model name with a NUL or a lone surrogate does not fail the rest of its batch`, async () => {
    await using fixture = await openFixture(make, 10_000n)
    const { billing } = fixture.store
    const names = ['good', 'nul\u0000nul', '\ud800', 'x'.repeat(256), 'fine']

    const verdicts = await Promise.all(
      names.map((name, i) => billing.reserve(fixture.ask(`r${i}`, { modelRequested: name }))),
    )

    assert.deepEqual(
      verdicts.map(verdict => verdict.kind),
      names.map(() => 'reserved'),
    )
    await Promise.all(names.map((_, i) => billing.settle(bill(`r${i}`, { prompt: 1 }))))
    assert.equal((await fixture.balance()).spent, 5n)
  })

  test(`${engine}: of a hundred concurrent holds in shared batches, exactly those that the balance covers are granted`, async () => {
    await using fixture = await openFixture(make, 850n)
    const { billing } = fixture.store

    const verdicts = await Promise.all(Array.from({ length: 100 }, (_, i) => billing.reserve(fixture.ask(`r${i}`))))

    const granted = verdicts.flatMap((verdict, i) => (verdict.kind === 'reserved' ? [`r${i}`] : []))
    assert.equal(granted.length, 8)
    assert.deepEqual(await fixture.balance(), { available: 50n, held: 800n, spent: 0n, owed: 0n })
    await Promise.all(granted.map(id => billing.settle(bill(id, {}))))
    assert.deepEqual(await fixture.balance(), { available: 850n, held: 0n, spent: 0n, owed: 0n })
  })
}
