// The contract of accounts, credits and the ledger, on every engine.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { NANO_MAX } from '../../../src/domain/credits.ts'
import { DAY_MS } from '../../../src/domain/key.ts'
import { bookCost, takeHold } from '../../../src/store/billing/balances.ts'
import type { AccountFilter, LedgerFilter, LedgerLine, NewCredits } from '../../../src/store/contract/operator.ts'
import { idAt, timeOfId } from '../../../src/store/sql/time-order.ts'
import { ENGINES, OPERATOR, openRepositories, type Repositories, runsOn } from '../../support/engines.ts'
import { addRow } from '../../support/usage-rows.ts'

const ACCOUNT = 'acct_1'
const NOW = Date.now()
let made = 0

for (const { engine, open } of ENGINES) {
  test(`${engine}: a top-up is in the balance, the ledger and the events`, async () => {
    await using repositories = await openWithAccount()

    const entry = await repositories.accounts.addCredits(credits(10n, { note: 'first' }), OPERATOR)

    assert(typeof entry === 'object')
    assert.deepEqual([entry.kind, entry.amount, entry.note], ['topup', 10n, 'first'])
    assert.equal((await repositories.accounts.get(ACCOUNT))?.balance.available, 10n)
    assert.deepEqual((await repositories.accounts.ledger(ACCOUNT, { limit: 5 }))?.data, [{ ...entry, balance: 10n }])
    const event = (await repositories.events.list({ limit: 5 })).data.find(({ action }) => action === 'account.topup')
    assert.deepEqual([event?.actor, event?.address, event?.subject], [OPERATOR.name, OPERATOR.address, ACCOUNT])
  })

  test(`${engine}: the same idempotency key books once, also in a hundred concurrent calls, and another body is a mismatch`, async () => {
    await using repositories = await openWithAccount()
    const first = credits(10n, { idempotencyKey: 'k' })

    const entries = await Promise.all(
      Array.from({ length: 100 }, () => repositories.accounts.addCredits({ ...first, id: nextId() }, OPERATOR)),
    )

    assert.equal(new Set(entries.map(entry => (typeof entry === 'object' ? entry.id : entry))).size, 1)
    assert.equal((await repositories.accounts.get(ACCOUNT))?.balance.available, 10n)
    assert.equal(await repositories.accounts.addCredits(credits(11n, { idempotencyKey: 'k' }), OPERATOR), 'mismatch')
    const otherNote = credits(10n, { idempotencyKey: 'k', note: 'x' })
    assert.equal(await repositories.accounts.addCredits(otherNote, OPERATOR), 'mismatch')
  })

  test(`${engine}: events have the amounts of limits and budgets in credits`, async () => {
    await using repositories = await openRepositories(open)
    const budgets = [{ amount: 500_000_000_000n, window: 'month', action: 'block', thresholds: [100] }] as const
    await repositories.accounts.create({ id: 'acct_b', name: 'b', budgets, lowBalance: 2_500_000_000n }, OPERATOR)

    const { data } = await repositories.events.list({ limit: 1, subject: 'acct_b' })

    const { budgets: [budget] = [], lowBalance } = JSON.parse(data[0]?.detail ?? '{}')
    assert.deepEqual([budget?.amount, lowBalance], ['500', '2.5'])
  })

  test(`${engine}: the ledger is filtered by kind and time, and each entry has the balance after it`, async () => {
    await using repositories = await openWithAccount()
    const { accounts, sql } = repositories
    const start = Math.floor(sql.now() / DAY_MS) * DAY_MS - 3 * DAY_MS
    const booked = async (amount: bigint, at: number) => {
      const entry = await accounts.addCredits(credits(amount, { id: idAt(at) }), OPERATOR)
      assert(typeof entry === 'object')
      await sql.run('UPDATE ledger SET created_at = $1 WHERE id = $2', [at, entry.id])
    }
    await booked(100n, start)
    await addRow(repositories, start + 1000, { cost: 30n })
    await booked(50n, start + DAY_MS + 5)
    await booked(-7n, start + DAY_MS + 6)
    await addRow(repositories, start + DAY_MS + 9, { cost: 3n })
    const lines = async (filter: Partial<LedgerFilter>) =>
      (await accounts.ledger(ACCOUNT, { limit: 10, ...filter }))?.data.map(
        ({ kind, amount, balance }) => `${kind} ${amount} = ${balance}`,
      )

    const whole = ['charge -3 = 110', 'adjustment -7 = 113', 'topup 50 = 120', 'charge -30 = 70', 'topup 100 = 100']
    assert.deepEqual(await lines({}), whole)
    assert.deepEqual(await lines({ kind: 'topup' }), ['topup 50 = 120', 'topup 100 = 100'])
    assert.deepEqual(await lines({ kind: 'charge' }), ['charge -3 = 110', 'charge -30 = 70'])
    assert.deepEqual(await lines({ kind: 'correction' }), [])
    assert.deepEqual(await lines({ from: start + DAY_MS, to: start + DAY_MS + 6 }), ['topup 50 = 120'])
    assert.deepEqual(await lines({ to: start + DAY_MS }), ['charge -30 = 70', 'topup 100 = 100'])
    const paged: string[] = []
    for (let after: string | undefined, hasMore = true; hasMore; ) {
      const page = (await accounts.ledger(ACCOUNT, { limit: 1, after }))!
      paged.push(...page.data.map(({ kind, amount, balance }) => `${kind} ${amount} = ${balance}`))
      after = page.data.at(-1)?.id
      hasMore = page.hasMore
    }
    assert.deepEqual(paged, whole)
  })

  test(`${engine}: with the balance of the page before, a page adds up nothing older, and has the same balances`, async () => {
    await using repositories = await openWithAccount()
    const { accounts, sql } = repositories
    const start = Math.floor(sql.now() / DAY_MS) * DAY_MS - 2000 * DAY_MS
    for (const [day, amount] of [5, 6, 7, 950, 1200, 1990, 1999].entries()) {
      const at = start + amount * DAY_MS
      await accounts.addCredits(credits(BigInt(amount), { id: idAt(at) }), OPERATOR)
      await addRow(repositories, at + 1000, { cost: BigInt(day + 1) })
    }
    const linesOf = (lines: readonly LedgerLine[] = []) => lines.map(({ id, balance }) => `${id} = ${balance}`)

    for (const kind of [undefined, 'topup', 'charge'] as const) {
      const whole = (await accounts.ledger(ACCOUNT, { limit: 100, kind }))?.data ?? []
      for (const limit of [1, 3]) {
        const paged: LedgerLine[] = []
        for (let hasMore = true; hasMore; ) {
          const last = paged.at(-1)
          const known = last && { after: last.id, balanceBefore: last.balance - last.amount }
          const page = (await accounts.ledger(ACCOUNT, { limit, kind, ...known }))!
          paged.push(...page.data)
          hasMore = page.hasMore
        }
        assert.deepEqual(linesOf(paged), linesOf(whole), `${kind} ${limit}`)
      }
      assert.equal(whole.length, kind === undefined ? 14 : 7)
    }
    const [first] = (await accounts.ledger(ACCOUNT, { limit: 1 }))?.data ?? []
    const [next] = (await accounts.ledger(ACCOUNT, { limit: 1, after: first?.id, balanceBefore: 77n }))?.data ?? []
    assert.equal(next?.balance, 77n)
  })

  test(`${engine}: accounts are found by contact and by the id of another system`, async () => {
    await using repositories = await openWithAccount()
    const { accounts } = repositories
    const contact = { contactEmail: 'Billing@Globex.example', externalId: 'cus_1%' }
    const made = await accounts.create({ id: 'acct_2', name: 'two', ...contact }, OPERATOR)
    const ids = async (filter: Partial<AccountFilter>) =>
      (await accounts.list({ limit: 10, ...filter })).data.map(({ id }) => id)

    assert.deepEqual([made.contactEmail, made.externalId], ['Billing@Globex.example', 'cus_1%'])
    assert.deepEqual(await ids({ q: 'billing@globex' }), ['acct_2'])
    assert.deepEqual(await ids({ q: 'US_1' }), ['acct_2'])
    assert.deepEqual(await ids({ q: '%' }), ['acct_2'], 'a wildcard is a plain character')
    assert.deepEqual(await ids({ externalId: 'cus_1%' }), ['acct_2'])
    assert.deepEqual(await ids({ externalId: 'cus_' }), [])
    const changed = await accounts.update('acct_2', { contactEmail: null }, OPERATOR)
    assert(typeof changed === 'object')
    assert.deepEqual([changed.contactEmail, changed.externalId], [null, 'cus_1%'])
    assert.deepEqual(await ids({ q: 'billing' }), [])
  })

  test(`${engine}: idempotency keys of two accounts are independent`, async () => {
    await using repositories = await openWithAccount()
    await repositories.accounts.create({ id: 'acct_2', name: 'two' }, OPERATOR)

    await repositories.accounts.addCredits(credits(1n, { idempotencyKey: 'k' }), OPERATOR)
    const entry = await repositories.accounts.addCredits(
      credits(2n, { idempotencyKey: 'k', accountId: 'acct_2' }),
      OPERATOR,
    )

    assert(typeof entry === 'object')
    assert.equal((await repositories.accounts.get('acct_2'))?.balance.available, 2n)
  })

  test(`${engine}: an adjustment takes at most the available credits, and a refused one leaves no trace`, async () => {
    await using repositories = await openWithAccount()
    await repositories.accounts.addCredits(credits(10n), OPERATOR)

    assert.equal(await repositories.accounts.addCredits(credits(-11n), OPERATOR), 'too_low')
    const entry = await repositories.accounts.addCredits(credits(-10n), OPERATOR)

    assert(typeof entry === 'object')
    assert.equal(entry.kind, 'adjustment')
    assert.equal((await repositories.accounts.ledger(ACCOUNT, { limit: 9 }))?.data.length, 2)
    await assertLedger(repositories)
  })

  test(`${engine}: an adjustment does not touch the holds of requests in flight`, async () => {
    await using repositories = await openWithAccount()
    await repositories.accounts.addCredits(credits(10n), OPERATOR)
    await repositories.sql.run('UPDATE account SET available = available - 6, held = 6')

    assert.equal(await repositories.accounts.addCredits(credits(-5n), OPERATOR), 'too_low')
    assert.deepEqual(await balance(repositories), { available: 4n, held: 6n, spent: 0n, owed: 0n })
  })

  test(`${engine}: a top-up above the account's maximum, holds included, is refused`, async () => {
    await using repositories = await openWithAccount()
    await repositories.accounts.addCredits(credits(NANO_MAX), OPERATOR)
    await repositories.sql.run('UPDATE account SET available = available - 5, held = 5')

    assert.equal(await repositories.accounts.addCredits(credits(1n), OPERATOR), 'too_high')
    assert.equal(await repositories.accounts.addCredits(credits(NANO_MAX), OPERATOR), 'too_high')
    await assertLedger(repositories)
  })

  test(`${engine}: a top-up pays debts first`, async () => {
    await using repositories = await openWithAccount()
    await charge(repositories, 0n, 30n)

    await repositories.accounts.addCredits(credits(20n), OPERATOR)
    assert.deepEqual(await balance(repositories), { available: 0n, held: 0n, spent: 30n, owed: 10n })
    assert.equal(await repositories.accounts.addCredits(credits(-1n), OPERATOR), 'too_low')
    await repositories.accounts.addCredits(credits(15n), OPERATOR)
    assert.deepEqual(await balance(repositories), { available: 5n, held: 0n, spent: 30n, owed: 0n })
    await assertLedger(repositories)
  })

  for (const [what, freeDays, sum] of [
    ['every one', 0, -1010n],
    ['only the oldest', 1005, -5n],
  ] as const) {
    test(`${engine}: a ledger is complete after 1,010 days with requests, of which ${what} had charges`, async () => {
      await using repositories = await openWithAccount()
      for (let day = 0; day < 1010; day++) {
        await addRow(repositories, NOW - day * DAY_MS, { account_id: ACCOUNT, cost: day < freeDays ? 0 : 1 })
      }

      for (const limit of [1000, 300]) assert.equal(await ledgerSum(repositories, limit), sum)
    })
  }

  test(`${engine}: an unknown account has no credits, no ledger and no changes`, async () => {
    await using repositories = await openWithAccount()

    assert.equal(await repositories.accounts.addCredits(credits(1n, { accountId: 'acct_x' }), OPERATOR), undefined)
    assert.equal(await repositories.accounts.ledger('acct_x', { limit: 1 }), undefined)
    assert.equal(await repositories.accounts.update('acct_x', { name: 'x' }, OPERATOR), undefined)
    assert.equal(await repositories.accounts.get('acct_x'), undefined)
  })

  test(`${engine}: a suspension changes only the status, and lists are paged newest first`, async () => {
    await using repositories = await openWithAccount()
    await repositories.accounts.create({ id: 'acct_2', name: 'two' }, OPERATOR)

    const suspended = await repositories.accounts.update(ACCOUNT, { status: 'suspended' }, OPERATOR)
    const first = await repositories.accounts.list({ limit: 1 })
    const second = await repositories.accounts.list({ limit: 1, after: first.data[0]?.id })

    assert.ok(typeof suspended === 'object')
    assert.deepEqual([suspended.name, suspended.status, suspended.version], ['one', 'suspended', 2])
    assert.deepEqual([first.data[0]?.id, first.hasMore], ['acct_2', true])
    assert.deepEqual([second.data[0]?.id, second.hasMore], [ACCOUNT, false])
  })

  test(`${engine}: a change based on an older version is refused and changes nothing, and credits do not change the version`, async () => {
    await using repositories = await openWithAccount()
    await repositories.accounts.addCredits(
      { id: 'e1', accountId: ACCOUNT, amount: 5n, note: null, idempotencyKey: 'x' },
      OPERATOR,
    )

    const first = await repositories.accounts.update(ACCOUNT, { name: 'first' }, OPERATOR, 1)
    const late = await repositories.accounts.update(ACCOUNT, { name: 'late' }, OPERATOR, 1)
    const nobody = await repositories.accounts.update('acct_nobody', { name: 'x' }, OPERATOR, 1)

    assert.deepEqual([typeof first, late, nobody], ['object', 'changed', undefined])
    assert.equal((await repositories.accounts.get(ACCOUNT))?.name, 'first')
  })

  test(`${engine}: accounts are found by status, by name and by a substring of name or id, with wildcards taken literally`, async () => {
    await using repositories = await openWithAccount()
    await repositories.accounts.create({ id: 'acct_2', name: 'Fifty%' }, OPERATOR)
    await repositories.accounts.update(ACCOUNT, { status: 'suspended' }, OPERATOR)
    const found = async (filter: object) =>
      (await repositories.accounts.list({ limit: 9, ...filter })).data.map(account => account.id)

    assert.deepEqual(await found({ q: 'fifty' }), ['acct_2'])
    assert.deepEqual(await found({ q: '%' }), ['acct_2'])
    assert.deepEqual(await found({ q: 'acct_2' }), ['acct_2'])
    assert.deepEqual(await found({ status: 'suspended' }), [ACCOUNT])
    assert.deepEqual(await found({ status: 'suspended', q: 'fifty' }), [])
    assert.deepEqual(await found({ name: 'Fifty%' }), ['acct_2'])
    assert.deepEqual(await found({ name: 'fifty%' }), [])
    assert.deepEqual(await found({ name: 'Fifty' }), [])
  })

  test(`${engine}: after any sequence of top-ups, adjustments, holds and charges the sums hold`, async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(STEP, { minLength: 5, maxLength: 50, size: 'max' }), async steps => {
        await using repositories = await openWithAccount()
        for (const step of steps) {
          if (step.kind === 'credits') {
            await repositories.accounts.addCredits(credits(step.amount, { idempotencyKey: `k${step.key}` }), OPERATOR)
          } else {
            await charge(repositories, step.hold, step.cost)
          }
          await assertLedger(repositories)
        }
      }),
      { numRuns: runsOn(engine, 60) },
    )
  })

  async function openWithAccount(): Promise<Repositories> {
    const repositories = await openRepositories(open)
    await repositories.accounts.create({ id: ACCOUNT, name: 'one' }, OPERATOR)
    return repositories
  }
}

