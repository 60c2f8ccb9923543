// The contract of keys and secrets, on every engine.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { NO_FILE } from '../../../src/config/file.ts'
import { DAY_MS, GRACE_MS, keyStatus } from '../../../src/domain/key.ts'
import { ROOT } from '../../../src/domain/operator.ts'
import type { NewKey } from '../../../src/store/contract/operator.ts'
import { sqlKeys } from '../../../src/store/sql/keys.ts'
import type { Param } from '../../../src/store/sql/sql.ts'
import { ENGINES, OPERATOR, openRepositories, type Repositories, runsOn } from '../../support/engines.ts'

const MINUTE_MS = 60_000
let made = 0

for (const { engine, open } of ENGINES) {
  test(`${engine}: a new key is read back as it was written, with its balance row and no hash`, async () => {
    await using repositories = await openWithAccount()

    const key = await repositories.keys.create(newKey({ creditLimit: 5n, ipAllowlist: ['10.0.0.0/8'] }), OPERATOR)

    assert(typeof key === 'object')
    assert.deepEqual(await repositories.keys.get(key.id), key)
    assert.equal(key.version, 1)
    assert.equal(key.creditLimit, 5n)
    assert.deepEqual(key.ipAllowlist, ['10.0.0.0/8'])
    assert(!JSON.stringify(key, (_, value) => String(value)).includes('hash'))
    assert.notEqual(await repositories.sql.get('SELECT * FROM key_balance WHERE key_id = $1', [key.id]), undefined)
  })

  test(`${engine}: reading a key reads the balance of no other`, async () => {
    if (engine !== 'sqlite') return
    await using repositories = await openWithAccount()
    const id = await makeKey(repositories)
    const texts: [string, readonly unknown[]][] = []
    const watched =
      (read: 'all' | 'get') =>
      (text: string, params: readonly Param[] = []) => {
        texts.push([text, params])
        return repositories.sql[read](text, params) as never
      }

    await sqlKeys({ ...repositories.sql, all: watched('all'), get: watched('get') }).get(id)

    const plans = await Promise.all(
      texts.map(([text, params]) => repositories.sql.all(`EXPLAIN QUERY PLAN ${text}`, params as readonly Param[])),
    )
    const steps = plans.flat().map(row => String(row.detail))
    assert.ok(
      steps.some(step => /^SEARCH b USING PRIMARY KEY/.test(step)),
      steps.join('\n'),
    )
    assert.deepEqual(
      steps.filter(step => /^SCAN (b|k|s|key_balance|api_key|secret)\b|MATERIALIZE key_balance_now/.test(step)),
      [],
    )
  })

  test(`${engine}: a key for an unknown account is refused`, async () => {
    await using repositories = await openWithAccount()

    assert.equal(await repositories.keys.create(newKey({ accountId: 'acct_nobody' }), OPERATOR), 'no_account')
    assert.deepEqual((await repositories.keys.list({ limit: 10 })).data, [])
  })

  test(`${engine}: rotation keeps at most five old secrets in grace, also in a hundred concurrent calls`, async () => {
    await using repositories = await openWithAccount()
    const id = await makeKey(repositories)

    const answers = await Promise.all(
      Array.from({ length: 100 }, () => repositories.keys.rotate(id, newSecret(), OPERATOR)),
    )

    assert.equal(answers.filter(answer => typeof answer === 'object').length, 5)
    assert.equal(answers.filter(answer => answer === 'too_many_secrets').length, 95)
    assert.equal(await validSecrets(repositories, id), 6)
    assert.equal((await repositories.keys.get(id))?.version, 6)
  })

  test(`${engine}: each old secret has its own sixty minutes, and one that has ended makes space for a new one`, async () => {
    await using repositories = await openWithAccount()
    const id = await makeKey(repositories)
    for (let i = 0; i < 5; i++) {
      await repositories.keys.rotate(id, newSecret(), OPERATOR)
      repositories.clock.advance(MINUTE_MS)
    }

    assert.equal(await repositories.keys.rotate(id, newSecret(), OPERATOR), 'too_many_secrets')
    repositories.clock.advance(GRACE_MS - 5 * MINUTE_MS - 1)
    assert.equal(await repositories.keys.rotate(id, newSecret(), OPERATOR), 'too_many_secrets')
    repositories.clock.advance(1)
    const rotated = await repositories.keys.rotate(id, newSecret(), OPERATOR)

    assert(typeof rotated === 'object')
    assert.equal(rotated.previous.length, 5)
  })

  test(`${engine}: with a limit per day a key gets no more secrets, however the old ones ended`, async () => {
    await using repositories = await openWithAccount()
    const id = await makeKey(repositories)
    const rotate = async () => {
      const rotated = await repositories.keys.rotate(id, newSecret(), OPERATOR, 4)
      await repositories.keys.endGrace(id, undefined, OPERATOR)
      return typeof rotated === 'object' ? 'rotated' : rotated
    }

    assert.deepEqual(await inTurn(5, rotate), ['rotated', 'rotated', 'rotated', 'too_many_today', 'too_many_today'])
    assert.equal(typeof (await repositories.keys.rotate(id, newSecret(), OPERATOR)), 'object', 'an operator may')
    repositories.clock.advance(DAY_MS)
    assert.deepEqual(await inTurn(5, rotate), ['rotated', 'rotated', 'rotated', 'rotated', 'too_many_today'])
  })

  test(`${engine}: of racing creations for the playground, at most four keys of an operator stay valid`, async () => {
    await using repositories = await openWithAccount()
    const { keys, clock } = repositories
    await repositories.operators.setRoot('hash')
    const root = { ...OPERATOR, id: ROOT.id }
    const create = (operator: string, more: Partial<NewKey> = {}) =>
      keys.createReplacing(
        { tag: ['playground', operator], max: 4 },
        {
          ...newKey({ name: 'Playground', tags: { playground: operator }, ...more }),
          expiresAt: clock.now() + GRACE_MS,
        },
        root,
      )
    // As many of others as a page of a list could hold, and a customer's key of the same name.
    for (let i = 0; i < 110; i++) await create(`other ${i}`)
    await makeKey(repositories, { name: 'Playground' })
    const first = await create(ROOT.id)

    const made = await Promise.all(Array.from({ length: 8 }, () => create(ROOT.id)))

    const valid = (await keys.list({ limit: 1000, name: 'Playground', status: 'active' })).data
    assert.equal(valid.filter(({ tags }) => tags.playground === ROOT.id).length, 4)
    assert.equal(valid.length, 4 + 110 + 1)
    const revoked = made.flatMap(each => (typeof each === 'object' ? each.revoked : []))
    assert.equal(new Set(revoked).size, 5)
    assert.ok(typeof first === 'object' && revoked.includes(first.key.id), 'the oldest first')
    assert.equal(await create(ROOT.id, { accountId: 'acct_nobody' }), 'no_account')
    assert.equal((await keys.list({ limit: 9, name: 'Playground', status: 'revoked' })).data.length, 5)
  })

  test(`${engine}: a recorded expiry stays when the clock jumps back`, async () => {
    await using repositories = await openWithAccount()
    const start = repositories.clock.now()
    const id = await makeKey(repositories, { expiresAt: start + 2 * GRACE_MS })
    await repositories.keys.rotate(id, newSecret(), OPERATOR)
    repositories.clock.advance(2 * GRACE_MS)

    assert.deepEqual(await repositories.keys.markEnds(), [id])
    assert.deepEqual(await repositories.keys.markEnds(), [])
    repositories.clock.set(start)

    const key = (await repositories.keys.get(id))!
    assert.equal(keyStatus(key, start), 'expired')
    assert.deepEqual(key.previous, [])
    assert.equal(key.version, 3)
    assert.equal(await repositories.keys.rotate(id, newSecret(), OPERATOR), 'not_active')
  })

  test(`${engine}: a passed expiry is undone only by a new expiry, even if it had not been recorded`, async () => {
    await using repositories = await openWithAccount()
    const id = await makeKey(repositories, { expiresAt: repositories.clock.now() + 1000 })
    repositories.clock.advance(1000)

    const renamed = await repositories.keys.update(id, { name: 'other' }, OPERATOR)
    assert(typeof renamed === 'object')
    repositories.clock.set(repositories.clock.now() - 1000)
    assert.equal(keyStatus(renamed, repositories.clock.now()), 'expired')
    assert.equal((await repositories.keys.list({ limit: 10, status: 'active' })).data.length, 0)
    assert.equal((await repositories.keys.list({ limit: 10, status: 'expired' })).data.length, 1)

    const renewed = await repositories.keys.update(id, { expiresAt: repositories.clock.now() + 5000 }, OPERATOR)
    assert(typeof renewed === 'object')
    assert.equal(keyStatus(renewed, repositories.clock.now()), 'active')
    assert.equal((await repositories.keys.list({ limit: 10, status: 'active' })).data.length, 1)
    repositories.clock.advance(5000)
    assert.deepEqual(await repositories.keys.markEnds(), [id])
    assert.equal((await repositories.keys.list({ limit: 10, status: 'expired' })).data.length, 1)

    const endless = await repositories.keys.update(id, { expiresAt: null }, OPERATOR)
    assert(typeof endless === 'object')
    assert.equal(keyStatus(endless, repositories.clock.now()), 'active')
  })

  test(`${engine}: end-grace ends the named secret, then all, and changes nothing the third time`, async () => {
    await using repositories = await openWithAccount()
    const first = newSecret()
    const id = await makeKey(repositories, { secret: first })
    await repositories.keys.rotate(id, newSecret(), OPERATOR)
    await repositories.keys.rotate(id, newSecret(), OPERATOR)

    const one = await repositories.keys.endGrace(id, first.last4, OPERATOR)
    const all = await repositories.keys.endGrace(id, undefined, OPERATOR)
    const again = await repositories.keys.endGrace(id, undefined, OPERATOR)

    assert.deepEqual([one?.previous.length, all?.previous.length, again?.previous.length], [1, 0, 0])
    assert.deepEqual([one?.version, all?.version, again?.version], [4, 5, 5])
  })

  test(`${engine}: a revoke ends every secret permanently`, async () => {
    await using repositories = await openWithAccount()
    const id = await makeKey(repositories)
    await repositories.keys.rotate(id, newSecret(), OPERATOR)

    const revoked = await repositories.keys.revoke(id, OPERATOR)
    repositories.clock.advance(5000)
    const again = await repositories.keys.revoke(id, OPERATOR)

    assert.deepEqual(again, revoked)
    assert.equal(await validSecrets(repositories, id), 0)
    assert.equal(await repositories.keys.rotate(id, newSecret(), OPERATOR), 'not_active')
    assert.equal(await repositories.keys.update(id, { name: 'x' }, OPERATOR), 'revoked')
    assert.equal(
      (await repositories.events.list({ limit: 10 })).data.filter(event => event.action === 'key.revoke').length,
      1,
    )
  })

  test(`${engine}: changes of unknown keys return nothing and leave no event`, async () => {
    await using repositories = await openWithAccount()
    const before = (await repositories.events.list({ limit: 10 })).data.length

    assert.equal(await repositories.keys.update('key_x', { name: 'x' }, OPERATOR), undefined)
    assert.equal(await repositories.keys.rotate('key_x', newSecret(), OPERATOR), undefined)
    assert.equal(await repositories.keys.endGrace('key_x', undefined, OPERATOR), undefined)
    assert.equal(await repositories.keys.revoke('key_x', OPERATOR), undefined)
    assert.equal((await repositories.events.list({ limit: 10 })).data.length, before)
  })

  test(`${engine}: a patch changes the given fields, null removes a limit, and an empty one changes nothing`, async () => {
    await using repositories = await openWithAccount()
    const id = await makeKey(repositories, { dailyLimit: 7, creditLimit: 9n })

    const patched = await repositories.keys.update(id, { dailyLimit: null, scopes: [] }, OPERATOR)
    const same = await repositories.keys.update(id, {}, OPERATOR)

    assert(typeof patched === 'object')
    assert.deepEqual([patched.dailyLimit, patched.creditLimit, patched.scopes, patched.version], [null, 9n, [], 2])
    assert.deepEqual(same, patched)
  })

  test(`${engine}: the list is newest first and paged by id, and its search takes wildcards literally`, async () => {
    await using repositories = await openWithAccount()
    const names = ['plain', '100%', 'a_b', 'axb', 'bang!']
    const ids: string[] = []
    for (const name of names) ids.unshift(await makeKey(repositories, { name }))
    const found = async (q: string) => (await repositories.keys.list({ limit: 10, q })).data.map(key => key.name)

    const first = await repositories.keys.list({ limit: 3 })
    const second = await repositories.keys.list({ limit: 3, after: first.data.at(-1)?.id })

    assert.deepEqual(
      [...first.data, ...second.data].map(key => key.id),
      ids,
    )
    assert.deepEqual([first.hasMore, second.hasMore], [true, false])
    assert.deepEqual(await found('%'), ['100%'])
    assert.deepEqual(await found('a_b'), ['a_b'])
    assert.deepEqual(await found('!'), ['bang!'])
    assert.deepEqual(await found('PLAIN'), ['plain'])
    assert.deepEqual(await found(first.data[0]!.last4), ['bang!'])
  })

  test(`${engine}: a page of keys with long lists ends early, and the pages together have every key once`, async () => {
    await using repositories = await openWithAccount()
    const allowedModels = Array.from({ length: 100 }, (_, i) => `m${i}`.padEnd(256, 'x'))
    const ids: string[] = []
    for (let i = 0; i < 50; i++) ids.unshift(await makeKey(repositories, { allowedModels }))

    const sizes: number[] = []
    const seen: string[] = []
    for (let after: string | undefined; ; after = seen.at(-1)) {
      const { data, hasMore } = await repositories.keys.list({ limit: 1000, after })
      sizes.push(JSON.stringify(data, (_, value) => (typeof value === 'bigint' ? String(value) : value)).length)
      seen.push(...data.map(({ id }) => id))
      if (!hasMore) break
    }

    assert.deepEqual(seen, ids)
    assert.ok(Math.max(...sizes) < 600_000, `pages of ${sizes} characters`)
    assert.equal((await repositories.keys.list({ limit: 1 })).data.length, 1)
  })

  test(`${engine}: keys are found by exactly their name, and by the last four characters of any of their secrets`, async () => {
    await using repositories = await openWithAccount()
    const id = await makeKey(repositories, { name: 'ci' })
    await makeKey(repositories, { name: 'ci 2' })
    const before = (await repositories.keys.get(id))?.last4
    await repositories.keys.rotate(id, newSecret(), OPERATOR)
    const after = (await repositories.keys.get(id))?.last4
    const found = async (filter: object) =>
      (await repositories.keys.list({ limit: 10, ...filter })).data.map(key => key.name)

    assert.deepEqual(await found({ name: 'ci' }), ['ci'])
    assert.deepEqual(await found({ name: 'CI' }), [])
    assert.notEqual(before, after)
    for (const last4 of [before, after]) assert.deepEqual(await found({ last4 }), ['ci'])
    assert.deepEqual(await found({ last4: after?.slice(1) }), [])
    assert.deepEqual(await found({ name: 'ci 2', last4: after }), [])
  })

  test(`${engine}: after any sequence of operations versions grow with each change, each change has its event, and nothing ended becomes valid again`, async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(STEP, { minLength: 5, maxLength: 40, size: 'max' }), async steps => {
        await using repositories = await openWithAccount()
        const id = await makeKey(repositories, { expiresAt: repositories.clock.now() + 6 * GRACE_MS })
        const dead = new Set<string>()
        for (const step of steps) await takeStep(repositories, id, step, dead)
      }),
      { numRuns: runsOn(engine, 60) },
    )
  })

  async function openWithAccount(): Promise<Repositories> {
    const repositories = await openRepositories(open)
    await repositories.accounts.create({ id: 'acct_1', name: 'one' }, OPERATOR)
    return repositories
  }
}

