// Four nodes that start at once on an empty database: each serves, and everything is created once.
import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { test } from 'node:test'
import pg from 'pg'
import { lockOf } from '../../../../src/store/postgres/sql.ts'
import { temporaryFolder } from '../../../support/folder.ts'
import { ADMIN_TOKEN, type Gateway, standardConfig } from '../../../support/gateway.ts'
import { runProcess } from '../../../support/gateway-process.ts'
import { type Answer, httpCall } from '../../../support/http-call.ts'
import { type Nodes, startNodes } from '../../../support/nodes.ts'
import { hasPostgres } from '../../../support/postgres.ts'
import { until } from '../../../support/until.ts'
import { startUpstream } from '../../../support/upstream.ts'

if (hasPostgres()) {
  test('of four nodes on a concurrent first start one creates and shows the account and key', async () => {
    await using nodes = await startNodes(4)

    const secrets = nodes.all.flatMap(node => node.lines).flatMap(line => /First key +(\S+)/.exec(line)?.[1] ?? [])
    assert.equal(secrets.length, 1)
    for (const node of nodes.all) {
      assert.equal((await node.chat({ model: 'demo/echo' }, { key: secrets[0]! })).status, 200)
    }
    const files = readdirSync(new URL('../../../../src/store/postgres/migrations-postgres/', import.meta.url))
    assert.deepEqual(
      await counts(nodes, {
        migrations: 'SELECT COUNT(*) FROM turnpike_schema',
        accounts: 'SELECT COUNT(*) FROM account',
        keys: 'SELECT COUNT(*) FROM api_key',
        topups: "SELECT COUNT(*) FROM ledger WHERE kind = 'topup'",
        provisioned: "SELECT COUNT(*) FROM event WHERE action = 'catalog.provision'",
      }),
      { migrations: files.length, accounts: 1, keys: 1, topups: 1, provisioned: 1 },
    )
  })

  test('a failed start leaves no node in the list', async () => {
    await using nodes = await startNodes(1)
    const [first] = nodes.all
    const env = {
      ...first?.storeEnv,
      TURNPIKE_ADMIN_TOKEN: ADMIN_TOKEN,
      TURNPIKE_ENCRYPTION_KEY: 'ab'.repeat(32),
      TURNPIKE_PORT: String(first?.port),
    }
    await using folder = await temporaryFolder()

    const { code, stderr } = await runProcess(['serve'], folder.path, env)

    assert.equal(code, 2, stderr)
    assert.match(stderr, /is in use by another process/)
    assert.deepEqual(await counts(nodes, { nodes: 'SELECT COUNT(*) FROM node' }), { nodes: 1 })
  })

  test('of four nodes that start concurrently with the same file one applies it, and all serve it', async () => {
    await using upstream = await startUpstream()
    await using nodes = await startNodes(4, { config: standardConfig(upstream.url) })
    const key = await nodes.all[0]!.createKey()

    const answers = await Promise.all(nodes.all.map(node => node.chat({}, { key: key.secret })))

    assert.deepEqual(
      answers.map(({ status }) => status),
      [200, 200, 200, 200],
    )
    assert.deepEqual(complaints(nodes.all), [])
    assert.deepEqual(
      await counts(nodes, {
        files: 'SELECT COUNT(*) FROM applied_file',
        prices: 'SELECT COUNT(*) FROM price',
        provisioned: "SELECT COUNT(*) FROM event WHERE action = 'catalog.provision'",
      }),
      { files: 1, prices: 1, provisioned: 1 },
    )
  })

  test('a starting node answers 503, never 401, to an admin token or a session', async () => {
    await using nodes = await startNodes(1)
    const opened = await fetch(`${nodes.all[0]!.url}/admin/v1/session`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ token: ADMIN_TOKEN }),
    })
    const cookie = opened.headers.getSetCookie()[0]?.split(';')[0] ?? ''
    await using turn = await takeTurn(nodes)
    const node = await nodes.start({ awaitReady: false })
    const ask = (headers: Readonly<Record<string, string>>) => httpCall(`${node.url}/admin/v1/session`, { headers })
    const asToken = () => node.admin('GET', '/keys')
    const signIn = (token: string) => httpCall(`${node.url}/admin/v1/session`, { body: { token } })

    const early: Answer[] = []
    const firstAnswer = async () => {
      early.push(
        ...(await asToken().then(
          answer => [answer],
          () => [],
        )),
      )
      return early.length > 0
    }
    await until('it listens', firstAnswer, 30_000)
    early.push(...(await Promise.all([asToken(), ask({ cookie }), signIn(ADMIN_TOKEN), signIn('wrong')])))
    // More than the allowed failures of an address.
    for (let i = 0; i < 25; i++) early.push(await ask({ authorization: 'Bearer wrong' }))
    await turn.give()
    await until('it is ready', async () => (await node.get('/ready')).status === 200, 30_000)

    for (const { status, headers, body } of early) {
      assert.deepEqual([status, headers['retry-after'], body.error?.code], [503, '1', 'service_unavailable'])
    }
    assert.equal((await asToken()).status, 200)
    assert.equal((await ask({ cookie })).status, 200)
    assert.equal((await ask({ authorization: 'Bearer wrong' })).status, 401)
  })
}

// Nodes start one at a time: the one that has the lock keeps the others waiting with their listeners open.
async function takeTurn({ url }: Nodes): Promise<AsyncDisposable & { give(): Promise<void> }> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  await client.query('BEGIN')
  await client.query(`SELECT pg_advisory_xact_lock(${lockOf('turn')})`)
  let isGiven = false
  const give = async () => {
    if (isGiven) return
    isGiven = true
    await client.end()
  }
  return { give, [Symbol.asyncDispose]: give }
}

function complaints(nodes: readonly Gateway[]): readonly unknown[] {
  // Without Redis, and on a server that need not be durable.
  const isMeant = (line: { readonly msg?: unknown }) =>
    /^REDIS_URL is not set|TURNPIKE_ALLOW_UNSAFE_DATABASE/.test(String(line.msg))
  return nodes.flatMap(node => node.logs.filter(line => String(line.level) !== 'info' && !isMeant(line)))
}

async function counts({ url }: Nodes, asked: Readonly<Record<string, string>>): Promise<Record<string, number>> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  const found: Record<string, number> = {}
  for (const [name, text] of Object.entries(asked)) found[name] = Number((await client.query(text)).rows[0].count)
  await client.end()
  return found
}
