// Four nodes that start at once on an empty database: each serves, and what is made once is there once.
import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { test } from 'node:test'
import pg from 'pg'
import { type Gateway, standardConfig } from '../kit/gateway.ts'
import { type Nodes, startNodes } from '../kit/nodes.ts'
import { hasPostgres } from '../kit/postgres.ts'
import { startUpstream } from '../kit/upstream.ts'

if (hasPostgres()) {
  test('of four nodes that make a first start at once, one makes an account with credits and a key, and shows it', async () => {
    await using nodes = await startNodes(4)

    const secrets = nodes.all.flatMap(node => node.lines).flatMap(line => /First key +(\S+)/.exec(line)?.[1] ?? [])
    assert.equal(secrets.length, 1)
    for (const node of nodes.all) {
      assert.equal((await node.chat({ model: 'demo/echo' }, { key: secrets[0]! })).status, 200)
    }
    const files = readdirSync(new URL('../../src/store/migrations-postgres/', import.meta.url))
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

  test('of four nodes that start at once with the same file, one applies it, and all serve what it declares', async () => {
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
}

function complaints(nodes: readonly Gateway[]): readonly unknown[] {
  const isMeant = (line: { readonly msg?: unknown }) => String(line.msg).startsWith('REDIS_URL is not set')
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
