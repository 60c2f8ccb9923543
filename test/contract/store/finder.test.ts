// The contract of the search over accounts and keys, on every engine: what it finds, in which order, and in what time.
import assert from 'node:assert/strict'
import { performance } from 'node:perf_hooks'
import { test } from 'node:test'
import { ENGINES, OPERATOR, openRepositories, type Repositories } from '../../support/engines.ts'

const SEARCH_MS_MAX = 300

for (const { engine, open } of ENGINES) {
  test(`${engine}: accounts are found by name, e-mail, external id and id, beginnings first`, async () => {
    await using repositories = await openRepositories(open)
    const { accounts, finder } = repositories
    const create = (id: string, name: string, more = {}) => accounts.create({ id, name, ...more }, OPERATOR)
    await create('acct_1', 'The Acme Company', { externalId: 'cus_100%' })
    await create('acct_2', 'ACME', { contactEmail: 'Billing@acme.example' })
    await create('acct_3', 'Globex')
    await create('acct_4', '100_percent')
    const found = async (words: string) => (await finder.accounts(words, 5)).map(({ id }) => id)

    assert.deepEqual(await found('acme'), ['acct_2', 'acct_1'])
    assert.deepEqual(await found('billing@'), ['acct_2'])
    assert.deepEqual(await found('cus_100%'), ['acct_1'])
    assert.deepEqual(await found('acct_3'), ['acct_3'])
    assert.deepEqual(await found('00_'), ['acct_4'], 'wildcards are plain characters')
    assert.deepEqual(await found('%'), ['acct_1'])
    assert.deepEqual(await found("' OR 1=1 --"), [])
    assert.equal((await finder.accounts('e', 2)).length, 2)
  })

  test(`${engine}: keys are found by name, id and the last four of any secret, with the label of the current one`, async () => {
    await using repositories = await openRepositories(open)
    const { keys, finder } = repositories
    await repositories.accounts.create({ id: 'acct_1', name: 'a' }, OPERATOR)
    await addKeys(repositories, [
      ['key_a', 'production', 'Ab3d'],
      ['key_b', 'pre-production', 'Xy9z'],
    ])
    await keys.rotate('key_a', { hash: 'f'.repeat(64), prefix: 'svc_live_', last4: 'New1' }, OPERATOR)
    await keys.revoke('key_b', OPERATOR)
    const found = async (words: string) =>
      (await finder.keys(words, 5)).map(({ id, label, status }) => `${id} ${label} ${status}`)

    const [a, b] = ['key_a svc_live_…New1 active', 'key_b svc_live_…Xy9z revoked']
    assert.deepEqual(await found('prod'), [a, b])
    assert.deepEqual(await found('Ab3d'), [a])
    assert.deepEqual(await found('New1'), [a])
    assert.deepEqual(await found('key_b'), [b])
    assert.deepEqual(await found('nothing'), [])
  })

  test(`${engine}: a search among 10,000 accounts and 100,000 keys takes at most ${SEARCH_MS_MAX} ms`, async () => {
    await using repositories = await openRepositories(open)
    await fill(repositories)
    const { finder } = repositories
    const timed = async (words: string) => {
      const start = performance.now()
      const [accounts, keys] = await Promise.all([finder.accounts(words, 6), finder.keys(words, 6)])
      return { ms: performance.now() - start, found: [accounts.length, keys.length] }
    }

    const results = [] as { readonly ms: number; readonly found: readonly number[] }[]
    for (const words of ['customer 77', 'service 1234', 'ervice 99', 'no such name', 'z', 'k142']) {
      // The better of two, since other tests run at the same time.
      const [first, second] = [await timed(words), await timed(words)]
      results.push(first.ms < second.ms ? first : second)
    }

    assert.deepEqual(
      results.map(({ found }) => found),
      [
        [6, 0],
        [0, 6],
        [0, 6],
        [0, 0],
        [0, 0],
        [0, 6],
      ],
    )
    for (const { ms } of results) assert.ok(ms < SEARCH_MS_MAX, `${Math.round(ms)} ms`)
  })
}

async function addKeys({ sql }: Repositories, keys: readonly (readonly [string, string, string])[]): Promise<void> {
  for (const [id, name, last4] of keys) {
    await sql.run(
      `INSERT INTO api_key (id, account_id, name, scopes, ip_allowlist, rpm_limit, max_concurrent, created_at)
       VALUES ($1, 'acct_1', $2, '[]', '[]', 1, 1, 0)`,
      [id, name],
    )
    await sql.run(`INSERT INTO secret (hash, key_id, prefix, last4, created_at) VALUES ($1, $2, 'svc_live_', $3, 0)`, [
      id.padEnd(64, '0'),
      id,
      last4,
    ])
  }
}

const NUMBERS = 'WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i + 1 <'

async function fill({ sql }: Repositories): Promise<void> {
  await sql.run(
    `${NUMBERS} 10000) INSERT INTO account (id, name, contact_email, created_at)
     SELECT 'acct_' || i, 'Customer ' || i, 'ops@customer' || i || '.example', 0 FROM n`,
  )
  await sql.run(
    `${NUMBERS} 100000) INSERT INTO api_key (id, account_id, name, scopes, ip_allowlist, rpm_limit, max_concurrent, created_at)
     SELECT 'key_' || i, 'acct_' || (i % 10000), 'Service ' || i, '[]', '[]', 1, 1, 0 FROM n`,
  )
  await sql.run(
    `${NUMBERS} 100000) INSERT INTO secret (hash, key_id, prefix, last4, created_at)
     SELECT 'h' || i, 'key_' || i, 'svc_live_', 'k' || CAST(100 + i % 900 AS TEXT), 0 FROM n`,
  )
}
