// The contract of catalog edits by operators, on every engine.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Provider } from '../../../src/domain/catalog.ts'
import type { DeclaredCatalog, DeclaredModel, ModelSave } from '../../../src/store/contract/catalog.ts'
import { model, PRICES, provider } from '../../support/catalog.ts'
import { ENGINES, OPERATOR, openRepositories, type Repositories } from '../../support/engines.ts'

for (const { engine, open } of ENGINES) {
  test(`${engine}: an operator's addition is in force, survives every applied file, and is gone when deleted`, async () => {
    await using repositories = await openRepositories(open)
    await add(repositories, provider('own'))
    await save(repositories, model('own/m', { targets: [targetAt('own')] }))

    await provision(repositories, { providers: [provider('a')], models: [model('m')] })
    await provision(repositories, { providers: [], models: [] })
    const { providers, models, provisioned } = await repositories.catalog.load()
    const early = await repositories.catalog.deleteProvider('own', undefined, OPERATOR)
    await repositories.catalog.deleteModel('own/m', undefined, OPERATOR)
    const late = await repositories.catalog.deleteProvider('own', undefined, OPERATOR)

    assert.deepEqual([ids(providers), ids(models), provisioned], [['own'], ['own/m'], []])
    assert.deepEqual([early, late], [{ usedBy: ['own/m'] }, 'deleted'])
    assert.deepEqual(ids((await repositories.catalog.load()).providers), [])
    assert.equal(await repositories.catalog.deleteProvider('own', undefined, OPERATOR), undefined)
    assert.equal(await repositories.catalog.deleteModel('own/m', undefined, OPERATOR), undefined)
  })

  test(`${engine}: every change increments the catalog's revision, and an empty change does not`, async () => {
    await using repositories = await openRepositories(open)
    const { catalog } = repositories
    const declared = { providers: [provider('a')], models: [model('m')] }
    const file = { evenSuperseded: false, clashes: 'refuse', dryRun: false, actor: OPERATOR } as const
    const changes: readonly (readonly [string, () => Promise<unknown>])[] = [
      ['create a provider', () => add(repositories, provider('own'), ['s1'])],
      ['update it', () => update(repositories, provider('own', { passthrough: ['x'] }))],
      ['add a credential', () => catalog.addCredential(credential('own', 's2'), { basedOn: 2, max: 9 }, OPERATOR)],
      ['remove one', () => catalog.removeCredential('own', 's1', OPERATOR)],
      ['save a model', () => save(repositories, model('own/m', { targets: [targetAt('own')] }))],
      ['delete it', () => catalog.deleteModel('own/m', undefined, OPERATOR)],
      ['delete the provider', () => catalog.deleteProvider('own', undefined, OPERATOR)],
      ['apply a file', () => catalog.provision(declared, { ...file, digest: 'one' })],
      ['apply one that differs in its credentials only', () => catalog.provision(declared, { ...file, digest: 'two' })],
    ]

    for (const [what, change] of changes) {
      const before = (await catalog.load()).revision
      await change()
      assert.ok((await catalog.load()).revision > before, what)
    }

    const { revision, digest } = await catalog.load()
    assert.equal(digest, 'two')
    await catalog.provision(declared, { ...file, digest: 'two' })
    await catalog.provision({ providers: [], models: [] }, { ...file, digest: 'three', dryRun: true })
    await catalog.provision({ providers: [], models: [] }, { ...file, digest: 'one' })
    await catalog.saveModels([saved(model('m'))], 99, OPERATOR)
    assert.deepEqual([(await catalog.load()).revision, (await catalog.load()).digest], [revision, 'two'])
  })

  test(`${engine}: resources declared by a file cannot be changed, deleted or given a credential`, async () => {
    await using repositories = await openRepositories(open)
    await provision(repositories, { providers: [provider('a')], models: [model('m')] })
    const { catalog } = repositories
    const change = { provider: provider('a'), entered: '{}', active: true, basedOn: 1 }

    assert.equal(await catalog.createProvider(newOne(provider('a')), 99, OPERATOR), 'exists')
    assert.equal(await catalog.updateProvider('a', change, OPERATOR), 'provisioned')
    assert.equal(await catalog.deleteProvider('a', undefined, OPERATOR), 'provisioned')
    assert.equal(await catalog.addCredential(credential('a', '1'), { basedOn: 1, max: 9 }, OPERATOR), 'provisioned')
    assert.deepEqual(await catalog.saveModels([saved(model('m'))], 99, OPERATOR), refused('m', 'exists'))
    assert.deepEqual(await catalog.saveModels([saved(model('m'), 1)], 99, OPERATOR), refused('m', 'provisioned'))
    assert.equal(await catalog.deleteModel('m', undefined, OPERATOR), 'provisioned')
  })

  test(`${engine}: operators may take over what a file no longer declares, and a file takes over what it declares`, async () => {
    await using repositories = await openRepositories(open)
    const file = { providers: [provider('a')], models: [model('m')] }
    await provision(repositories, file)
    await provision(repositories, { providers: [], models: [] })

    await add(repositories, provider('a', { maxTokensField: 'max_completion_tokens' }), ['s1'])
    await save(repositories, model('m', { name: 'taken over' }))
    const taken = await repositories.catalog.load()
    await provision(repositories, file)
    const back = await repositories.catalog.load()

    assert.deepEqual([taken.provisioned, taken.credentials.length, taken.models[0]?.name], [[], 1, 'taken over'])
    // The file brings its own credentials.
    assert.deepEqual([back.provisioned, back.credentials.length, back.models[0]?.name], [['a'], 0, 'm'])
    assert.deepEqual(await repositories.catalog.credentials(), [])
  })

  test(`${engine}: a file may not use the name of an operator's model; the name is refused or skipped`, async () => {
    await using repositories = await openRepositories(open)
    const { catalog } = repositories
    await add(repositories, provider('own'))
    await save(repositories, model('own/m', { aliases: ['mine'], targets: [targetAt('own')] }))
    const file = {
      providers: [provider('a')],
      models: [model('m', { aliases: ['x', 'own/m', 'mine'] }), model('mine', { aliases: [] })],
    }
    const order = { digest: '1', evenSuperseded: false, dryRun: false, actor: OPERATOR }

    const refused = await catalog.provision(file, { ...order, clashes: 'refuse' })
    const untouched = await catalog.load()
    const left = await catalog.provision(file, { ...order, clashes: 'leave_out' })
    const { models } = await catalog.load()

    assert.deepEqual([ids(untouched.providers), ids(untouched.models)], [['own'], ['own/m']])
    assert.deepEqual(
      refused.clashes.map(({ model, name, owner }) => [model, name, owner]),
      [
        ['m', 'own/m', 'own/m'],
        ['m', 'mine', 'own/m'],
        ['mine', 'mine', 'own/m'],
      ],
    )
    assert.deepEqual(left.clashes, refused.clashes)
    assert.deepEqual(
      models.map(({ id, aliases }) => [id, aliases]),
      [
        ['m', ['x']],
        ['own/m', ['mine']],
      ],
    )
  })

  test(`${engine}: a change based on an old version is refused, and the newer one stays`, async () => {
    await using repositories = await openRepositories(open)
    const { catalog } = repositories
    await add(repositories, provider('own'))
    const [made] = await save(repositories, model('m', { targets: [targetAt('own')] }))
    const renamed = model('m', { name: 'first', targets: [targetAt('own')] })

    const first = await catalog.saveModels([saved(renamed, made?.version)], 99, OPERATOR)
    const second = await catalog.saveModels([saved({ ...renamed, name: 'second' }, made?.version)], 99, OPERATOR)
    const change = { entered: '{}', active: true, basedOn: 1 }
    const updates = [
      await catalog.updateProvider('own', { ...change, provider: provider('own', { passthrough: ['x'] }) }, OPERATOR),
      await catalog.updateProvider('own', { ...change, provider: provider('own', { passthrough: ['y'] }) }, OPERATOR),
    ]

    assert.ok(Array.isArray(first))
    assert.deepEqual(second, refused('m', 'changed'))
    assert.equal((await catalog.model('m'))?.model.name, 'first')
    assert.equal(updates[1], 'changed')
    assert.deepEqual((await catalog.provider('own'))?.provider.passthrough, ['x'])
    assert.equal(await catalog.deleteModel('m', 1, OPERATOR), 'changed')
    assert.equal(await catalog.deleteProvider('own', 1, OPERATOR), 'changed')
  })

  test(`${engine}: another kind, address or setting deletes the credentials in the same transaction`, async () => {
    const changes: readonly Partial<Provider>[] = [
      { kind: 'anthropic' },
      { baseUrl: 'https://elsewhere.example/v1' },
      { settings: { region: 'other' } },
    ]
    for (const change of changes) {
      await using repositories = await openRepositories(open)
      await add(repositories, provider('own'), ['s1', 's2'])

      await update(repositories, provider('own', { passthrough: ['x'] }))
      const kept = await repositories.catalog.credentials()
      repositories.clock.advance(1)
      await update(repositories, provider('own', change))

      assert.deepEqual([kept.length, (await repositories.catalog.credentials()).length], [2, 0], JSON.stringify(change))
      const [last] = (await repositories.events.list({ limit: 1 })).data
      assert.equal(JSON.parse(last?.detail ?? '{}').credentialsForgotten, 2)
    }
  })

  test(`${engine}: credentials are added, listed without their secret, limited in number, removed and re-encrypted`, async () => {
    await using repositories = await openRepositories(open)
    const { catalog } = repositories
    await add(repositories, provider('own'), ['s1'])

    const two = await catalog.addCredential(credential('own', 's2'), { basedOn: 1, max: 2 }, OPERATOR)
    const three = await catalog.addCredential(credential('own', 's3'), { basedOn: 2, max: 2 }, OPERATOR)
    const { ciphertext: before } = credential('own', 's1')
    await catalog.replaceCredentials([
      { providerId: 'own', id: 's1', ciphertext: 'new', before },
      { providerId: 'own', id: 's2', ciphertext: 'too late', before: 'of another key' },
    ])
    const all = await catalog.credentials()
    const one = await catalog.removeCredential('own', 's2', OPERATOR)

    assert.ok(typeof two === 'object')
    assert.deepEqual(
      two.credentials.map(each => Object.keys(each)),
      [
        ['id', 'last4', 'createdAt'],
        ['id', 'last4', 'createdAt'],
      ],
    )
    assert.equal(three, 'too_many')
    assert.deepEqual(
      all.map(each => [each.id, each.ciphertext]),
      [
        ['s1', 'new'],
        ['s2', 'encrypted-s2'],
      ],
    )
    assert.deepEqual(
      one?.credentials.map(({ id }) => id),
      ['s1'],
    )
    assert.equal(await catalog.removeCredential('own', 's2', OPERATOR), undefined)
    assert.equal(await catalog.addCredential(credential('nobody', 's9'), { basedOn: 1, max: 2 }, OPERATOR), undefined)
  })

  test(`${engine}: several models are saved together or not at all`, async () => {
    await using repositories = await openRepositories(open)
    await add(repositories, provider('a'))
    await save(repositories, model('m'))
    const fine = saved(model('n'))
    const bad: readonly (readonly [ModelSave, object])[] = [
      [saved(model('m')), refused('m', 'exists')],
      [saved(model('o', { aliases: ['m'] })), refused('o', 'name', 'm')],
      [saved(model('o', { aliases: ['alias-m'] })), refused('o', 'name', 'alias-m')],
      [saved(model('alias-m', { aliases: [] })), refused('alias-m', 'name', 'alias-m')],
      [saved(model('o', { targets: [targetAt('gone')] })), refused('o', 'provider', 'gone')],
      [saved(model('o'), 1), refused('o', 'unknown')],
      [saved(model('n')), refused('n', 'exists')],
    ]
    const tooMany = await repositories.catalog.saveModels([fine, saved(model('o'))], 2, OPERATOR)
    assert.deepEqual(tooMany, refused('o', 'too_many'))

    for (const [one, why] of bad)
      assert.deepEqual(await repositories.catalog.saveModels([fine, one], 99, OPERATOR), why)

    assert.deepEqual(ids((await repositories.catalog.load()).models), ['m'])
    assert.equal(await repositories.catalog.createProvider(newOne(provider('b')), 1, OPERATOR), 'too_many')
  })

  test(`${engine}: an operator's price has versions too, and an inactive model is not in force`, async () => {
    await using repositories = await openRepositories(open)
    const { catalog } = repositories
    await add(repositories, provider('a'))
    await save(repositories, model('m', { newPriceVersion: 'v1' }))

    const renamed = await catalog.saveModels([saved(model('m', { newPriceVersion: 'v2', name: 'x' }), 1)], 99, OPERATOR)
    const prices = { ...PRICES, request: 5n }
    const pricier = await catalog.saveModels([saved(model('m', { newPriceVersion: 'v3', prices }), 2)], 99, OPERATOR)
    const off = { ...saved(model('m', { newPriceVersion: 'v4', prices }), 3), active: false }
    await catalog.saveModels([off], 99, OPERATOR)

    assert.deepEqual([versionOf(renamed), versionOf(pricier)], ['v1', 'v3'])
    assert.deepEqual((await catalog.load()).models, [])
    assert.equal((await catalog.model('m'))?.model.priceVersion, 'v3')
    const kept = await repositories.sql.all("SELECT version FROM price WHERE model_id = 'm' ORDER BY version")
    assert.deepEqual(
      kept.map(row => row.version),
      ['v1', 'v3'],
    )
  })

  test(`${engine}: lists are sorted by id and paged`, async () => {
    await using repositories = await openRepositories(open)
    await provision(repositories, {
      providers: [provider('a'), provider('b'), provider('c')],
      models: [model('x'), model('y')],
    })

    const first = await repositories.catalog.providers({ limit: 2 })
    const second = await repositories.catalog.providers({ limit: 2, after: 'b' })
    const models = await repositories.catalog.models({ limit: 1 })

    assert.deepEqual([first.data.map(each => each.provider.id), first.hasMore], [['a', 'b'], true])
    assert.deepEqual([second.data.map(each => each.provider.id), second.hasMore], [['c'], false])
    assert.deepEqual([models.data.map(each => each.model.id), models.hasMore], [['x'], true])
  })
}

