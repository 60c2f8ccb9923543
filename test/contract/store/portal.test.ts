// The contract of the customer portal: a link opens one session, a session belongs to one account and ends with its suspension, and
// customers create no more keys than they may.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { PortalKeyLimits } from '../../../src/domain/key.ts'
import { sqlKeys } from '../../../src/store/sql/keys.ts'
import type { Param, Sql } from '../../../src/store/sql/sql.ts'
import { ENGINES, OPERATOR, openRepositories, type Repositories } from '../../support/engines.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const NO_LIMITS: PortalKeyLimits = {
  maxKeys: null,
  rpmLimit: null,
  dailyLimit: null,
  maxConcurrent: null,
  creditLimit: null,
  expiresInDays: null,
  allowedModels: [],
}

for (const { engine, open } of ENGINES) {
  const openFixture = async () => {
    const repositories = await openRepositories(open)
    for (const id of ['acct_a', 'acct_b']) await repositories.accounts.create({ id, name: `Name of ${id}` }, OPERATOR)
    return repositories
  }

  test(`${engine}: of twenty racing uses of a link, one opens a session`, async () => {
    await using repositories = await openFixture()
    await link(repositories, 'token')

    const uses = await Promise.all(Array.from({ length: 20 }, (_, i) => use(repositories, 'token', `s${i}`)))

    assert.equal(uses.filter(({ state }) => state === 'open').length, 1)
    assert.equal(uses.filter(({ state }) => state === 'used').length, 19)
    const open = (await repositories.portal.list('acct_a', { limit: 50 }))?.data ?? []
    assert.deepEqual(
      open.map(({ account, permissions }) => [account, permissions]),
      [[{ id: 'acct_a', name: 'Name of acct_a' }, ['usage']]],
    )
  })

  test(`${engine}: a link works until it expires, and names the way back for a day after`, async () => {
    await using repositories = await openFixture()
    await link(repositories, 'late')
    await link(repositories, 'old')
    repositories.clock.advance(5 * MINUTE)

    assert.deepEqual(await use(repositories, 'late'), { state: 'expired', returnUrl: 'https://shop.example/' })
    assert.deepEqual(await use(repositories, 'never made'), { state: 'unknown', returnUrl: null })
    repositories.clock.advance(25 * HOUR)
    await link(repositories, 'new')
    const found = await repositories.portal.findLinks(['hash of old', 'hash of new', 'hash of late'])
    assert.deepEqual(
      found.map(({ state }) => state),
      ['unknown', 'open', 'unknown'],
    )
  })

  test(`${engine}: a suspended account gets no link, no session, and keeps none`, async () => {
    await using repositories = await openFixture()
    await link(repositories, 'first')
    await link(repositories, 'second')
    await link(repositories, 'of b', 'acct_b')
    await use(repositories, 'first', 's1')
    await use(repositories, 'of b', 's2')

    await repositories.accounts.update('acct_a', { status: 'suspended' }, OPERATOR)

    assert.equal((await bearer(repositories, 's1'))?.state, 'suspended')
    assert.equal((await use(repositories, 'second')).state, 'suspended')
    assert.equal(await link(repositories, 'third'), 'suspended')
    assert.equal((await bearer(repositories, 's2'))?.state, 'open')
    await repositories.accounts.update('acct_a', { status: 'active' }, OPERATOR)
    assert.equal((await bearer(repositories, 's1'))?.state, 'ended', 'a session does not come back')
    assert.equal((await use(repositories, 'second')).state, 'expired', 'nor does a link')
  })

  test(`${engine}: a session ends after an hour without use, and after twelve hours in any case`, async () => {
    await using repositories = await openFixture()
    await link(repositories, 'token')
    await use(repositories, 'token', 's')
    repositories.clock.advance(HOUR - 1)
    await repositories.portal.touch('pses_s')
    repositories.clock.advance(HOUR - 1)
    assert.equal((await bearer(repositories, 's'))?.state, 'open')
    repositories.clock.advance(1)
    assert.equal((await bearer(repositories, 's'))?.state, 'ended')

    await link(repositories, 'another')
    await use(repositories, 'another', 'o')
    for (let i = 0; i < 12; i++) {
      assert.equal((await bearer(repositories, 'o'))?.state, 'open', `after ${i} hours`)
      repositories.clock.advance(HOUR - 1)
      await repositories.portal.touch('pses_o')
    }
    repositories.clock.advance(12)
    assert.equal((await bearer(repositories, 'o'))?.state, 'ended')
  })

  test(`${engine}: an operator ends a session of the named account only, and it leaves an event`, async () => {
    await using repositories = await openFixture()
    await link(repositories, 'token')
    await use(repositories, 'token', 's')
    const id = 'pses_s'

    assert.equal(await repositories.portal.end('acct_b', id, OPERATOR), false)
    assert.equal((await bearer(repositories, 's'))?.state, 'open')
    assert.equal(await repositories.portal.end('acct_a', id, OPERATOR), true)
    assert.equal(await repositories.portal.end('acct_a', id, OPERATOR), false)

    assert.equal((await bearer(repositories, 's'))?.state, 'ended')
    assert.deepEqual((await repositories.portal.list('acct_a', { limit: 5 }))?.data, [])
    assert.equal(await repositories.portal.list('acct_x', { limit: 5 }), undefined)
    const { data } = await repositories.events.list({ limit: 10, subject: 'acct_a' })
    assert.deepEqual(data.map(({ action, actor }) => `${action} by ${actor}`).sort(), [
      'account.create by operator',
      'portal_link.create by operator',
      'portal_session.create by portal:acct_a',
      'portal_session.end by operator',
    ])
  })

  test(`${engine}: the oldest links and sessions beyond the maximum no longer work`, async () => {
    await using repositories = await openFixture()
    for (const name of ['a', 'b', 'c']) {
      await link(repositories, name, 'acct_a', 2)
      repositories.clock.advance(1)
    }
    assert.deepEqual((await use(repositories, 'a')).state, 'unknown')
    await use(repositories, 'b', 's1')
    repositories.clock.advance(1)
    await use(repositories, 'c', 's2', 1)

    assert.equal(await bearer(repositories, 's1'), undefined)
    assert.equal((await bearer(repositories, 's2'))?.state, 'open')
  })

  test(`${engine}: sessions that have ended do not displace open ones`, async () => {
    await using repositories = await openFixture()
    const opened = async (secret: string, max: number) => {
      await link(repositories, secret)
      await use(repositories, secret, secret, max)
      repositories.clock.advance(1)
    }
    await opened('first', 2)
    await opened('second', 2)
    await repositories.portal.end('acct_a', 'pses_second', OPERATOR)
    await opened('third', 2)
    assert.equal((await bearer(repositories, 'first'))?.state, 'open')
    repositories.clock.advance(HOUR - 2)
    await repositories.portal.touch('pses_first')
    repositories.clock.advance(HOUR / 2)
    await opened('fourth', 2)

    assert.deepEqual(
      [await bearer(repositories, 'second'), await bearer(repositories, 'third')],
      [undefined, undefined],
      'one had ended, one was idle',
    )
    assert.equal((await bearer(repositories, 'first'))?.state, 'open')
    await opened('fifth', 2)
    assert.equal(await bearer(repositories, 'first'), undefined, 'then the oldest')
  })

  test(`${engine}: a session that another of the same browser replaces leaves an event on its own account`, async () => {
    await using repositories = await openFixture()
    await link(repositories, 'first')
    await link(repositories, 'second', 'acct_b')
    await use(repositories, 'first', 'old')
    repositories.clock.advance(1)

    await use(repositories, 'second', 'new', 10, 'old')

    assert.equal((await bearer(repositories, 'old'))?.state, 'ended')
    assert.equal((await bearer(repositories, 'new'))?.state, 'open')
    const [event] = (await repositories.events.list({ limit: 1, subject: 'acct_a' })).data
    assert.deepEqual(
      [event?.action, event?.actor, event?.detail],
      ['portal_session.end', 'portal:acct_a', JSON.stringify({ session: 'pses_old' })],
    )
  })

  test(`${engine}: a hundred racing creations make as many keys as the account may have`, async () => {
    await using repositories = await openFixture()
    const limits = { portalKeyLimits: { ...NO_LIMITS, maxKeys: 7, creditLimit: 5_000_000_000n } }
    const account = await repositories.accounts.update('acct_a', limits, OPERATOR)
    assert.ok(typeof account === 'object' && account.portalKeyLimits?.creditLimit === 5_000_000_000n)
    const rule = { accountVersion: account.version, activeMax: 7 }
    await repositories.keys.create(newKey('operator'), OPERATOR)

    const made = await Promise.all(
      Array.from({ length: 100 }, (_, i) => repositories.keys.createWithin(rule, newKey(`k${i}`), OPERATOR)),
    )

    assert.equal(made.filter(key => typeof key === 'object').length, 6, "the operator's key counts too")
    assert.equal(made.filter(key => key === 'too_many').length, 94)
    await repositories.keys.revoke('key_operator', OPERATOR)
    assert.equal(typeof (await repositories.keys.createWithin(rule, newKey('one more'), OPERATOR)), 'object')
  })

  test(`${engine}: a customer creates at most a thousand keys within a day, revoked ones included`, async () => {
    await using repositories = await openFixture()
    const rule = { accountVersion: 1, activeMax: 7 }
    const create = (name: string) => repositories.keys.createWithin(rule, newKey(name), OPERATOR)
    await repositories.sql.run(
      `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 999)
       INSERT INTO api_key (id, account_id, name, scopes, ip_allowlist, rpm_limit, max_concurrent, created_at, revoked_at)
       SELECT 'key_0' || CAST(1000 + i AS TEXT), 'acct_a', 'x', '[]', '[]', 1, 1, CAST($1 AS BIGINT), CAST($1 AS BIGINT) FROM n`,
      [repositories.clock.now()],
    )
    repositories.clock.advance(1)

    assert.equal(typeof (await create('the thousandth')), 'object')
    await repositories.keys.revoke('key_the thousandth', OPERATOR)
    assert.equal(await create('one too many'), 'too_many_today')
    repositories.clock.advance(24 * HOUR)
    assert.equal(typeof (await create('tomorrow')), 'object')
  })

  if (engine === 'sqlite') {
    test('the active keys of an account are counted without reading its revoked ones', async () => {
      await using repositories = await openFixture()
      const { sql } = repositories
      const read: (readonly [string, readonly Param[]])[] = []
      const watched: Sql = {
        ...sql,
        transaction: work =>
          sql.transaction(tx =>
            work({
              ...tx,
              get(statement, params = []) {
                read.push([statement, params])
                return tx.get(statement, params)
              },
            }),
          ),
      }

      await sqlKeys(watched).createWithin({ accountVersion: 1, activeMax: 7 }, newKey('k'), OPERATOR)

      const [counting] = read.filter(([statement]) => statement.includes('COUNT(*)'))
      const plan = await sql.all(`EXPLAIN QUERY PLAN ${counting?.[0]}`, counting?.[1])
      assert.match(String(plan.map(({ detail }) => detail)), /USING (COVERING )?INDEX api_key_valid \(account_id=\?/)
    })
  }

  test(`${engine}: a key is not created by outdated limits or for a suspended account`, async () => {
    await using repositories = await openFixture()
    const rule = { accountVersion: 1, activeMax: 7 }
    await repositories.accounts.update('acct_a', { name: 'A' }, OPERATOR)
    assert.equal(await repositories.keys.createWithin(rule, newKey('k1'), OPERATOR), 'changed')
    await repositories.accounts.update('acct_a', { status: 'suspended' }, OPERATOR)

    assert.equal(
      await repositories.keys.createWithin({ ...rule, accountVersion: 3 }, newKey('k2'), OPERATOR),
      'suspended',
    )
    assert.deepEqual((await repositories.keys.list({ limit: 5, accountId: 'acct_a' })).data, [])
  })
}

function link(repositories: Repositories, token: string, accountId = 'acct_a', max = 10) {
  return repositories.portal.createLink(
    {
      tokenHash: `hash of ${token}`,
      accountId,
      permissions: ['usage'],
      returnUrl: 'https://shop.example/',
      validMs: 5 * MINUTE,
    },
    max,
    OPERATOR,
  )
}

function use(repositories: Repositories, token: string, secret = 'secret', max = 10, replaces?: string) {
  return repositories.portal.open(
    {
      id: `pses_${secret}`,
      tokenHash: `hash of ${token}`,
      secretHash: `hash of ${secret}`,
      address: '192.0.2.9',
      replaces: replaces === undefined ? undefined : `hash of ${replaces}`,
    },
    max,
  )
}

async function bearer(repositories: Repositories, secret: string) {
  const [first, second] = await repositories.portal.bearers(['hash of nobody', `hash of ${secret}`])
  assert.equal(first, undefined)
  return second
}

function newKey(name: string) {
  return {
    id: `key_${name}`,
    accountId: 'acct_a',
    name,
    scopes: [],
    ipAllowlist: [],
    rpmLimit: 1,
    dailyLimit: null,
    creditLimit: null,
    maxConcurrent: 1,
    expiresAt: null,
    secret: { hash: `hash of ${name}`, prefix: 'svc_', last4: 'abcd' },
  }
}
