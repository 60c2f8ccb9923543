// The contract of the store when several nodes share one Postgres: exact money, a revoke that is in force everywhere
// when it returns, commits whose response was lost, and rows of dead nodes that are recovered once.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import pg from 'pg'
import type { Provider } from '../../../src/domain/catalog.ts'
import { systemClock } from '../../../src/lib/clock.ts'
import { type Store, StoreUnavailable } from '../../../src/store/contract/store.ts'
import { openPostgres } from '../../../src/store/postgres/postgres.ts'
import { openPostgresSql, POSTGRES_BOUNDS } from '../../../src/store/postgres/sql.ts'
import { bill, GATE_ENGINES, newKey, openFixture } from '../../support/billing-stores.ts'
import { commitCutter } from '../../support/commit-cutter.ts'
import { until } from '../../support/until.ts'

const ACTOR = { name: 'test', address: 'local' }
const postgres = GATE_ENGINES.find(({ engine }) => engine === 'postgres')

if (postgres !== undefined) {
  const { make } = postgres

  test('of 500 reservations by two keys on two nodes with funds for exactly 100, exactly 100 are granted', async () => {
    await using fixture = await openFixture(make, 10_000n)
    await fixture.store.keys.create(newKey('key2'), ACTOR)
    const nodes = [fixture.store.billing, (await fixture.another()).billing] as const

    const verdicts = await Promise.all(
      Array.from({ length: 500 }, async (_, i) => {
        await setTimeout(i % 50)
        const ask = fixture.ask(`r${i}`)
        const facts = { ...ask.facts, keyId: i % 2 === 0 ? 'key' : 'key2' }
        return (await nodes[i % 2]!.reserve({ ...ask, facts })).kind
      }),
    )

    assert.equal(verdicts.filter(kind => kind === 'reserved').length, 100)
    assert.deepEqual(await fixture.balance(), { available: 0n, held: 10_000n, spent: 0n, owed: 0n })
    await Promise.all(
      verdicts.map((kind, i) => (kind === 'reserved' ? nodes[(i + 1) % 2]!.settle(bill(`r${i}`, {})) : undefined)),
    )
  })

  test('a batch takes as many statements for thirty accounts as for one, and settles rows that another node opened', async () => {
    await using fixture = await openFixture(make, 1_000_000n)
    const { accounts, keys, billing } = fixture.store
    const other = (await fixture.another()).billing
    const tenants = Array.from({ length: 30 }, (_, i) => ({ accountId: `a${i}`, keyId: `k${i}` }))
    for (const [i, { accountId, keyId }] of tenants.entries()) {
      await accounts.create({ id: accountId, name: accountId }, ACTOR)
      const id = `01900000-0000-7000-8000-${String(i).padStart(12, '0')}`
      await accounts.addCredits({ id, accountId, amount: 1000n, note: null, idempotencyKey: id }, ACTOR)
      await keys.create({ ...newKey(keyId), accountId }, ACTOR)
    }
    const one = { accountId: 'acct', keyId: 'key' }
    const chats = async (name: string, node: typeof billing, tenantOf: (i: number) => typeof one) => {
      const ids = tenants.map((_, i) => `${name}-${i}`)
      const asks = ids.map((id, i) => fixture.ask(id, { facts: { ...fixture.ask(id).facts, ...tenantOf(i) } }))
      const reserving = await statementsOf(() => Promise.all(asks.map(ask => billing.reserve(ask))))
      const settling = await statementsOf(() => Promise.all(ids.map(id => node.settle(bill(id, { prompt: 1 })))))
      return [reserving, settling]
    }
    await chats('warm', billing, () => one)

    const ofOne = await chats('one', billing, () => one)
    const ofMany = await chats('many', billing, i => tenants[i] ?? one)
    const elsewhere = await chats('elsewhere', other, i => tenants[i] ?? one)

    // Each is one batch, with one statement for the windows of budgets; some of them also forget old plans.
    assert.ok(
      [...ofOne, ...ofMany, ...elsewhere].every(count => count === 7 || count === 8),
      `${ofOne} ${ofMany}`,
    )
    const balances = await Promise.all(tenants.map(async ({ accountId }) => (await accounts.get(accountId))?.balance))
    assert.ok(balances.every(balance => balance?.available === 998n && balance.held === 0n && balance.spent === 2n))
  })

  // The statements of a chat are planned with the first rows, and keep that plan until the tables are analysed or the
  // plans are renewed.
  for (const [tables, statement] of [
    ['never analysed', 'SELECT 1'],
    ['analysed while they were small', 'ANALYZE usage, ledger'],
  ] as const) {
    test(`a chat reads only its own rows, also in tables that were ${tables} and have grown`, async () => {
      await using fixture = await openFixture(make, 1_000_000n)
      const { billing, maintenance } = fixture.store
      // A connection reports its read counts at the end of a transaction, at most once a second.
      const told = async (work: Promise<unknown>) => {
        await work
        await setTimeout(1100)
      }
      const once = async (id: string) => {
        await billing.reserve(fixture.ask(id))
        await billing.settle(bill(id, {}))
      }
      await maintenance.ensurePartitions()
      await once('first')
      await fixture.tamper(statement)
      await once('second')
      for (let round = 0; round < 40; round++) {
        await Promise.all(Array.from({ length: 100 }, (_, i) => once(`r${round}-${i}`)))
      }
      for (const table of ['account', 'api_key', 'key_balance', 'secret']) await fixture.tamper(copies(table, 1000))
      await fixture.tamper("UPDATE key_balance SET day_count = 0 WHERE key_id <> 'key'")
      await setTimeout(1100)
      await told(billing.reserve(fixture.ask('before')))
      const before = await rowsRead(fixture.url)

      await told(billing.reserve(fixture.ask('last')))
      await billing.settle(bill('last', {}))

      const read = (await rowsRead(fixture.url)) - before
      await billing.settle(bill('before', {}))
      assert.ok(read > 0 && read < 100, `${read} rows and index entries were read`)
    })
  }

  test('no node grants a reservation once a revoke on another node has returned', async () => {
    await using fixture = await openFixture(make, 1_000_000n)
    const other = await fixture.another()
    let stage: 'before' | 'revoked' | 'over' = 'before'
    const late: string[] = []
    const granted: string[] = []
    let refused = 0
    const traffic = Array.from({ length: 20 }, async (_, client) => {
      for (let i = 0; stage !== 'over'; i++) {
        const isLate = stage === 'revoked'
        const id = `r${client}-${i}`
        const verdict = await fixture.store.billing.reserve(fixture.ask(id))
        if (verdict.kind === 'reserved') granted.push(id)
        else refused += 1
        if (verdict.kind === 'reserved' && isLate) late.push(id)
      }
    })
    await until('the key is in use', () => granted.length > 100)

    await other.keys.revoke('key', ACTOR)
    stage = 'revoked'
    const rows = await countRows(other)
    await until('requests arrived after it', () => refused > 100)
    stage = 'over'
    await Promise.all(traffic)

    assert.deepEqual(late, [])
    assert.equal(await countRows(other), rows)
    assert.equal(granted.length, rows)
    await Promise.all(granted.map(id => fixture.store.billing.settle(bill(id, {}))))
  })

  test('a revoke waits for the rows of a batch that found the key valid, and a batch that waits for the revoke finds it revoked', async () => {
    await using fixture = await openFixture(make, 1000n)
    const other = await fixture.another()
    const sql = await openPostgresSql({ url: fixture.url, clock: systemClock })
    const order: string[] = []
    const noting = <T>(what: string, work: Promise<T>) => work.finally(() => order.push(what))

    const { gated, revoked } = await sql.transaction(async tx => {
      await tx.run('LOCK TABLE usage IN SHARE MODE')
      const gated = noting('gate', fixture.store.billing.reserve(fixture.ask('r1')))
      await setTimeout(100)
      const revoked = noting('revoke', other.keys.revoke('key', ACTOR))
      await setTimeout(200)
      assert.deepEqual(order, [])
      return { gated, revoked }
    })
    await revoked
    assert.deepEqual([(await gated).kind, (await other.usage.get('r1'))?.state], ['reserved', 'open'])

    await sql.run('UPDATE api_key SET revoked_at = NULL')
    const second = fixture.ask('r2', { keyVersion: (await other.keys.get('key'))!.version })
    const waiting = await sql.transaction(async tx => {
      await tx.run('UPDATE api_key SET revoked_at = 1')
      const waiting = noting('second gate', fixture.store.billing.reserve(second))
      await setTimeout(100)
      return { waiting }
    })
    assert.equal((await waiting.waiting).kind, 'key_changed')
    await sql.close()
    await fixture.store.billing.settle(bill('r1', {}))
  })

  test('concurrent key lookups share statements, and each gets its own result', async () => {
    await using fixture = await openFixture(make, 0n)
    const { billing, keys } = fixture.store
    for (const id of ['key2', 'dead']) await keys.create(newKey(id), ACTOR)
    await keys.revoke('dead', ACTOR)
    const hashes = Array.from({ length: 600 }, (_, i) => `${i}`.padStart(64, 'f'))
    const known = ['key', 'key2', 'dead'].map(id => newKey(id).secret.hash)
    const first = billing.findKey('0'.repeat(64))

    const found = await Promise.all([...hashes, ...known, ...known].map(billing.findKey))

    const ids = found.map(caller => caller?.key.id)
    assert.deepEqual(ids.slice(600), ['key', 'key2', undefined, 'key', 'key2', undefined])
    assert.ok(ids.slice(0, 600).every(id => id === undefined))
    assert.equal(await first, undefined)
    assert.deepEqual(await billing.findKey(known[1] as string), found[601])
  })

  test('a reservation whose account is locked by another node decides by the balance which that node leaves', async () => {
    await using fixture = await openFixture(make, 1000n)
    const sql = await openPostgresSql({ url: fixture.url, clock: systemClock })

    const { waiting } = await sql.transaction(async tx => {
      await tx.run('UPDATE account SET available = 0, held = 1000')
      const waiting = fixture.store.billing.reserve(fixture.ask('r1'))
      await setTimeout(200)
      return { waiting }
    })
    const verdict = await waiting
    await sql.run('UPDATE account SET available = 1000, held = 0')
    await sql.close()

    assert.equal(verdict.kind, 'insufficient_funds')
  })

  for (const where of ['before', 'after'] as const) {
    test(`a connection that breaks ${where} the server has committed duplicates nothing and loses nothing`, async () => {
      await using fixture = await openFixture(make, 1000n)
      await using cutter = await commitCutter(fixture.url)
      const node = await openPostgres({ url: cutter.url, owner: 'cut', clock: systemClock })

      const cutAtGate = cutter.cutNext(where)
      const verdicts = await Promise.all(['r1', 'r2'].map(id => node.billing.reserve(fixture.ask(id))))
      await cutAtGate
      assert.deepEqual(
        verdicts.map(verdict => verdict.kind),
        ['reserved', 'reserved'],
      )
      assert.deepEqual(await fixture.balance(), { available: 800n, held: 200n, spent: 0n, owed: 0n })
      const cutAtSettle = cutter.cutNext(where)
      const settled = await Promise.all(['r1', 'r2'].map(id => node.billing.settle(bill(id, { prompt: 10 }))))
      await cutAtSettle

      assert.deepEqual(settled, ['settled', 'settled'])
      assert.deepEqual(await fixture.balance(), { available: 980n, held: 0n, spent: 20n, owed: 0n })
      assert.deepEqual(await fixture.ledger(), ['charge -20'])
      await node.close()
    })
  }

  test('a commit whose response was lost is not reported as failed because the next check had to wait too long', async () => {
    await using fixture = await openFixture(make, 1000n)
    await using cutter = await commitCutter(fixture.url)
    await using first = await connected(fixture.url)
    await using second = await connected(fixture.url)
    const node = await openPostgres({ url: cutter.url, owner: 'cut', clock: systemClock })
    await first.query('BEGIN; LOCK TABLE usage IN SHARE MODE')
    await second.query('BEGIN')

    const cut = cutter.cutNext('after')
    const verdict = node.billing.reserve(fixture.ask('r1'))
    await cut
    // After the batch, which has the account, and before the transaction that looks for it.
    const taken = second.query('SELECT 1 FROM account FOR UPDATE')
    await setTimeout(100)
    await first.query('COMMIT')
    await taken
    await setTimeout(POSTGRES_BOUNDS.lockTimeoutMs + 300)
    await second.query('COMMIT')

    assert.equal((await verdict).kind, 'reserved')
    assert.deepEqual(await fixture.balance(), { available: 900n, held: 100n, spent: 0n, owed: 0n })
    assert.equal(await node.billing.settle(bill('r1', {})), 'settled')
    await node.close()
  })

  test('of nodes that create the same provider or record the same expiries at once, one does', async () => {
    await using fixture = await openFixture(make, 0n)
    const nodes = [fixture.store, await fixture.another(), await fixture.another()]
    const provider = {
      id: 'p',
      kind: 'openai',
      baseUrl: 'https://a.example',
      passthrough: [],
      maxTokensField: 'max_tokens',
    }
    const input = { provider: provider as unknown as Provider, entered: '{}', active: true, credentials: [] }
    for (let i = 0; i < 20; i++) {
      await fixture.store.keys.create({ ...newKey(`key-${i}`), expiresAt: Date.now() + 100 }, ACTOR)
    }
    await setTimeout(150)

    const created = await Promise.all(nodes.map(node => node.catalog.createProvider(input, 10, ACTOR)))
    const ended = await Promise.all(nodes.map(node => node.keys.markEnds()))

    assert.equal(created.filter(entry => entry === 'exists').length, 2)
    assert.equal(ended.flat().length, 20)
    const events = (await fixture.store.events.list({ limit: 1000 })).data.map(event => event.action)
    assert.equal(events.filter(action => action === 'key.expire').length, 20)
  })

  test('an unreachable server is reported as unavailable without delay', async () => {
    await using fixture = await openFixture(make, 1000n)
    const cutter = await commitCutter(fixture.url)
    const node = await openPostgres({ url: cutter.url, owner: 'far', clock: systemClock })
    await node.ping()
    await cutter[Symbol.asyncDispose]()

    await assert.rejects(node.billing.reserve(fixture.ask('r1')), StoreUnavailable)
    await assert.rejects(node.billing.settle(bill('r1', {})), StoreUnavailable)
    await assert.rejects(node.billing.findKey(newKey().secret.hash), StoreUnavailable)
    await assert.rejects(node.keys.get('key'), StoreUnavailable)
    await assert.rejects(node.ping(), StoreUnavailable)
    await node.close()
  })

  test('a hanging server is unavailable within ten seconds, and used again once it responds', async () => {
    await using fixture = await openFixture(make, 1000n)
    await using cutter = await commitCutter(fixture.url)
    const node = await openPostgres({ url: cutter.url, owner: 'hung', clock: systemClock })
    await node.billing.reserve(fixture.ask('r1'))

    cutter.hang(true)
    const asked = systemClock.monotonic()
    const answers = await Promise.allSettled([
      node.billing.reserve(fixture.ask('r2')),
      node.billing.settle(bill('r1', { prompt: 10 })),
      node.keys.get('key'),
      node.ping(),
    ])
    const waitedMs = systemClock.monotonic() - asked
    cutter.hang(false)

    assert.ok(answers.every(answer => answer.status === 'rejected' && answer.reason instanceof StoreUnavailable))
    assert.ok(waitedMs < 10_000, `waited ${waitedMs} ms`)
    assert.equal(await node.billing.settle(bill('r1', { prompt: 10 })), 'settled')
    assert.deepEqual(await fixture.balance(), { available: 990n, held: 0n, spent: 10n, owed: 0n })
    await node.close()
  })

  test("a node's rows are left alone while it renews its lease, and recovered once after a lease without renewal", async () => {
    await using fixture = await openFixture(make, 1000n)
    const leased = (owner: string) => openPostgres({ url: fixture.url, owner, clock: systemClock, leaseMs: 400 })
    const [dying, ...others] = await Promise.all(['dying', 'second', 'third'].map(leased))
    await dying!.billing.sweep([])
    await dying!.billing.reserve(fixture.ask('r1'))
    const sweepAll = async () => {
      const swept = await Promise.all(others.map(node => node.billing.sweep([])))
      return swept.reduce((sum, rows) => sum + rows, 0)
    }

    let early = await sweepAll()
    for (let i = 0; i < 6; i++) {
      await setTimeout(100)
      await dying!.billing.sweep(['r1'])
      early += await sweepAll()
    }
    let swept = 0
    for (let i = 0; i < 8; i++) {
      await setTimeout(100)
      swept += await sweepAll()
    }

    assert.deepEqual([early, swept], [0, 1])
    assert.equal((await fixture.store.usage.get('r1'))?.state, 'recovered')
    for (const node of [dying!, ...others]) await node.close()
  })

  test('after its own pause a node recovers no rows of others for a whole lease', async () => {
    await using fixture = await openFixture(make, 1000n)
    const leased = (owner: string) => openPostgres({ url: fixture.url, owner, clock: systemClock, leaseMs: 300 })
    const [silent, back] = (await Promise.all(['silent', 'back'].map(leased))) as [
      typeof fixture.store,
      typeof fixture.store,
    ]
    for (const node of [silent, back]) await node.billing.sweep([])
    await silent.billing.reserve(fixture.ask('r1'))

    await setTimeout(500)
    const afterOutage = await back.billing.sweep([])
    await silent.billing.sweep(['r1'])
    const stillThere = (await fixture.store.usage.get('r1'))?.state

    assert.deepEqual([afterOutage, stillThere], [0, 'open'])
    await silent.billing.settle(bill('r1', {}))
    for (const node of [silent, back]) await node.close()
  })
}

