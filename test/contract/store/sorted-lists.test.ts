// Accounts and keys in another order than by time, on every engine: page by page, with filters, in both directions.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { NO_FILE } from '../../../src/config/file.ts'
import { ACCOUNT_SORTS, type AccountSort, KEY_SORTS, type KeySort } from '../../../src/store/contract/operator.ts'
import { ENGINES, OPERATOR, openRepositories, type Repositories } from '../../support/engines.ts'

// Oldest first: available, owed, spent.
const ACCOUNTS = {
  c: [7, 0, 3],
  a: [0, 0, 5],
  e: [90, 0, 1],
  B: [0, 0, 4],
  D: [0, 5, 2],
} as const
// Oldest first: last used, spent.
const KEYS = { z: [null, 2], Y: [50, 4], x: [10, 1], w: [50, 3], v: [90, 0] } as const

for (const { engine, open } of ENGINES) {
  test(`${engine}: accounts and keys are sorted, page by page`, async t => {
    await using repositories = await openRepositories(open)
    const { accounts, keys, sql } = repositories
    await furnish(repositories)
    const accountsBy = (by: AccountSort, isDescending: boolean) =>
      namesOf(after => accounts.list({ limit: 2, after, q: 'listed', sorting: { by, isDescending } }))
    const keysBy = (by: KeySort, isDescending: boolean) =>
      namesOf(after => keys.list({ limit: 2, after, sorting: { by, isDescending } }))

    await t.test('accounts by name, whatever the case of its letters', async () => {
      assert.deepEqual([await accountsBy('name', false), await accountsBy('name', true)], ['aBcDe', 'eDcBa'])
    })

    await t.test(
      'accounts by balance: what is owed is less than nothing, and the newer of equal ones is higher',
      async () => {
        assert.deepEqual(
          [await accountsBy('available', false), await accountsBy('available', true)],
          ['DaBce', 'ecBaD'],
        )
      },
    )

    await t.test('accounts by spend', async () => {
      assert.deepEqual([await accountsBy('spent', false), await accountsBy('spent', true)], ['eDcBa', 'aBcDe'])
    })

    await t.test('keys by name, by last use and by spend', async () => {
      assert.deepEqual([await keysBy('name', false), await keysBy('name', true)], ['vwxYz', 'zYxwv'])
      assert.deepEqual([await keysBy('last_used', false), await keysBy('last_used', true)], ['zxYwv', 'vwYxz'])
      assert.deepEqual([await keysBy('spent', false), await keysBy('spent', true)], ['vxzwY', 'Ywzxv'])
    })

    await t.test(
      'a row that moves between two pages changes neither where the next one begins nor its order',
      async () => {
        const page = { limit: 2, sorting: { by: 'last_used', isDescending: true } } as const
        const { data, next } = await keys.list(page)
        await sql.run('UPDATE secret SET last_used_at = 100 WHERE key_id = $1', [data[1]?.id ?? ''])
        const listed = { limit: 4, q: 'listed', sorting: { by: 'available', isDescending: true } } as const
        const first = await accounts.list(listed)
        await sql.run('UPDATE account SET available = 500 WHERE id = $1', [first.data[3]?.id ?? ''])

        assert.equal(namesIn(await keys.list({ ...page, after: next ?? '' })), 'Yx')
        assert.equal(namesIn(await accounts.list({ ...listed, after: first.next ?? '' })), 'D')
      },
    )

    await t.test(
      'a place is of one order: in another, or changed, it has nothing or the rest of the list',
      async () => {
        const sorted = <By>(by: By) => ({ limit: 9, sorting: { by, isDescending: false } })
        const { next } = await keys.list({ ...sorted('name' as const), limit: 1 })
        const huge = Buffer.from('9'.repeat(19)).toString('base64url')

        assert.deepEqual((await keys.list({ ...sorted('spent' as const), after: next ?? '' })).data, [])
        for (const place of ['', '!', huge])
          assert.deepEqual((await keys.list({ ...sorted('spent' as const), after: `key_0~${place}` })).data, [])
        assert.equal((await keys.list({ ...sorted('name' as const), after: 'key_0~' })).data.length, 5)
        assert.equal(namesIn(await keys.list({ limit: 9, after: 'key_2~abc' })), 'Yz')
      },
    )

    await t.test('the last page has no next one, and lists by time have no place', async () => {
      assert.equal((await keys.list({ limit: 5, sorting: { by: 'spent', isDescending: true } })).next, null)
      assert.equal('next' in (await keys.list({ limit: 2 })), false)
    })

    await t.test('after what does not exist there is nothing', async () => {
      const sorted = <By>(by: By) => ({ limit: 2, sorting: { by, isDescending: true } })
      for (const by of ACCOUNT_SORTS)
        assert.deepEqual((await accounts.list({ ...sorted(by), after: 'acct_none' })).data, [])
      for (const by of KEY_SORTS) assert.deepEqual((await keys.list({ ...sorted(by), after: 'key_none' })).data, [])
    })
  })
}

async function furnish({ accounts, keys, sql }: Repositories): Promise<void> {
  await accounts.create({ id: 'acct_', name: 'another' }, OPERATOR)
  for (const [index, [name, amounts]] of Object.entries(ACCOUNTS).entries()) {
    const id = `acct_${index}`
    await accounts.create({ id, name, externalId: `listed ${name}` }, OPERATOR)
    await sql.run('UPDATE account SET available = $1, owed = $2, spent = $3 WHERE id = $4', [...amounts, id])
  }
  for (const [index, [name, [usedAt, spent]]] of Object.entries(KEYS).entries()) {
    const id = `key_${index}`
    const secret = { hash: `hash${index}`, prefix: 'svc_live_', last4: 'abcd' }
    await keys.create({ ...NO_FILE.defaults, id, accountId: 'acct_', name, secret }, OPERATOR)
    await sql.run('UPDATE secret SET last_used_at = $1 WHERE key_id = $2', [usedAt, id])
    await sql.run('UPDATE key_balance SET spent = $1 WHERE key_id = $2', [spent, id])
  }
}

function namesIn({ data }: Pick<Listed, 'data'>): string {
  return data.map(({ name }) => name).join('')
}

type Listed = {
  readonly data: readonly { readonly id: string; readonly name: string }[]
  readonly hasMore: boolean
  readonly next?: string | null
}

async function namesOf(read: (after: string | undefined) => Promise<Listed>): Promise<string> {
  let names = ''
  for (let after: string | undefined, more = true; more; ) {
    const page = await read(after)
    names += namesIn(page)
    after = page.next ?? page.data.at(-1)?.id
    more = page.hasMore
  }
  return names
}
