// Cluster changes while the database is unavailable; and the single node of the embedded store.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import pg from 'pg'
import { cli } from '../../../support/cli.ts'
import { ENCRYPTION_KEY, type Gateway, standardConfig, startGateway } from '../../../support/gateway.ts'
import { hasPostgres, startServer } from '../../../support/postgres.ts'
import { standardModel } from '../../../support/standard-config.ts'
import { until } from '../../../support/until.ts'
import { startUpstream } from '../../../support/upstream.ts'

type NodeList = { readonly data: readonly { readonly name: string; readonly state: string; readonly self: boolean }[] }

test('on SQLite the list of nodes has one entry with the configured name', async () => {
  await using gateway = await startGateway({ env: { TURNPIKE_NODE_NAME: 'gw-7' } })

  const { data } = (await gateway.admin<NodeList>('GET', '/nodes')).body
  const printed = await cli(gateway, ['nodes'])

  assert.deepEqual(
    data.map(node => [node.name, node.state, node.self]),
    [['gw-7', 'alive', true]],
  )
  assert.match(printed.stdout, /\tgw-7\t/)
  assert.equal((await gateway.admin('GET', '/nodes?x=1')).status, 400)
})

if (hasPostgres()) {
  test('an unavailable database is logged once, the gateway keeps running, and later changes take effect', async () => {
    const postgres = await startServer()
    await using upstream = await startUpstream()
    const env = { DATABASE_URL: postgres.url, TURNPIKE_ENCRYPTION_KEY: ENCRYPTION_KEY }
    const start = () => startGateway({ config: standardConfig(upstream.url), env })
    await using first = await start()
    await using second = await start()
    const said = (node: Gateway, words: RegExp) => node.logs.filter(line => words.test(String(line.msg))).length

    await postgres.stop()
    await until('it is noticed', () => said(first, /cannot poll cluster changes/) > 0)
    await new Promise(resolve => setTimeout(resolve, 1500))
    await postgres.start()
    await until('it is available again', () => said(first, /polling cluster changes again/) === 1, 20_000)
    await until('both are ready', async () => (await second.get('/ready')).status === 200, 20_000)
    const model = standardModel({ id: 'late/m1' })
    assert.equal((await second.admin('POST', '/models', model)).status, 201)
    await new Promise(resolve => setTimeout(resolve, 1000))

    assert.equal(said(first, /cannot poll cluster changes/), 1)
    assert.equal((await first.chat({ model: 'late/m1' })).status, 200)
    assert.ok((await first.audit()).ok)
  })

  test('a node with a read-only database is not ready until it can write', async () => {
    const postgres = await startServer()
    await using upstream = await startUpstream()
    const env = { DATABASE_URL: postgres.url, TURNPIKE_ENCRYPTION_KEY: 'ab'.repeat(32) }
    await using gateway = await startGateway({ config: standardConfig(upstream.url), env })
    assert.equal((await gateway.chat()).status, 200)
    await setReadOnly(postgres.url, 'on')
    await until('chat is refused', async () => (await gateway.chat()).status === 503)

    const away = await gateway.get('/ready')
    await setReadOnly(postgres.url, 'off')
    await until('chat is served', async () => (await gateway.chat()).status === 200)
    const back = await gateway.get('/ready')

    assert.deepEqual([away.status, away.body.status, back.status], [503, 'not_ready', 200])
    assert.ok((await gateway.audit()).ok)
  })
}

async function setReadOnly(url: string, value: 'on' | 'off'): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    await client.query('SET default_transaction_read_only = off')
    await client.query(`ALTER SYSTEM SET default_transaction_read_only = ${value}`)
    await client.query('SELECT pg_reload_conf()')
  } finally {
    await client.end()
  }
}