for (const { engine, open } of ENGINES) {
  test(`${engine}: at most as many targets as allowed are disabled, and a provider takes its own with it`, async () => {
    await using repositories = await openRepositories(open)
    const { catalog } = repositories
    for (const id of ['a', 'b']) await add(repositories, provider(id))
    const disable = (providerId: string, name: string, disabled = true) =>
      catalog.setTargetDisabled({ providerId, model: name }, disabled, 2, OPERATOR)
    const disabledAt = async (providerId?: string) =>
      (await catalog.disabledTargets(providerId)).map(each => `${each.providerId} ${each.model}`)

    assert.deepEqual([await disable('a', 'm1'), await disable('b', 'm1')], ['done', 'done'])
    assert.equal(await disable('a', 'm2'), 'too_many')
    assert.equal(await disable('a', 'm1'), 'done', 'it is disabled already')
    assert.equal(await disable('nobody', 'm1'), undefined)
    assert.deepEqual([await disabledAt(), await disabledAt('b')], [['a m1', 'b m1'], ['b m1']])

    assert.equal(await catalog.deleteProvider('b', undefined, OPERATOR), 'deleted')
    assert.deepEqual(await disabledAt(), ['a m1'])
    assert.deepEqual([await disable('a', 'm2'), await disable('a', 'm2', false)], ['done', 'done'])
    assert.equal(await disable('a', 'm2', false), 'done')
    assert.deepEqual(
      (await repositories.events.list({ limit: 9, action: 'target' })).data.map(({ action }) => action).sort(),
      ['target.disable', 'target.disable', 'target.disable', 'target.enable'],
    )
  })
}

