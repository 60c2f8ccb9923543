// Balances and budgets for /metrics: those with the least left, with what the current windows have spent.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Budget, type BudgetWindow, windowBegan } from '../../../src/domain/budget.ts'
import { dayOf, keyState } from '../../../src/domain/key.ts'
import { ENGINES, OPERATOR, openRepositories, type Repositories } from '../../support/engines.ts'

const budget = (amount: bigint, window: BudgetWindow, action: Budget['action'] = 'block'): Budget => ({
  amount,
  window,
  action,
  thresholds: [100],
})

for (const { engine, open } of ENGINES) {
  const account = (stores: Repositories, id: string, budgets: readonly Budget[] = []) =>
    stores.accounts.create({ id, name: `"${id}"\n`, budgets }, OPERATOR)
  const setBalance = (stores: Repositories, id: string, available: bigint, owed = 0n, spent = 0n) =>
    stores.sql.run('UPDATE account SET available = $1, owed = $2, spent = $3 WHERE id = $4', [
      available,
      owed,
      spent,
      id,
    ])
  const spend = (
    stores: Repositories,
    subject: string,
    period: BudgetWindow,
    began: number,
    spent: bigint,
    held = 0n,
  ) =>
    stores.sql.run(
      `INSERT INTO budget_window (subject, period, began, spent, held) VALUES ($1, $2, $3, $4, $5)
       ON CONFLICT (subject, period, began) DO UPDATE SET spent = excluded.spent, held = excluded.held`,
      [subject, period, began, spent, held],
    )
  const key = (stores: Repositories, id: string, accountId: string, budgets: readonly Budget[]) =>
    stores.keys.create(
      {
        id,
        accountId,
        name: id,
        scopes: [],
        ipAllowlist: [],
        rpmLimit: 1,
        dailyLimit: null,
        creditLimit: null,
        maxConcurrent: 1,
        expiresAt: null,
        budgets,
        secret: { hash: id, prefix: 'p', last4: 'last' },
      },
      OPERATOR,
    )

  test(`${engine}: the accounts with the least left come first, without suspended ones`, async () => {
    await using stores = await openRepositories(open)
    for (const id of ['rich', 'poor', 'owing', 'empty', 'spent', 'off']) await account(stores, id)
    await setBalance(stores, 'rich', 9_000n)
    await setBalance(stores, 'poor', 5n)
    await setBalance(stores, 'owing', 0n, 7n)
    await setBalance(stores, 'spent', 0n, 0n, 100n)
    await stores.accounts.update('off', { status: 'suspended' }, OPERATOR)
    await stores.accounts.update('poor', { lowBalance: 10n }, OPERATOR)

    const { accounts } = await stores.gauges.money(4)

    assert.deepEqual(
      accounts.map(({ id, available, owed, lowBalance }) => [id, available, owed, lowBalance]),
      [
        ['owing', 0n, 7n, null],
        ['spent', 0n, 0n, null],
        ['empty', 0n, 0n, null],
        ['poor', 5n, 0n, 10n],
      ],
    )
  })

  test(`${engine}: the budgets closest to their limit come first, each with its current window alone`, async () => {
    await using stores = await openRepositories(open)
    const now = stores.clock.now()
    await account(stores, 'a', [budget(1000n, 'month'), budget(400n, 'total')])
    await account(stores, 'b', [budget(1000n, 'hour', 'alert')])
    await key(stores, 'k', 'a', [budget(100n, 'day'), budget(50n, 'day', 'alert')])
    await setBalance(stores, 'a', 0n, 0n, 100n)
    await spend(stores, 'a', 'month', windowBegan('month', now), 100n, 50n)
    await spend(stores, 'k', 'day', windowBegan('day', now), 90n)
    // Another window of the same length, which began when the current day did.
    await spend(stores, 'b', 'hour', windowBegan('hour', now) - 3_600_000, 999n)

    const { budgets } = await stores.gauges.money(10)

    assert.deepEqual(
      budgets.map(each => [each.object, each.id, each.accountId, each.window, each.action, each.amount, each.spent]),
      [
        ['key', 'k', 'a', 'day', 'alert', 50n, 90n],
        ['key', 'k', 'a', 'day', 'block', 100n, 90n],
        ['account', 'a', 'a', 'total', 'block', 400n, 100n],
        ['account', 'a', 'a', 'month', 'block', 1000n, 100n],
        ['account', 'b', 'b', 'hour', 'alert', 1000n, 0n],
      ],
    )
    assert.equal(budgets[3]?.held, 50n)
    assert.equal((await stores.gauges.money(2)).budgets.length, 2)
  })

  test(`${engine}: near limits are those that block, however many others are further`, async () => {
    await using stores = await openRepositories(open)
    const now = stores.clock.now()
    await account(stores, 'a', [budget(1000n, 'month')])
    await account(stores, 'far', [budget(1000n, 'month')])
    for (let i = 0; i < 5; i++) await key(stores, `alert${i}`, 'a', [budget(10n, 'day', 'alert')])
    for (let i = 0; i < 5; i++) await spend(stores, `alert${i}`, 'day', windowBegan('day', now), 90n)
    // Held credits may be released again.
    await spend(stores, 'far', 'month', windowBegan('month', now), 949n, 51n)
    await spend(stores, 'a', 'month', windowBegan('month', now), 950n)
    await key(stores, 'k', 'a', [budget(100n, 'day')])
    await spend(stores, 'k', 'day', windowBegan('day', now), 100n)
    await key(stores, 'limited', 'a', [])
    await stores.keys.update('limited', { creditLimit: 200n }, OPERATOR)
    await stores.sql.run(`UPDATE key_balance SET spent = 194 WHERE key_id = 'limited'`)

    const near = await stores.gauges.nearLimits(4)

    assert.deepEqual(
      near.map(each => [each.object, each.id, each.name, each.window, each.amount, each.spent]),
      [
        ['key', 'k', 'k', 'day', 100n, 100n],
        ['key', 'limited', 'limited', null, 200n, 194n],
        ['account', 'a', '"a"\n', 'month', 1000n, 950n],
      ],
    )
    assert.deepEqual(
      (await stores.gauges.nearLimits(1)).map(({ id }) => id),
      ['k'],
    )
  })

  test(`${engine}: keys that are revoked or expired, and suspended accounts, have no budgets to show`, async () => {
    await using stores = await openRepositories(open)
    await account(stores, 'a')
    await account(stores, 'off', [budget(1n, 'month')])
    await key(stores, 'gone', 'a', [budget(1n, 'month')])
    await key(stores, 'old', 'a', [budget(1n, 'month')])
    await key(stores, 'kept', 'a', [budget(1n, 'month')])
    await stores.accounts.update('off', { status: 'suspended' }, OPERATOR)
    await stores.keys.revoke('gone', OPERATOR)
    await stores.keys.update('old', { expiresAt: stores.clock.now() - 1 }, OPERATOR)

    const { budgets } = await stores.gauges.money(10)

    assert.deepEqual(
      budgets.map(({ id }) => id),
      ['kept'],
    )
  })

  test(`${engine}: the list of stopped keys has those whose state says so`, async () => {
    await using stores = await openRepositories(open)
    const now = stores.clock.now()
    await account(stores, 'a')
    await account(stores, 'other')
    const balance = (id: string, set: string) => stores.sql.run(`UPDATE key_balance SET ${set} WHERE key_id = '${id}'`)
    const limited = async (id: string, patch: object, set: string, accountId = 'a') => {
      await key(stores, id, accountId, [])
      await stores.keys.update(id, patch, OPERATOR)
      await balance(id, set)
    }
    await limited('below', { creditLimit: 200n }, 'spent = 199')
    await limited('spent', { creditLimit: 200n }, 'spent = 200')
    await limited('elsewhere', { creditLimit: 200n }, 'spent = 200', 'other')
    await limited('free', { creditLimit: 0n }, 'spent = 0')
    await limited('today', { dailyLimit: 5 }, `day = ${dayOf(now)}, day_count = 5`)
    await limited('yesterday', { dailyLimit: 5 }, `day = ${dayOf(now) - 1}, day_count = 5`)
    await limited('revoked', { creditLimit: 1n }, 'spent = 1')
    await stores.keys.revoke('revoked', OPERATOR)
    await limited('expired', { creditLimit: 1n, expiresAt: now - 1 }, 'spent = 1')
    for (const window of ['hour', 'day', 'week', 'month'] as const) {
      const began = windowBegan(window, now)
      for (const [name, spent] of [
        ['full', 100n],
        ['left', 99n],
      ] as const) {
        await key(stores, `${window}-${name}`, 'a', [budget(1000n, 'total'), budget(100n, window)])
        await spend(stores, `${window}-${name}`, window, began, spent)
      }
      await key(stores, `${window}-before`, 'a', [budget(100n, window)])
      await spend(stores, `${window}-before`, window, began - 1, 100n)
    }
    await key(stores, 'alert', 'a', [budget(100n, 'day', 'alert')])
    await spend(stores, 'alert', 'day', windowBegan('day', now), 100n)
    await key(stores, 'total', 'a', [budget(100n, 'total')])
    await balance('total', 'spent = 100')
    const list = async (status?: 'stopped') => (await stores.keys.list({ accountId: 'a', limit: 100, status })).data

    const stopped = (await list('stopped')).map(({ id }) => id)

    const states = (await list()).map(each => ({ id: each.id, state: keyState(each, now) }))
    assert.deepEqual(
      stopped,
      states.filter(({ state }) => /_reached$/.test(state)).map(({ id }) => id),
    )
    assert.deepEqual(stopped.toSorted(), [
      'day-full',
      'free',
      'hour-full',
      'month-full',
      'spent',
      'today',
      'total',
      'week-full',
    ])
  })
}
