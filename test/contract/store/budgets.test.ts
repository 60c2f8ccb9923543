// Budgets in the store: exact under concurrency and on several nodes, through the ends of windows, crashes and corrections, with one
// event per threshold; the audit proves every window from its rows.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Budget, type BudgetWindow, windowBegan, windowEnds } from '../../../src/domain/budget.ts'
import { idAt } from '../../../src/store/sql/time-order.ts'
import { bill, checkpoint, type Fixture, GATE_ENGINES, openFixture } from '../../support/billing-stores.ts'

const ACTOR = { name: 'test', address: 'local' }
const HOUR_MS = 3_600_000

const budget = (amount: bigint, window: BudgetWindow, more: Partial<Budget> = {}): Budget => ({
  amount,
  window,
  action: 'block',
  thresholds: [80, 100],
  ...more,
})

// A fixture's request holds 100, and costs twice its tokens.
for (const { engine, make } of GATE_ENGINES) {
  const setKey = async (fixture: Fixture, budgets: readonly Budget[]) => {
    const key = await fixture.store.keys.update('key', { budgets }, ACTOR)
    assert.ok(typeof key === 'object')
    return key
  }
  const setAccount = async (fixture: Fixture, budgets: readonly Budget[]) => {
    const account = await fixture.store.accounts.update('acct', { budgets }, ACTOR)
    assert.ok(typeof account === 'object')
  }
  const ask = async (fixture: Fixture, requestId: string, createdAt = Date.now()) => {
    const key = await fixture.store.keys.get('key')
    const request = fixture.ask(requestId)
    return { ...request, keyVersion: key?.version ?? 0, facts: { ...request.facts, createdAt } }
  }
  const keyStates = async (fixture: Fixture) =>
    (await fixture.store.keys.get('key'))?.use.budgetStates.map(({ spent, held }) => [spent, held])
  const accountStates = async (fixture: Fixture) =>
    (await fixture.store.accounts.get('acct'))?.budgetStates.map(({ spent, held }) => [spent, held])

  test(`${engine}: of a hundred concurrent requests on two nodes, exactly those that fit the budget pass`, async () => {
    await using fixture = await openFixture(make, 1_000_000n)
    await setKey(fixture, [budget(1550n, 'month')])
    // Of one file there is one writer.
    const stores = engine === 'sqlite' ? [fixture.store] : [fixture.store, await fixture.another()]
    const requests = await Promise.all(Array.from({ length: 100 }, (_, i) => ask(fixture, `r${i}`)))

    const verdicts = await Promise.all(
      requests.map((request, i) => (stores[i % stores.length] as typeof fixture.store).billing.reserve(request)),
    )

    const kinds = verdicts.map(({ kind }) => kind)
    assert.deepEqual([kinds.filter(kind => kind === 'reserved').length, new Set(kinds).size], [15, 2])
    assert.deepEqual(await keyStates(fixture), [[0n, 1500n]])
    const refused = verdicts.find(({ kind }) => kind === 'budget_exceeded')
    assert.ok(refused?.kind === 'budget_exceeded' && refused.available === 50n && refused.required === 100n)
    for (const [i, { kind }] of verdicts.entries())
      if (kind === 'reserved') await fixture.store.billing.settle(bill(`r${i}`, { completion: 50 }))
    assert.deepEqual(await keyStates(fixture), [[1500n, 0n]])
  })

  test(`${engine}: the tightest of key and account decides, and what is released can be spent`, async () => {
    await using fixture = await openFixture(make, 10_000n)
    const { billing } = fixture.store
    await setKey(fixture, [budget(500n, 'day'), budget(120n, 'week', { action: 'alert' })])
    await setAccount(fixture, [budget(250n, 'hour'), budget(900n, 'total')])

    assert.equal((await billing.reserve(await ask(fixture, 'r1'))).kind, 'reserved')
    assert.equal((await billing.reserve(await ask(fixture, 'r2'))).kind, 'reserved')
    const third = await billing.reserve(await ask(fixture, 'r3'))
    assert.ok(third.kind === 'budget_exceeded')
    const { state } = third
    assert.deepEqual([state.owner, state.budget.window, state.spent, state.held], ['account', 'hour', 0n, 200n])
    await billing.settle(bill('r1', { completion: 10 }))
    await billing.settle(bill('r2', { completion: 10 }))

    assert.equal((await billing.reserve(await ask(fixture, 'r4'))).kind, 'reserved')
    await billing.settle(bill('r4', { completion: 1 }))
    assert.deepEqual(await keyStates(fixture), [
      [42n, 0n],
      [42n, 0n],
    ])
    assert.deepEqual(await accountStates(fixture), [
      [42n, 0n],
      [42n, 0n],
    ])
  })

  test(`${engine}: a cost counts in the window in which its request began, and a new window begins with nothing`, async () => {
    await using fixture = await openFixture(make, 10_000n)
    fixture.clearDaysAtEnd()
    const { billing } = fixture.store
    await setKey(fixture, [budget(150n, 'hour')])
    const now = Date.now()
    const hour = windowBegan('hour', now)
    const [before, after] = [hour - 1, windowEnds('hour', hour) as number]

    // The last moment of the hour before, this hour, and the first moment of the next one; each hour has room for one.
    for (const [i, at] of [before, hour, after].entries()) {
      assert.equal((await billing.reserve(await ask(fixture, `a${i}`, at))).kind, 'reserved')
      assert.equal((await billing.reserve(await ask(fixture, `b${i}`, at))).kind, 'budget_exceeded')
    }
    assert.deepEqual(await keyStates(fixture), [[0n, 100n]])
    for (const i of [0, 1, 2]) await billing.settle(bill(`a${i}`, { completion: 20 + i }, { finishedAt: after + 5 }))
    assert.deepEqual(await keyStates(fixture), [[42n, 0n]])
    // What is left of the hour before can still be spent by a request that began in it.
    assert.equal((await billing.reserve(await ask(fixture, 'late', before))).kind, 'reserved')
    await billing.settle(bill('late', { completion: 1 }, { finishedAt: after + 5 }))
    assert.deepEqual(await keyStates(fixture), [[42n, 0n]])
  })

  test(`${engine}: a budget that is set, lowered or removed counts what was spent and is held before`, async () => {
    await using fixture = await openFixture(make, 10_000n)
    fixture.clearDaysAtEnd()
    const { billing } = fixture.store
    const now = Date.now()
    const lastMonth = windowBegan('month', now) - HOUR_MS
    // Sums find rows by the time in their ids.
    const [r1, r2, r4, old] = [idAt(now), idAt(now + 1), idAt(now + 2), idAt(lastMonth)] as const
    await billing.reserve(await ask(fixture, r1))
    await billing.settle(bill(r1, { completion: 50 }))
    await billing.reserve(await ask(fixture, r2))
    await billing.reserve(await ask(fixture, old, lastMonth))
    await billing.settle(bill(old, { completion: 30 }, { finishedAt: Date.now() }))

    await setKey(fixture, [budget(500n, 'month'), budget(10_000n, 'total')])
    assert.deepEqual(await keyStates(fixture), [
      [100n, 100n],
      [160n, 100n],
    ])
    await setKey(fixture, [budget(50n, 'month')])
    assert.equal((await billing.reserve(await ask(fixture, 'r3'))).kind, 'budget_exceeded')
    assert.equal((await fixture.store.usage.get('r3'))?.errorCode, 'budget_exceeded')
    await setKey(fixture, [])
    assert.equal((await billing.reserve(await ask(fixture, r4))).kind, 'reserved')
    await billing.settle(bill(r2, { completion: 5 }))
    await setKey(fixture, [budget(500n, 'month')])
    assert.deepEqual(await keyStates(fixture), [[110n, 100n]])
    await billing.settle(bill(r4, { completion: 5 }))
    assert.deepEqual(await keyStates(fixture), [[120n, 0n]])
  })

  test(`${engine}: a recovered request and its correction count in the window of the request`, async () => {
    await using fixture = await openFixture(make, 10_000n)
    await setKey(fixture, [budget(1000n, 'day')])
    const { billing } = fixture.store
    await billing.reserve(await ask(fixture, 'r1'))
    billing.checkpoint(checkpoint('r1', { completion: 10 }))
    await billing.sweep(['r1'])
    assert.deepEqual(await keyStates(fixture), [[0n, 100n]])

    const survivor = engine === 'sqlite' ? fixture.store : await fixture.another()
    await survivor.billing.sweep([])
    assert.deepEqual(await keyStates(fixture), [[20n, 0n]])
    assert.equal(await billing.settle(bill('r1', { completion: 40 })), 'corrected')
    assert.deepEqual(await keyStates(fixture), [[80n, 0n]])
  })

  test(`${engine}: the month's spending is exact for requests of this month and of the one before`, async () => {
    await using fixture = await openFixture(make, 10_000n)
    fixture.clearDaysAtEnd()
    const { billing } = fixture.store
    const lastMonth = windowBegan('month', Date.now()) - HOUR_MS
    const spend = async (requestId: string, at: number, completion: number) => {
      await billing.reserve(await ask(fixture, requestId, at))
      await billing.settle(bill(requestId, { completion }, { finishedAt: Date.now() }))
    }
    const months = async () => [
      (await fixture.store.keys.get('key'))?.use.spentThisMonth,
      (await fixture.store.accounts.get('acct'))?.spentThisMonth,
    ]

    await spend('r1', lastMonth, 10)
    assert.deepEqual(await months(), [0n, 0n])
    await spend('r2', Date.now(), 20)
    await spend('r3', lastMonth, 30)
    await spend('r4', Date.now(), 1)
    assert.deepEqual(await months(), [42n, 42n])
  })

  test(`${engine}: the audit finds a planted error in a window and in a month`, async () => {
    await using fixture = await openFixture(make, 10_000n)
    await setKey(fixture, [budget(1000n, 'week')])
    await fixture.store.billing.reserve(await ask(fixture, 'r1'))
    await fixture.store.billing.settle(bill('r1', { completion: 10 }))

    assert.deepEqual(await fixture.plant('UPDATE budget_window SET spent = spent + 1'), ['budgets'])
    assert.deepEqual(
      await fixture.plant(
        'UPDATE budget_window SET spent = spent - 1; UPDATE key_balance SET month_base = month_base + 1',
      ),
      ['budgets'],
    )
  })

  test(`${engine}: the audit finds a key and an account that have exceeded a total budget`, async () => {
    for (const table of ['api_key', 'account']) {
      await using fixture = await openFixture(make, 1000n)
      const { billing } = fixture.store
      for (const requestId of ['r1', 'r2']) {
        await billing.reserve(await ask(fixture, requestId))
        await billing.settle(bill(requestId, { completion: 50 }))
      }
      const set = (amount: number) =>
        `UPDATE ${table} SET budgets = '[{"amount":"${amount}","window":"total","action":"block","thresholds":[]}]'`

      assert.deepEqual(await fixture.plant(set(200)), [])
      assert.deepEqual(await fixture.plant(set(199)), ['budgets'])
    }
  })

  test(`${engine}: each threshold raises one event per window, and a budget that no request fits is exhausted`, async () => {
    await using fixture = await openFixture(make, 1000n)
    const { billing } = fixture.store
    await setKey(fixture, [budget(300n, 'month', { thresholds: [50, 100] })])
    await setAccount(fixture, [budget(200n, 'day', { action: 'alert' })])
    await fixture.store.accounts.update('acct', { lowBalance: 900n }, ACTOR)
    const events = async () => (await fixture.outbox()).filter(({ type }) => /^(budget|balance)/.test(type))
    const spend = async (requestId: string, completion: number) => {
      const { kind } = await billing.reserve(await ask(fixture, requestId))
      if (kind === 'reserved') await billing.settle(bill(requestId, { completion }))
      return kind
    }

    await spend('r1', 50)
    assert.deepEqual(await events(), [])
    await spend('r2', 49)
    const kinds = [await spend('r3', 30), await spend('r4', 1), await spend('r5', 1), await spend('r6', 50)]

    assert.deepEqual(kinds, ['reserved', 'budget_exceeded', 'budget_exceeded', 'budget_exceeded'])
    const said = (await events()).map(({ type, data }) => [type, data.subject?.object, data.threshold, data.spent])
    assert.deepEqual(said, [
      ['budget.threshold', 'account', 80, '0.000000198'],
      ['budget.threshold', 'key', 50, '0.000000198'],
      ['balance.low', undefined, '0.0000009', undefined],
      ['budget.exhausted', 'account', 100, '0.000000258'],
      ['budget.exhausted', 'key', 100, '0.000000258'],
    ])
    // The alert does not block.
    await setKey(fixture, [])
    assert.equal(await spend('r7', 50), 'reserved')
    // A budget that is already passed says so when it is set.
    await setKey(fixture, [budget(100n, 'total')])
    assert.deepEqual(
      (await events()).slice(5).map(({ type, data }) => [type, data.threshold]),
      [
        ['budget.threshold', 80],
        ['budget.exhausted', 100],
      ],
    )
  })

  test(`${engine}: a budget is not exhausted by holds of others, nor by a request that exceeds the whole amount`, async () => {
    await using fixture = await openFixture(make, 1000n)
    const { billing } = fixture.store
    const refused = async (requestId: string) => (await billing.reserve(await ask(fixture, requestId))).kind
    const exhausted = async () => (await fixture.outbox()).filter(({ type }) => type === 'budget.exhausted').length
    await setKey(fixture, [budget(150n, 'month')])
    await billing.reserve(await ask(fixture, 'r1'))

    const kinds = [await refused('r2')]
    await billing.settle(bill('r1', { completion: 10 }))
    await setKey(fixture, [budget(99n, 'month')])
    kinds.push(await refused('r3'))
    assert.equal(await exhausted(), 0)
    await setKey(fixture, [budget(110n, 'month')])
    kinds.push(await refused('r4'))

    assert.deepEqual(new Set(kinds), new Set(['budget_exceeded']))
    assert.equal(await exhausted(), 1)
  })

  test(`${engine}: a refusal does not hide the event of a budget that is spent to the end`, async () => {
    await using fixture = await openFixture(make, 1000n)
    const { billing } = fixture.store
    const exhausted = async () =>
      (await fixture.outbox()).filter(({ type }) => type === 'budget.exhausted').map(({ data }) => data.spent)
    const reserved = async (requestId: string) => (await billing.reserve(await ask(fixture, requestId))).kind

    await setKey(fixture, [budget(200n, 'day')])
    assert.deepEqual([await reserved('r1'), await reserved('r2')], ['reserved', 'reserved'])
    await billing.settle(bill('r1', { completion: 50 }))
    await billing.settle(bill('r2', { completion: 25 }))
    assert.equal(await reserved('r3'), 'budget_exceeded')
    assert.deepEqual(await exhausted(), ['0.00000015'])
    await setKey(fixture, [budget(300n, 'day')])
    assert.equal(await reserved('r4'), 'reserved')
    await setKey(fixture, [budget(200n, 'day')])
    await billing.settle(bill('r4', { completion: 25 }))

    assert.deepEqual(await exhausted(), ['0.00000015', '0.0000002'])
  })

  test(`${engine}: an exhausted balance raises one event until credits are added`, async () => {
    await using fixture = await openFixture(make, 150n)
    const { billing } = fixture.store
    const refused = async (requestId: string) => (await billing.reserve(await ask(fixture, requestId))).kind
    // Too expensive for all that the account ever had.
    const expensive = await ask(fixture, 'r0')
    assert.ok(expensive.entry.kind === 'hold')
    await billing.reserve({ ...expensive, entry: { ...expensive.entry, outputTokens: 76 } })
    await billing.reserve(await ask(fixture, 'r1'))
    await billing.settle(bill('r1', { completion: 50 }))

    const kinds = [await refused('r2'), await refused('r3')]
    const credits = { id: idAt(Date.now()), accountId: 'acct', amount: 10n, note: null, idempotencyKey: 'more' }
    await fixture.store.accounts.addCredits(credits, ACTOR)
    kinds.push(await refused('r4'), await refused('r5'))

    assert.deepEqual(new Set(kinds), new Set(['insufficient_funds']))
    const events = (await fixture.outbox()).filter(({ type }) => type === 'balance.exhausted')
    assert.deepEqual(
      events.map(({ data }) => data.available),
      ['0.00000005', '0.00000006'],
    )
  })
}