const AMOUNT = fc
  .oneof(fc.bigInt({ min: -200n, max: 200n }), fc.bigInt({ min: -NANO_MAX, max: NANO_MAX }))
  .filter(a => a !== 0n)
const STEP = fc.oneof(
  fc.record({ kind: fc.constant('credits' as const), amount: AMOUNT, key: fc.nat(30) }),
  fc.record({ kind: fc.constant('charge' as const), hold: fc.bigInt(0n, 100n), cost: fc.bigInt(0n, 150n) }),
)

// The effect of a reservation and its settlement on the balances, without their rows.
async function charge(repositories: Repositories, hold: bigint, cost: bigint): Promise<void> {
  const balances = { ...(await balance(repositories)) }
  const key = { spent: 0n, held: 0n, creditLimit: null }
  if (hold > balances.available) return
  takeHold(hold, balances, key)
  bookCost(hold, cost, balances, key)
  const id = nextId()
  await repositories.sql.run('UPDATE account SET available = $1, held = $2, spent = $3, owed = $4 WHERE id = $5', [
    balances.available,
    balances.held,
    balances.spent,
    balances.owed,
    ACCOUNT,
  ])
  await repositories.sql.run(
    `INSERT INTO usage (request_id, account_id, key_id, secret_last4, endpoint, stream, state, cost, created_at, client_ip)
     VALUES ($1, $2, 'key_a', 'aaaa', 'chat.completions', 0, 'settled', $3, $4, '::1')`,
    [id, ACCOUNT, cost, timeOfId(id) ?? 0],
  )
}

