// The contract of operators and sessions: unique names, a permanent root, and sessions with the current rights of their
// operator.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ENGINES, OPERATOR, openRepositories, type Repositories } from '../../support/engines.ts'

const HOUR = 3_600_000
const ROOT_TOKEN = 'hash-of-the-root-token'

for (const { engine, open } of ENGINES) {
  const openFixture = async () => {
    const repositories = await openRepositories(open)
    await repositories.operators.setRoot(ROOT_TOKEN)
    return repositories
  }

  test(`${engine}: the owner of a token is found by its whole hash, and its use is recorded`, async () => {
    await using repositories = await openFixture()
    await add(repositories, 'alice', 'viewer')

    const alice = await operatorOf(repositories, 'token-alice')
    const root = await operatorOf(repositories, ROOT_TOKEN)

    assert.deepEqual([alice?.name, alice?.role, root?.id, root?.role], ['alice', 'viewer', 'op_root', 'admin'])
    assert.equal(await operatorOf(repositories, 'token-alic'), undefined)
    assert.equal((await repositories.operators.get('op_alice'))?.lastUsedAt, repositories.clock.now())
  })

  test(`${engine}: of ten operators created at once with one name, one is created`, async () => {
    await using repositories = await openFixture()
    const made = await Promise.all(
      Array.from({ length: 10 }, (_, i) =>
        repositories.operators.create(
          { id: `op_${i}`, name: i % 2 === 0 ? 'Eve' : 'eve', role: 'admin', tokenHash: `t${i}` },
          100,
          OPERATOR,
        ),
      ),
    )

    assert.equal(made.filter(each => each === 'name_taken').length, 9)
    assert.equal(await repositories.operators.update('op_root', { name: 'x' }, OPERATOR), 'root')
    const other = await repositories.operators.create(
      { id: 'op_x', name: 'ADMIN', role: 'admin', tokenHash: 'tx' },
      100,
      OPERATOR,
    )
    assert.equal(other, 'name_taken')
    assert.equal(
      await repositories.operators.create({ id: 'op_y', name: 'y', role: 'admin', tokenHash: 'ty' }, 2, OPERATOR),
      'too_many',
    )
  })

  test(`${engine}: the root cannot be changed, rotated or removed`, async () => {
    await using repositories = await openFixture()

    assert.equal(await repositories.operators.update('op_root', { role: 'viewer' }, OPERATOR), 'root')
    assert.equal(await repositories.operators.rotate('op_root', 'x', OPERATOR), 'root')
    assert.equal(await repositories.operators.remove('op_root', OPERATOR), 'root')
    assert.equal((await operatorOf(repositories, ROOT_TOKEN))?.role, 'admin')
  })

  test(`${engine}: a new configured token ends the sessions of the old one and no others; the same token ends none`, async () => {
    await using repositories = await openFixture()
    await add(repositories, 'alice', 'admin')
    await login(repositories, 'root', ROOT_TOKEN)
    await login(repositories, 'alice', 'token-alice')

    await repositories.operators.setRoot(ROOT_TOKEN)
    const still = await sessionOf(repositories, 'secret-root')
    await repositories.operators.setRoot('another')

    assert.equal(still?.operator.id, 'op_root')
    assert.equal(await sessionOf(repositories, 'secret-root'), undefined)
    assert.equal((await sessionOf(repositories, 'secret-alice'))?.operator.name, 'alice')
    assert.equal(await operatorOf(repositories, ROOT_TOKEN), undefined)
    assert.equal((await operatorOf(repositories, 'another'))?.id, 'op_root')
  })

  test(`${engine}: a session has the current role of its operator, and ends with rotation and removal`, async () => {
    await using repositories = await openFixture()
    await add(repositories, 'alice', 'admin')
    await add(repositories, 'bob', 'admin')
    await login(repositories, 'alice', 'token-alice')
    await login(repositories, 'bob', 'token-bob')

    await repositories.operators.update('op_alice', { role: 'viewer', name: 'Alice' }, OPERATOR)
    const degraded = await sessionOf(repositories, 'secret-alice')
    await repositories.operators.rotate('op_alice', 'token-alice-2', OPERATOR)
    await repositories.operators.remove('op_bob', OPERATOR)

    assert.deepEqual(degraded?.operator, { id: 'op_alice', name: 'Alice', role: 'viewer' })
    assert.equal(await sessionOf(repositories, 'secret-alice'), undefined)
    assert.equal(await sessionOf(repositories, 'secret-bob'), undefined)
    assert.equal(await login(repositories, 'again', 'token-alice'), undefined)
    assert.equal((await login(repositories, 'new', 'token-alice-2'))?.operator.name, 'Alice')
    assert.equal(await repositories.operators.remove('op_bob', OPERATOR), undefined)
  })

  test(`${engine}: logins that race with a removal leave no valid session`, async () => {
    await using repositories = await openFixture()
    for (let round = 0; round < 5; round++) {
      await add(repositories, `r${round}`, 'admin')
      const logins = Array.from({ length: 4 }, (_, i) => login(repositories, `r${round}-${i}`, `token-r${round}`))

      const removed = await Promise.all([...logins, repositories.operators.remove(`op_r${round}`, OPERATOR)])

      assert.equal(removed.at(-1), 'removed')
      for (let i = 0; i < 4; i++) assert.equal(await sessionOf(repositories, `secret-r${round}-${i}`), undefined)
    }
  })

  test(`${engine}: a session ends after an hour without use, and after twelve hours whatever its use`, async () => {
    await using repositories = await openFixture()
    await login(repositories, 'idle', ROOT_TOKEN)
    await login(repositories, 'busy', ROOT_TOKEN)

    for (let minutes = 0; minutes < 11 * 60 + 30; minutes += 30) {
      repositories.clock.advance(HOUR / 2)
      const idle = await sessionOf(repositories, 'secret-idle-not-asked')
      assert.equal(idle, undefined)
      assert.ok((await sessionOf(repositories, 'secret-busy')) !== undefined, `after ${minutes + 30} minutes`)
      assert.equal(await repositories.sessions.touch('ses_busy'), repositories.clock.now())
    }
    assert.equal(await sessionOf(repositories, 'secret-idle'), undefined)
    assert.deepEqual(
      (await repositories.sessions.list({ limit: 9 })).data.map(session => session.id),
      ['ses_busy'],
    )
    repositories.clock.advance(HOUR / 2)
    assert.equal(await sessionOf(repositories, 'secret-busy'), undefined)
    assert.equal((await repositories.sessions.list({ limit: 9 })).data.length, 0)
  })

  test(`${engine}: only an operator's newest sessions are kept, and a new login replaces the oldest`, async () => {
    await using repositories = await openFixture()
    for (const name of ['1', '2', '3', '4']) {
      await login(repositories, name, ROOT_TOKEN, { max: 3 })
      repositories.clock.advance(1)
    }
    await login(repositories, '5', ROOT_TOKEN, { max: 3, replaces: 'secret-4' })

    const alive = (await repositories.sessions.list({ limit: 9 })).data.map(session => session.id)

    assert.deepEqual(alive, ['ses_5', 'ses_3', 'ses_2'])
    assert.equal(await repositories.sessions.end('ses_5', OPERATOR), true)
    assert.equal(await repositories.sessions.end('ses_5', OPERATOR), false)
  })

  test(`${engine}: every change is an event with its operator, found by actor, action, subject and time`, async () => {
    await using repositories = await openFixture()
    await add(repositories, 'alice', 'viewer')
    repositories.clock.advance(1000)
    const later = repositories.clock.now()
    await login(repositories, 'alice', 'token-alice')
    repositories.clock.advance(1)
    await repositories.operators.rotate('op_alice', 'token-2', OPERATOR)
    const actions = async (filter: object) =>
      (await repositories.events.list({ limit: 99, ...filter })).data.map(event => event.action)

    assert.deepEqual(await actions({}), ['operator.rotate', 'session.create', 'operator.create'])
    assert.deepEqual(await actions({ action: 'operator' }), ['operator.rotate', 'operator.create'])
    assert.deepEqual(await actions({ action: 'operator.create' }), ['operator.create'])
    assert.deepEqual(await actions({ action: 'o%' }), [])
    assert.deepEqual(await actions({ actor: 'alice' }), ['session.create'])
    assert.deepEqual(await actions({ subject: 'ses_alice' }), ['session.create'])
    assert.deepEqual(await actions({ to: later }), ['operator.create'])
    assert.deepEqual(await actions({ from: later, to: later + 1 }), ['session.create'])
    const text = JSON.stringify((await repositories.events.list({ limit: 99 })).data)
    for (const secret of ['token-alice', 'token-2', 'secret-alice']) assert.ok(!text.includes(secret))
  })
}

async function operatorOf(repositories: Repositories, tokenHash: string) {
  return (await repositories.operators.bearers(['nobody', tokenHash]))[1]
}

async function sessionOf(repositories: Repositories, secretHash: string) {
  return (await repositories.sessions.bearers(['nobody', secretHash]))[1]
}

function add(repositories: Repositories, name: string, role: 'admin' | 'viewer') {
  return repositories.operators.create({ id: `op_${name}`, name, role, tokenHash: `token-${name}` }, 100, OPERATOR)
}

function login(
  repositories: Repositories,
  name: string,
  tokenHash: string,
  { max = 100, replaces }: { readonly max?: number; readonly replaces?: string } = {},
) {
  const input = { id: `ses_${name}`, secretHash: `secret-${name}`, tokenHash, address: '192.0.2.1', replaces }
  return repositories.sessions.open(input, max)
}