function versionOf(answer: Awaited<ReturnType<Repositories['catalog']['saveModels']>>): string | undefined {
  return 'refused' in answer ? undefined : answer[0]?.model.priceVersion
}

function ids(list: readonly { readonly id: string }[]): readonly string[] {
  return list.map(({ id }) => id)
}

function targetAt(providerId: string) {
  return { provider: providerId, model: 'm', priority: 0, weight: 1 }
}

function credential(providerId: string, id: string) {
  return { providerId, id, ciphertext: `encrypted-${id}`, last4: 'abcd' }
}

function newOne(one: Provider, credentials: readonly string[] = []) {
  return { provider: one, entered: '{}', active: true, credentials: credentials.map(id => credential(one.id, id)) }
}

function saved(one: DeclaredModel, basedOn: number | null = null): ModelSave {
  return { model: one, entered: '{}', active: true, basedOn }
}

function refused(id: string, why: string, which = id) {
  return { id, refused: why, which }
}

async function add({ catalog }: Repositories, one: Provider, credentials: readonly string[] = []): Promise<void> {
  assert.notEqual(await catalog.createProvider(newOne(one, credentials), 99, OPERATOR), 'exists')
}

async function update({ catalog }: Repositories, one: Provider): Promise<void> {
  const { version = 0 } = (await catalog.provider(one.id)) ?? {}
  const change = { provider: one, entered: '{}', active: true, basedOn: version }
  assert.equal(typeof (await catalog.updateProvider(one.id, change, OPERATOR)), 'object')
}

async function save({ catalog }: Repositories, one: DeclaredModel) {
  const done = await catalog.saveModels([saved(one)], 99, OPERATOR)
  return 'refused' in done ? assert.fail(JSON.stringify(done)) : done
}

async function provision({ catalog }: Repositories, declared: DeclaredCatalog): Promise<void> {
  await catalog.provision(declared, {
    digest: null,
    evenSuperseded: false,
    clashes: 'refuse',
    dryRun: false,
    actor: OPERATOR,
  })
}