async function assertLedger(repositories: Repositories): Promise<void> {
  const { available, held, owed } = await balance(repositories)
  const entries = (await repositories.accounts.ledger(ACCOUNT, { limit: 1000 }))?.data ?? []
  const sum = entries.reduce((total, entry) => total + entry.amount, 0n)
  assert.equal(available + held - owed, sum)
  assert.equal(entries[0]?.balance ?? 0n, sum)
  assert(available >= 0n && held >= 0n && owed >= 0n && available + held <= NANO_MAX)
  assert(available === 0n || owed === 0n)
}

// Page by page.
async function ledgerSum({ accounts }: Repositories, limit: number): Promise<bigint> {
  let sum = 0n
  for (let after: string | undefined, hasMore = true; hasMore; ) {
    const page = (await accounts.ledger(ACCOUNT, { limit, after }))!
    for (const { amount } of page.data) sum += amount
    after = page.data.at(-1)?.id
    hasMore = page.hasMore
  }
  return sum
}

async function balance(repositories: Repositories) {
  return (await repositories.accounts.get(ACCOUNT))!.balance
}

function credits(amount: bigint, more: Partial<NewCredits> = {}): NewCredits {
  return { id: nextId(), accountId: ACCOUNT, amount, note: null, idempotencyKey: `once-${made++}`, ...more }
}

function nextId(): string {
  return `01900000-0000-7000-8000-${String(made++).padStart(12, '0')}`
}