async function connected(url: string) {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  return { query: (text: string) => client.query(text), [Symbol.asyncDispose]: () => client.end() }
}

async function countRows({ usage }: Store): Promise<number> {
  const sums = await usage.summary({ endpoint: 'all' }, 'key')
  return sums.reduce((total, { requests }) => total + requests, 0)
}

async function rowsRead(url: string): Promise<number> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  const sum = (what: string, table: string) =>
    `(SELECT SUM(${what}) FROM ${table} WHERE schemaname = current_schema())::int`
  const { rows } = await client.query(
    `SELECT ${sum('idx_tup_read', 'pg_stat_user_indexes')} + ${sum('seq_tup_read', 'pg_stat_user_tables')} AS n`,
  )
  await client.end()
  return rows[0].n
}

// Copies of its first row, each with its own id and without any money.
function copies(table: string, count: number): string {
  const own = `jsonb_build_object('id', 'copy' || n, 'key_id', 'copy' || n, 'hash', 'copy' || n,
    'available', 0, 'held', 0, 'spent', 0, 'owed', 0)`
  return `INSERT INTO ${table} SELECT (jsonb_populate_record(NULL::${table}, to_jsonb(t) || ${own})).*
    FROM (SELECT * FROM ${table} LIMIT 1) t, generate_series(1, ${count}) n`
}

// What the driver is given meanwhile.
async function statementsOf(work: () => Promise<unknown>): Promise<number> {
  const { query } = pg.Client.prototype
  let count = 0
  pg.Client.prototype.query = function (this: pg.Client, ...args: unknown[]) {
    count += 1
    return Reflect.apply(query, this, args)
  } as typeof query
  try {
    await work()
  } finally {
    pg.Client.prototype.query = query
  }
  return count
}
