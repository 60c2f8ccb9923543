// The contract of the catalog, settings and events, on every engine.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { DeclaredCatalog, DeclaredModel, ProvisionOrder } from '../../../src/store/contract/catalog.ts'
import { model, PRICES, provider } from '../../support/catalog.ts'
import { ENGINES, OPERATOR, openRepositories, type Repositories } from '../../support/engines.ts'

for (const { engine, open } of ENGINES) {
  test(`${engine}: a provisioned catalog is loaded back sorted by id, with exact prices`, async () => {
    await using repositories = await openRepositories(open)

    const stored = await provision(repositories, {
      providers: [provider('b'), provider('a')],
      models: [model('z'), model('B/m')],
    })

    assert.deepEqual(await repositories.catalog.load(), stored)
    assert.deepEqual(
      stored.providers.map(({ id }) => id),
      ['a', 'b'],
    )
    assert.deepEqual(
      stored.models.map(({ id }) => id),
      ['B/m', 'z'],
    )
    assert.equal(stored.models[0]?.prices.prompt, 123_456_789_012n)
    const { newPriceVersion, ...declared } = model('z')
    assert.deepEqual(stored.models[1], {
      ...declared,
      priceVersion: newPriceVersion,
      createdAt: repositories.clock.now(),
    })
  })

  test(`${engine}: a target's cost is stored exactly, and is not a price`, async () => {
    await using repositories = await openRepositories(open)
    const cost = { prompt: 1n, completion: 89_999_999n * 10n ** 18n + 1n, cacheRead: 0n, cacheWrite: 10n, request: 7n }
    const [silent] = model('m').targets
    const stating = { provider: 'b', model: 'm', priority: 1, weight: 1, cost }
    const before = await provision(repositories, { providers: [provider('a')], models: [model('m')] })

    const declared = model('m', { newPriceVersion: 'other', targets: [silent!, stating] })
    const stored = await provision(repositories, { providers: [provider('a')], models: [declared] })

    assert.deepEqual(stored.models[0]?.targets, [silent, stating])
    assert.deepEqual(await repositories.catalog.load(), stored)
    assert.equal(stored.models[0]?.priceVersion, before.models[0]?.priceVersion)
  })

  test(`${engine}: a price version changes only with the price, and every price is kept`, async () => {
    await using repositories = await openRepositories(open)
    const first = await provisionOne(model('m', { newPriceVersion: 'v1' }))
    repositories.clock.advance(1000)

    const renamed = await provisionOne(model('m', { newPriceVersion: 'v2', name: 'other' }))
    const pricier = await provisionOne(model('m', { newPriceVersion: 'v3', prices: { ...PRICES, completion: 5n } }))

    assert.deepEqual([first?.priceVersion, renamed?.priceVersion, pricier?.priceVersion], ['v1', 'v1', 'v3'])
    assert.deepEqual(
      [renamed?.name, renamed?.createdAt, pricier?.createdAt],
      ['other', first?.createdAt, first?.createdAt],
    )
    const kept = await repositories.sql.all("SELECT version FROM price WHERE model_id = 'm' ORDER BY version")
    assert.deepEqual(
      kept.map(row => row.version),
      ['v1', 'v3'],
    )

    async function provisionOne(declared: DeclaredModel) {
      return (await provision(repositories, { providers: [provider('a')], models: [declared] })).models[0]
    }
  })

  test(`${engine}: resources that are no longer declared become inactive, and return unchanged when declared again`, async () => {
    await using repositories = await openRepositories(open)
    const before = await provision(repositories, { providers: [provider('a')], models: [model('m')] })
    repositories.clock.advance(1000)

    const none = await provision(repositories, { providers: [], models: [] })
    const again = await provision(repositories, {
      providers: [provider('a')],
      models: [model('m', { newPriceVersion: 'x' })],
    })

    assert.deepEqual([none.providers, none.models], [[], []])
    assert.deepEqual({ ...again, revision: 0 }, { ...before, revision: 0 })
  })

  test(`${engine}: applying the same file twice leaves one event, and operators' additions stay theirs`, async () => {
    await using repositories = await openRepositories(open)
    await repositories.sql.run(`INSERT INTO provider (id, spec, provisioned, active) VALUES ('own', '{}', 0, 1)`)
    const declared = { providers: [provider('a')], models: [model('m')] }

    await provision(repositories, declared)
    const stored = await provision(repositories, declared)

    assert.deepEqual(
      stored.providers.map(({ id }) => id),
      ['a', 'own'],
    )
    assert.equal((await repositories.events.list({ limit: 9 })).data.length, 1)
  })

  test(`${engine}: a provision that fails midway changes nothing`, async () => {
    await using repositories = await openRepositories(open)
    const before = await provision(repositories, {
      providers: [provider('a')],
      models: [model('m', { newPriceVersion: 'v1' })],
    })
    const broken = model('m', { newPriceVersion: 'v1', prices: { ...PRICES, request: 9n } })

    await assert.rejects(provision(repositories, { providers: [provider('b')], models: [broken] }))

    assert.deepEqual(await repositories.catalog.load(), before)
  })

  test(`${engine}: a file superseded by a newer one is applied only on demand`, async () => {
    await using repositories = await openRepositories(open)
    const [old, next] = [
      { providers: [provider('old')], models: [] },
      { providers: [provider('next')], models: [] },
    ]
    const names = async (file: DeclaredCatalog, order: Partial<ProvisionOrder>) =>
      (await provision(repositories, file, order)).providers.map(({ id }) => id)

    assert.deepEqual(await names(old, { digest: '1' }), ['old'])
    assert.deepEqual(await names(old, { digest: '1' }), ['old'])
    assert.deepEqual(await names(next, { digest: '2' }), ['next'])
    assert.deepEqual(await names(old, { digest: '1' }), ['next'])
    assert.deepEqual(await names(old, { digest: '1', evenSuperseded: true, dryRun: true }), ['next'])
    assert.deepEqual(await names(old, { digest: '1' }), ['next'])
    assert.deepEqual(await names(old, { digest: '1', evenSuperseded: true }), ['old'])
    assert.deepEqual(await names(next, { digest: '2' }), ['old'])
    assert.deepEqual(await names(old, { digest: '1' }), ['old'])
  })

  test(`${engine}: a dry run reports the changes, with old and new prices, and changes nothing`, async () => {
    await using repositories = await openRepositories(open)
    const before = await provision(repositories, { providers: [provider('a'), provider('b')], models: [model('m')] })
    const wanted = {
      providers: [provider('a', { baseUrl: 'http://127.0.0.1:2/v1', maxTokensField: 'max_completion_tokens' })],
      models: [model('m', { newPriceVersion: 'v2', prices: { ...PRICES, completion: 2n } }), model('n')],
    }

    const said = await repositories.catalog.provision(wanted, { ...START, dryRun: true })

    assert.deepEqual(
      said.changes.map(({ what, id, change, fields }) => [what, id, change, fields]),
      [
        ['provider', 'a', 'changed', ['base_url', 'max_tokens_field']],
        ['provider', 'b', 'removed', []],
        ['model', 'm', 'changed', ['pricing']],
        ['model', 'n', 'added', []],
      ],
    )
    const { price } = said.changes[2]!
    assert.deepEqual([price?.before?.completion, price?.after.completion], ['0.000000000001', '0.000000000002'])
    assert.deepEqual(await repositories.catalog.load(), before)
    assert.equal((await repositories.events.list({ limit: 9 })).data.length, 1)
    assert.deepEqual(await repositories.catalog.provision(wanted, START), said)
  })

  test(`${engine}: a setting has its last written value`, async () => {
    await using repositories = await openRepositories(open)

    assert.equal(await repositories.settings.get('a'), undefined)
    await repositories.settings.set('a', '1')
    await repositories.settings.set('a', '2')
    assert.equal(await repositories.settings.get('a'), '2')
  })

  test(`${engine}: events are newest first and paged by id`, async () => {
    await using repositories = await openRepositories(open)
    for (const id of ['acct_1', 'acct_2', 'acct_3']) {
      await repositories.accounts.create({ id, name: id }, OPERATOR)
      repositories.clock.advance(1)
    }

    const first = await repositories.events.list({ limit: 2 })
    const second = await repositories.events.list({ limit: 2, after: first.data.at(-1)?.id })

    assert.deepEqual(
      [...first.data, ...second.data].map(event => event.subject),
      ['acct_3', 'acct_2', 'acct_1'],
    )
    assert.deepEqual([first.hasMore, second.hasMore], [true, false])
  })
}

const START = { digest: null, evenSuperseded: false, clashes: 'refuse', dryRun: false, actor: OPERATOR } as const

// The catalog in force after applying it.
async function provision({ catalog }: Repositories, declared: DeclaredCatalog, order: Partial<ProvisionOrder> = {}) {
  await catalog.provision(declared, { ...START, ...order })
  return catalog.load()
}