const STEP = fc.oneof(
  fc.record({ kind: fc.constant('rotate' as const) }),
  fc.record({ kind: fc.constant('endGrace' as const) }),
  fc.record({ kind: fc.constant('update' as const) }),
  fc.record({ kind: fc.constant('markEnds' as const) }),
  fc.record({ kind: fc.constant('move' as const), ms: fc.integer({ min: -2 * GRACE_MS, max: 2 * GRACE_MS }) }),
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('revoke' as const) }) },
)
type Step = typeof STEP extends fc.Arbitrary<infer T> ? T : never

async function takeStep(repositories: Repositories, id: string, step: Step, dead: Set<string>): Promise<void> {
  const before = (await repositories.keys.get(id))!
  const eventsBefore = await countOf(repositories, 'SELECT COUNT(*) AS n FROM event')
  if (step.kind === 'rotate') await repositories.keys.rotate(id, newSecret(), OPERATOR)
  if (step.kind === 'endGrace') await repositories.keys.endGrace(id, undefined, OPERATOR)
  if (step.kind === 'update') await repositories.keys.update(id, { name: `n${made++}` }, OPERATOR)
  if (step.kind === 'markEnds') await repositories.keys.markEnds()
  if (step.kind === 'revoke') await repositories.keys.revoke(id, OPERATOR)
  if (step.kind === 'move') repositories.clock.set(repositories.clock.now() + step.ms)
  const after = (await repositories.keys.get(id))!
  const events = (await countOf(repositories, 'SELECT COUNT(*) AS n FROM event')) - eventsBefore

  assert.equal(after.version > before.version, events > 0)
  assert(after.version >= before.version)
  assert((await validSecrets(repositories, id)) <= 6)
  if (before.expiredAt !== null) assert.equal(after.expiredAt, before.expiredAt)
  if (before.revokedAt !== null) assert.equal(after.revokedAt, before.revokedAt)
  for (const hash of dead) assert.equal(await countOf(repositories, ALIVE, [hash, repositories.clock.now()]), 0)
  for (const row of await repositories.sql.all('SELECT hash FROM secret WHERE ended_at IS NOT NULL'))
    dead.add(String(row.hash))
}

