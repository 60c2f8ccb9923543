// The contract of the catalog under concurrent writes between its own read and write, on every engine.
import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { sqlCatalog } from '../../../src/store/sql/catalog/catalog.ts'
import type { Sql, Tx } from '../../../src/store/sql/sql.ts'
import { model, provider } from '../../support/catalog.ts'
import { ENGINES, OPERATOR, openRepositories, type Repositories } from '../../support/engines.ts'

const CREDENTIAL = { providerId: 'a', id: 's1', ciphertext: 'encrypted', last4: 'abcd' }
const FILE = { digest: null, evenSuperseded: false, clashes: 'refuse', dryRun: false, actor: OPERATOR } as const

for (const { engine, open } of ENGINES) {
  test(`${engine}: a row that changes between read and write is not overwritten`, async () => {
    await using repositories = await openRepositories(open)
    await repositories.catalog.createProvider(
      { provider: provider('a'), entered: '{}', active: true, credentials: [] },
      9,
      OPERATOR,
    )
    const one = { model: model('m'), entered: '{}', active: true, basedOn: null }
    await repositories.catalog.saveModels([one], 9, OPERATOR)
    const late = sqlCatalog(overtaken(repositories.sql))
    const change = { provider: provider('a', { kind: 'cohere' }), entered: '{}', active: true, basedOn: 1 }

    assert.deepEqual(await late.updateProvider('a', change, OPERATOR), 'changed')
    assert.deepEqual(
      await late.addCredential(CREDENTIAL, { basedOn: await versionOf(repositories), max: 9 }, OPERATOR),
      'changed',
    )
    const unsaved = await late.saveModels([{ ...one, model: model('m', { name: 'x' }), basedOn: 1 }], 9, OPERATOR)
    assert.deepEqual('refused' in unsaved && unsaved.refused, 'changed')
    assert.deepEqual(await late.deleteModel('m', undefined, OPERATOR), 'changed')
    await assert.rejects(
      late.provision({ providers: [provider('a', { kind: 'cohere' })], models: [] }, FILE),
      /meanwhile|while/,
    )
    await repositories.catalog.deleteModel('m', undefined, OPERATOR)
    assert.deepEqual(await late.deleteProvider('a', undefined, OPERATOR), 'changed')

    const kept = await repositories.catalog.provider('a')
    assert.deepEqual(
      [kept?.provider.kind, kept?.provisioned, await repositories.catalog.credentials()],
      ['openai', false, []],
    )
  })

  test(`${engine}: the catalog is read as of one moment`, async () => {
    await using repositories = await openRepositories(open)
    const outside = async () => assert.fail('outside of a transaction')

    const catalog = sqlCatalog({ ...repositories.sql, all: outside, get: outside })

    assert.deepEqual((await catalog.load()).providers, [])
  })
}

test('a counter in an upsert is qualified with its table, as Postgres requires', () => {
  const folder = join(import.meta.dirname, '../../../src/store/sql')
  for (const name of globSync('**/*.ts', { cwd: folder })) {
    const text = readFileSync(join(folder, name), 'utf8')
    for (const [statement] of text.matchAll(/ON CONFLICT[^`]*/g)) {
      assert.doesNotMatch(statement, /(?<![\w.])(\w+) = \1\b(?!\.)/, `${name}: ${statement}`)
    }
  }
})

// A concurrent change is committed after each read of a row or a list.
function overtaken(sql: Sql): Sql {
  const raise = async (tx: Tx, text: string) => {
    const table = /FROM (provider|model)\b/.exec(text)?.[1]
    if (table !== undefined) await tx.run(`UPDATE ${table} SET version = version + 1`)
  }
  return {
    ...sql,
    transaction: work =>
      sql.transaction(tx =>
        work({
          ...tx,
          async get(text, params) {
            const row = await tx.get(text, params)
            await raise(tx, text)
            return row
          },
          async all(text, params) {
            const rows = await tx.all(text, params)
            await raise(tx, text)
            return rows
          },
        }),
      ),
  }
}

async function versionOf({ catalog }: Repositories): Promise<number> {
  return (await catalog.provider('a'))?.version ?? 0
}