const ALIVE = `SELECT COUNT(*) AS n FROM secret WHERE hash = $1 AND ended_at IS NULL
  AND (grace_expires_at IS NULL OR grace_expires_at > $2)`

async function validSecrets(repositories: Repositories, id: string): Promise<number> {
  return countOf(
    repositories,
    'SELECT COUNT(*) AS n FROM secret WHERE key_id = $1 AND ended_at IS NULL AND (grace_expires_at IS NULL OR grace_expires_at > $2)',
    [id, repositories.clock.now()],
  )
}

async function countOf(
  repositories: Repositories,
  statement: string,
  params: readonly (string | number)[] = [],
): Promise<number> {
  return Number((await repositories.sql.get(statement, params))?.n)
}

async function inTurn<T>(times: number, work: () => Promise<T>): Promise<readonly T[]> {
  const done: T[] = []
  for (let i = 0; i < times; i++) done.push(await work())
  return done
}

async function makeKey(repositories: Repositories, more: Partial<NewKey> = {}): Promise<string> {
  const key = await repositories.keys.create(newKey(more), OPERATOR)
  assert(typeof key === 'object')
  return key.id
}

function newKey(more: Partial<NewKey> = {}): NewKey {
  return {
    id: `key_${String(made++).padStart(32, '0')}`,
    accountId: 'acct_1',
    name: 'ci',
    ...NO_FILE.defaults,
    secret: newSecret(),
    ...more,
  }
}

function newSecret() {
  const number = String(made++).padStart(64, '0')
  return { hash: number, prefix: 'svc_live_', last4: number.slice(-4) }
}
