// The contract of the catalog in the admin API, over real HTTP on the real store. A credit is a cent here, and the
// markup is 25 % (see test/support).
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Compile } from 'typebox/compile'
import { AT_PAR } from '../../../src/domain/dollars.ts'
import type { Endpoint } from '../../../src/http/admin/endpoint-table.ts'
import { ADMIN } from '../../../src/http/admin/schemas.ts'
import { openAdminFixture } from '../../support/admin-fixture.ts'
import { model, provider } from '../../support/catalog.ts'
import { OPERATOR } from '../../support/engines.ts'

// A public address that is never called.
const ACME = { id: 'acme', kind: 'openai', base_url: 'https://1.1.1.1/v1' }
const SECRET = 'sk-canary-0123456789abcdef-Xy7z'
const M1 = {
  id: 'acme/m1',
  context_length: 1000,
  max_output_tokens: 100,
  pricing: { prompt: '0.000001', completion: '0.000002' },
  targets: [{ provider: 'acme', model: 'm1' }],
}

type Fixture = Awaited<ReturnType<typeof openAdminFixture>>

test('a provider is created, changed, made inactive and deleted, and each change takes effect at once', async () => {
  await using fixture = await openAdminFixture()

  const made = await fixture.call('POST', '/providers', { ...ACME, timeouts: { connect: 2 } })
  const changed = await fixture.call('PATCH', '/providers/acme', { passthrough: ['mood'], timeouts: null })
  const off = await fixture.call('PATCH', '/providers/acme', { status: 'inactive' })
  const read = await fixture.call('GET', '/providers/acme')
  const listed = await fixture.call('GET', '/providers')
  const gone = await fixture.call('DELETE', '/providers/acme')

  assert.deepEqual([made.status, changed.status, off.status, read.status, gone.status], [201, 200, 200, 200, 200])
  assert.deepEqual([made.body.timeouts.connect, made.body.provisioned, made.body.status], [2, false, 'active'])
  assert.deepEqual([changed.body.passthrough, changed.body.timeouts.connect], [['mood'], 5])
  assert.deepEqual([read.body.status, read.body.version, read.body.passthrough], ['inactive', 3, ['mood']])
  assert.deepEqual(listed.body.data, [read.body])
  assert.deepEqual(gone.body, { object: 'provider', id: 'acme', deleted: true })
  assert.equal((await fixture.call('GET', '/providers/acme')).status, 404)
  assert.equal(fixture.refreshed.length, 4)
  assertShape(ADMIN.createProvider, made.body)
  assertShape(ADMIN.listProviders, listed.body)
  assertShape(ADMIN.deleteProvider, gone.body)
})

test('a submitted secret is encrypted in its row and appears in no response and no event', async () => {
  await using fixture = await openAdminFixture()

  const made = await fixture.call('POST', '/providers', { ...ACME, api_key: SECRET })
  const added = await fixture.call('POST', '/providers/acme/credentials', { api_key: `${SECRET}2` })
  const short = await fixture.call('POST', '/providers/acme/credentials', { api_key: 'short' })
  const [first, second] = short.body.credentials
  const removed = await fixture.call('DELETE', `/providers/acme/credentials/${second.id}`)
  const again = await fixture.call('DELETE', `/providers/acme/credentials/${second.id}`)
  const events = await fixture.call('GET', '/events')

  assert.deepEqual([made.status, added.status, removed.status, again.status], [201, 201, 200, 404])
  assert.deepEqual(
    short.body.credentials.map(({ last4, state }: { last4: string; state: string }) => [last4, state]),
    [
      ['Xy7z', 'active'],
      ['y7z2', 'active'],
      ['', 'active'],
    ],
  )
  for (const { text } of [made, added, short, removed, events, await fixture.call('GET', '/providers')]) {
    assert.ok(!text.includes(SECRET) && !text.includes('ciphertext'))
  }
  const everything = JSON.stringify(await fixture.repositories.sql.all('SELECT spec, entered FROM provider'))
  assert.ok(!everything.includes(SECRET))
  const [row] = (await fixture.repositories.catalog.credentials()).filter(({ id }) => id === first.id)
  assert.equal(fixture.encryption.decrypt(row?.ciphertext ?? '', ['acme', first.id]), SECRET)
  assertShape(ADMIN.addCredential, added.body)
})

test('a new address deletes the credentials, and a PATCH cannot set a secret', async () => {
  await using fixture = await openAdminFixture()
  await fixture.call('POST', '/providers', { ...ACME, api_key: SECRET })

  const slipped = await fixture.call('PATCH', '/providers/acme', { api_key: SECRET })
  const moved = await fixture.call('PATCH', '/providers/acme', { base_url: 'https://8.8.8.8/v1' })

  assert.deepEqual([slipped.status, slipped.body.error.param], [400, 'api_key'])
  assert.deepEqual([moved.status, moved.body.credentials], [200, []])
  assert.deepEqual(await fixture.repositories.catalog.credentials(), [])
})

test('addresses that are not public are refused by field when saved, in every notation', async () => {
  await using fixture = await openAdminFixture()
  await fixture.call('POST', '/providers', ACME)
  const hosts = ['127.0.0.1', 'localhost', '0.0.0.0', '2130706433', '0x7f.1', '0177.1', '10.1.2.3', '169.254.169.254']
  const more = [
    '100.64.0.1',
    '[::1]',
    '[::ffff:10.0.0.1]',
    '[64:ff9b::a00:1]',
    '[2002:a00:1::]',
    '[fd00::1]',
    'no-such.invalid',
  ]

  for (const host of [...hosts, ...more]) {
    const url = `http://${host}:9/v1`
    const created = await fixture.call('POST', '/providers', { id: 'x', kind: 'openai', base_url: url })
    const changed = await fixture.call('PATCH', '/providers/acme', { base_url: url })
    for (const { status, body } of [created, changed]) {
      assert.deepEqual([status, body.error.code, body.error.param], [400, 'invalid_value', 'base_url'], host)
      assert.match(body.error.message, /allow_private_upstreams/)
    }
  }
  assert.equal((await fixture.call('GET', '/providers/x')).status, 404)
  assert.equal((await fixture.repositories.catalog.provider('acme'))?.provider.publicOnly, true)
})

test('a kind that needs a key may get it later, and is changed without repeating it', async () => {
  await using fixture = await openAdminFixture()
  const claude = { id: 'claude', kind: 'anthropic', base_url: 'https://1.1.1.1/v1' }
  const vertex = { id: 'vertex', kind: 'vertex', base_url: 'https://1.1.1.1/v1', token_url: 'http://127.0.0.1:9/token' }

  const made = await fixture.call('POST', '/providers', claude)
  const added = await fixture.call('POST', '/providers/claude/credentials', { api_key: SECRET })
  const changed = await fixture.call('PATCH', '/providers/claude', { timeouts: { connect: 1 } })
  const refused = await fixture.call('POST', '/providers', vertex)

  assert.deepEqual([made.status, added.status, changed.status], [201, 201, 200], changed.text)
  assert.equal(changed.body.credentials.length, 1)
  // A setting that is an address is checked like any other.
  assert.deepEqual([refused.status, refused.body.error.param], [400, 'token_url'])
})

test('a model is priced by the factors when its price is saved, and only then', async () => {
  await using fixture = await openAdminFixture()
  await fixture.call('POST', '/providers', ACME)

  const made = await fixture.call('POST', '/models', M1)
  const { exchange } = fixture.money
  fixture.money.exchange = AT_PAR
  const renamed = await fixture.call('PATCH', '/models/acme%2Fm1', { name: 'M1', aliases: ['m1'] })
  fixture.money.exchange = exchange
  const pricing = { prompt: '0.000001', completion: '0.000004', input_cache_read: '0' }
  const pricier = await fixture.call('PATCH', '/models/acme/m1', { pricing })
  const listed = await fixture.call('GET', '/models?limit=1')
  const gone = await fixture.call('DELETE', '/models/acme%2Fm1')

  assert.deepEqual([made.status, renamed.status, pricier.status, gone.status], [201, 200, 200, 200])
  assert.deepEqual([made.body.pricing.prompt, made.body.pricing.completion], ['0.000125', '0.00025'])
  assert.deepEqual(made.body.entered_pricing, M1.pricing)
  assert.equal(renamed.body.price_version, made.body.price_version)
  assert.notEqual(pricier.body.price_version, made.body.price_version)
  assert.deepEqual([pricier.body.pricing.completion, pricier.body.pricing.input_cache_read], ['0.0005', '0'])
  assert.deepEqual(listed.body.data, [pricier.body])
  const prices = await fixture.repositories.sql.all("SELECT version FROM price WHERE model_id = 'acme/m1'")
  assert.equal(prices.length, 2)
  assertShape(ADMIN.createModel, made.body)
  assertShape(ADMIN.listModels, listed.body)
})

test('a change based on an old version returns 409, also by If-Match', async () => {
  await using fixture = await openAdminFixture()
  await fixture.call('POST', '/providers', ACME)
  await fixture.call('POST', '/models', M1)
  const patch = (path: string, version: string) =>
    fixture.call('PATCH', path, { status: 'inactive' }, { 'if-match': version })

  for (const path of ['/models/acme%2Fm1', '/providers/acme']) {
    assert.equal((await patch(path, '"7"')).body.error.code, 'conflict')
    assert.equal((await patch(path, 'seven')).body.error.param, 'If-Match')
    assert.equal((await patch(path, '"1"')).status, 200)
    const stale = await fixture.call('DELETE', path, undefined, { 'if-match': '"1"' })
    assert.deepEqual([stale.status, stale.body.error.code], [409, 'conflict'])
    assert.equal(stale.body.error.metadata.reason, 'version_changed')
    assert.match(stale.body.error.message, /read it again/i)
  }
})

test('a secret entered for one address is not stored if the provider has moved meanwhile', async () => {
  await using fixture = await openAdminFixture()
  const { body } = await fixture.call('POST', '/providers', ACME)
  await fixture.call('PATCH', '/providers/acme', { base_url: 'https://8.8.8.8/v1' })
  const add = (version: string) =>
    fixture.call('POST', '/providers/acme/credentials', { api_key: SECRET }, { 'if-match': version })

  const late = await add(`"${body.version}"`)
  const none = await fixture.repositories.catalog.credentials()
  const again = await add('"2"')

  assert.deepEqual([late.status, late.body.error.code, none], [409, 'conflict', []])
  assert.deepEqual([again.status, again.body.credentials.length], [201, 1])
})

test('resources declared by the file are read-only, and the message explains what to do', async () => {
  await using fixture = await openAdminFixture()
  await provision(fixture)
  const calls = [
    fixture.call('PATCH', '/providers/a', { passthrough: ['x'] }),
    fixture.call('DELETE', '/providers/a'),
    fixture.call('POST', '/providers/a/credentials', { api_key: SECRET }),
    fixture.call('DELETE', '/providers/a/credentials/file-1'),
    fixture.call('PATCH', '/models/m', { name: 'x' }),
    fixture.call('DELETE', '/models/m'),
  ]

  for (const { status, body } of await Promise.all(calls)) {
    assert.deepEqual([status, body.error.code], [409, 'conflict'])
    assert.match(body.error.message, /declared in the configuration file.*turnpike apply/)
  }
  assert.equal((await fixture.call('GET', '/models/m')).body.provisioned, true)
  // But operators' models may use its providers.
  const own = await fixture.call('POST', '/models', { ...M1, targets: [{ provider: 'a', model: 'm1' }] })
  assert.equal(own.status, 201)
})

test('a provider used by a model is not deleted, and the response names the models', async () => {
  await using fixture = await openAdminFixture()
  await fixture.call('POST', '/providers', ACME)
  await fixture.call('POST', '/models', M1)

  const refused = await fixture.call('DELETE', '/providers/acme')
  await fixture.call('DELETE', '/models/acme%2Fm1')

  assert.deepEqual([refused.status, refused.body.error.code], [409, 'conflict'])
  assert.match(refused.body.error.message, /acme\/m1/)
  assert.equal((await fixture.call('DELETE', '/providers/acme')).status, 200)
})

const PLACEHOLDER = '$' + '{OPENAI_API_KEY}'

test('values that the file would refuse are refused by field, without their secret', async t => {
  await using fixture = await openAdminFixture()
  await fixture.call('POST', '/providers', ACME)
  await fixture.call('POST', '/models', { ...M1, aliases: ['taken'] })
  const cases: readonly (readonly [string, object, number, string | null])[] = [
    ['/providers', { kind: 'openai' }, 400, 'id'],
    ['/providers', { ...ACME, id: 'b', kind: 'telegraph' }, 400, 'kind'],
    ['/providers', { ...ACME, id: 'b', base_url: undefined }, 400, 'base_url'],
    ['/providers', { ...ACME, id: 'b', base_url: `https://u:${SECRET}@1.1.1.1/` }, 400, 'base_url'],
    ['/providers', { ...ACME, id: 'b', base_url: 'file:///etc/passwd' }, 400, 'base_url'],
    ['/providers', { ...ACME, id: 'b', surprise: SECRET }, 400, 'surprise'],
    ['/providers', { ...ACME, id: 'b', api_key: `${SECRET} blank` }, 400, 'api_key'],
    ['/providers', { ...ACME, id: 'b', api_key: PLACEHOLDER }, 400, 'api_key'],
    ['/providers', { id: 'b', kind: 'bedrock', region: 'a:b' }, 400, 'region'],
    ['/providers', { id: 'b', kind: 'demo', api_key: SECRET }, 400, 'api_key'],
    ['/providers', { ...ACME, id: 'b', timeouts: { connect: -1 } }, 400, 'timeouts.connect'],
    ['/providers', { ...ACME, id: 'b', status: 'asleep' }, 400, 'status'],
    ['/providers', ACME, 409, 'id'],
    ['/providers/acme/credentials', {}, 400, 'api_key'],
    ['/providers/acme/credentials', { api_key: PLACEHOLDER }, 400, 'api_key'],
    ['/providers/nobody/credentials', { api_key: SECRET }, 404, null],
    ['/models', { ...M1, id: 'b', pricing: { prompt: '0' } }, 400, 'pricing.completion'],
    ['/models', { ...M1, id: 'b', pricing: { prompt: 0.1, completion: '0' } }, 400, 'pricing.prompt'],
    ['/models', { ...M1, id: 'b', pricing: { prompt: '1e-7', completion: '0' } }, 400, 'pricing.prompt'],
    ['/models', { ...M1, id: 'b', pricing: { prompt: '-1', completion: '0' } }, 400, 'pricing.prompt'],
    ['/models', { ...M1, id: 'b', max_output_tokens: 5000 }, 400, 'max_output_tokens'],
    ['/models', { ...M1, id: 'b', targets: [{ provider: 'nobody', model: 'm' }] }, 400, 'targets.0.provider'],
    ['/models', { ...M1, id: 'b', targets: [] }, 400, 'targets'],
    ['/models', { ...M1, id: 'b', strategy: 'luck' }, 400, 'strategy'],
    ['/models', { ...M1, id: 'b', name: PLACEHOLDER }, 400, 'name'],
    ['/models', { ...M1, id: 'b', aliases: ['c', 'c'] }, 400, 'aliases'],
    ['/models', { ...M1, id: 'b', aliases: ['b'] }, 400, 'aliases'],
    ['/models', { ...M1, id: 'taken' }, 409, 'id'],
    ['/models', { ...M1, id: 'b', aliases: ['taken'] }, 409, 'aliases'],
    ['/models', M1, 409, 'id'],
  ]

  for (const [path, body, status, param] of cases) {
    await t.test(`${path} ${JSON.stringify(body)}`, async () => {
      const answer = await fixture.call('POST', path, body)
      assert.deepEqual([answer.status, answer.body.error.param], [status, param], answer.text)
      assert.ok(!answer.text.includes(SECRET))
    })
  }
  const patch = await fixture.call('PATCH', '/providers/acme', { id: 'other' })
  assert.deepEqual([patch.status, patch.body.error.param], [400, 'id'])
})

test('health reports the state that routing has of the targets', async () => {
  await using fixture = await openAdminFixture()
  await fixture.call('POST', '/providers', ACME)

  const { status, body } = await fixture.call('GET', '/providers/acme/health')

  assert.deepEqual([status, body.targets[0].success_rate, body.targets[0].first_byte_ms], [200, 0.5, 12.5])
  assertShape(ADMIN.getProviderHealth, body)
  assert.equal((await fixture.call('GET', '/providers/nobody/health')).status, 404)
})

test('the price list is compared first and imported on demand, all at once', async () => {
  await using fixture = await openAdminFixture()
  await fixture.call('POST', '/providers', ACME)
  const order = { list: 'openai', provider: 'acme', match: 'gpt-4o*', markup: '2' }

  const dry = await fixture.call('POST', '/models/import', { ...order, dry_run: true })
  const before = await fixture.call('GET', '/models')
  const done = await fixture.call('POST', '/models/import', order)
  const again = await fixture.call('POST', '/models/import', order)
  const markedDown = await fixture.call('POST', '/models/import', { ...order, markup: '1', match: 'gpt-4o-mini' })
  const mini = await fixture.call('GET', '/models/acme%2Fgpt-4o-mini')

  assert.deepEqual([dry.status, dry.body.dry_run, before.body.data], [200, true, []])
  assert.deepEqual(changesOf(dry), { 'acme/gpt-4o': 'new', 'acme/gpt-4o-mini': 'new' })
  assert.deepEqual(changesOf(done), changesOf(dry))
  assert.deepEqual(changesOf(again), { 'acme/gpt-4o': 'same', 'acme/gpt-4o-mini': 'same' })
  assert.deepEqual(changesOf(markedDown), { 'acme/gpt-4o-mini': 'changed' })
  const { before: was, after: is } = markedDown.body.data.find((each: { change: string }) => each.change === 'changed')
  // 0.15 dollars per million, at a hundred credits per dollar, with and without a factor of two.
  assert.deepEqual([was.prompt, is.prompt, mini.body.pricing.prompt], ['0.00003', '0.000015', '0.000015'])
  assert.deepEqual([mini.body.aliases, mini.body.version], [['gpt-4o-mini'], 2])
  const { cost, entered_cost, ...target } = mini.body.targets[0]
  assert.deepEqual(target, { provider: 'acme', model: 'gpt-4o-mini', priority: 0, weight: 1 })
  // The list's price is the operator's cost, without markup.
  assert.deepEqual([cost.prompt, entered_cost.prompt], ['0.000015', '0.00000015'])
  assertShape(ADMIN.importModels, done.body)
})

test('tiers are entered, changed and removed like any price, each with a new version of the price', async () => {
  await using fixture = await openAdminFixture()
  await fixture.call('POST', '/providers', ACME)
  const base = { prompt: '0.000001', completion: '0.000002' }
  const tier = (above: number, prompt: string) => ({ above_prompt_tokens: above, prompt, completion: '0.000004' })
  const targets = [{ provider: 'acme', model: 'x' }]
  const size = { context_length: 1000, max_output_tokens: 100 }
  const patch = (pricing: object) => fixture.call('PATCH', '/models/long', { pricing })

  const made = await fixture.call('POST', '/models', {
    id: 'long',
    ...size,
    targets,
    pricing: { ...base, tiers: [tier(500, '0.000003')] },
  })
  const pricier = await patch({ ...base, tiers: [tier(500, '0.000005')] })
  const same = await patch({ ...base, tiers: [tier(500, '0.000005')] })
  const wrong = await patch({ ...base, tiers: [tier(500, '0.000005'), tier(400, '0.000005')] })
  const plain = await patch(base)

  assert.deepEqual([made.status, made.body.pricing.tiers[0].prompt], [201, '0.000375'], made.text)
  assert.equal(pricier.body.pricing.tiers[0].prompt, '0.000625')
  assert.equal(same.body.price_version, pricier.body.price_version)
  assert.deepEqual([wrong.status, wrong.body.error.param], [400, 'pricing.tiers.1.above_prompt_tokens'])
  assert.deepEqual([plain.body.pricing.tiers, plain.body.entered_pricing], [undefined, base])
  assert.equal(new Set([made, pricier, plain].map(({ body }) => body.price_version)).size, 3)
  assertShape(ADMIN.getModel, pricier.body)
})

test('an import fills in the cost of a target, and leaves alone what an operator has stated', async () => {
  await using fixture = await openAdminFixture()
  await fixture.call('POST', '/providers', ACME)
  const own = { prompt: '0.00000001', completion: '0.00000002' }
  const size = { context_length: 128_000, max_output_tokens: 16_384 }
  const targets = (cost?: object) => [
    { provider: 'acme', model: 'other', priority: 1 },
    { provider: 'acme', model: 'gpt-4o-mini', priority: 0, ...(cost && { cost }) },
  ]
  const pricing = { prompt: '0.00000015', completion: '0.0000006', input_cache_read: '0.000000075' }
  await fixture.call('POST', '/models', { id: 'silent', ...size, pricing, targets: targets() })
  const read = async () => (await fixture.call('GET', '/models/silent')).body.targets[1].entered_cost
  const importing = async (more: object) => {
    const order = { list: 'openai', provider: 'acme', match: 'gpt-4o-mini', ...more }
    const { data } = (await fixture.call('POST', '/models/import', order)).body
    return data.find((each: { model: string }) => each.model === 'silent')
  }

  const kept = await importing({ costs: 'keep' })
  const dry = await importing({ dry_run: true })
  assert.deepEqual([kept.change, dry.change, dry.cost_before, await read()], ['same', 'changed', null, null])
  const filled = await importing({})
  assert.deepEqual([filled.change, filled.cost_after.prompt, await read()], ['changed', '0.000015', pricing])
  const others = (await fixture.call('GET', '/models/silent')).body.targets[0]
  assert.deepEqual([others.cost, others.model], [null, 'other'])

  await fixture.call('PATCH', '/models/silent', { targets: targets(own) })
  const differing = await importing({})
  assert.deepEqual([differing.change, await read()], ['same', own])
  assert.match(differing.notes.join(), /differs from the list and is kept/)
  const replaced = await importing({ costs: 'replace' })
  assert.deepEqual([replaced.change, await read()], ['changed', pricing])
  assertShape(ADMIN.getModel, (await fixture.call('GET', '/models/silent')).body)
})

test('an import takes the tiers of the list, for the price with the markup and for the cost without', async () => {
  await using fixture = await openAdminFixture()
  await fixture.call('POST', '/providers', ACME)
  const order = { list: 'google', provider: 'acme', match: 'gemini-2.5-pro', markup: '2' }

  await fixture.call('POST', '/models/import', order)
  const { body } = await fixture.call('GET', '/models/acme%2Fgemini-2.5-pro')

  const { above_prompt_tokens: above, prompt } = body.pricing.tiers[0]
  assert.deepEqual([above, prompt, body.targets[0].cost.tiers[0].prompt], [200_000, '0.0005', '0.00025'])
  const again = await fixture.call('POST', '/models/import', order)
  assert.deepEqual(changesOf(again), { 'acme/gemini-2.5-pro': 'same' })
})

test('an import reports what it skips and why, and leaves declared models unchanged', async () => {
  await using fixture = await openAdminFixture()
  const declared = model('m', { targets: [{ provider: 'a', model: 'gpt-4o-mini', priority: 0, weight: 1 }] })
  await provision(fixture, [declared])
  const import_ = (more: object) => fixture.call('POST', '/models/import', { list: 'openai', provider: 'a', ...more })

  const mini = (await import_({ match: 'gpt-4o-mini' })).body.data.find((each: { model: string }) => each.model === 'm')
  const embedding = (await import_({ match: 'text-embedding-3-small' })).body.data[0]
  const asked = (await import_({ match: 'gpt-5-pro', dry_run: true })).body.data[0]
  const stated = (await import_({ match: 'gpt-5-pro', max_output_tokens: 272_000, dry_run: true })).body.data[0]

  assert.deepEqual([mini.change, mini.notes.at(-1)], ['skipped', 'declared in the configuration file'])
  assert.deepEqual([embedding.change, asked.change, stated.change], ['skipped', 'skipped', 'new'])
  assert.match(asked.notes[0], /specify one/)
  const wrong = await Promise.all([
    import_({ list: 'nobody' }),
    import_({ provider: 'x' }),
    import_({ markup: 'free' }),
  ])
  assert.deepEqual(
    wrong.map(({ status, body }) => [status, body.error.param]),
    [
      [400, 'list'],
      [400, 'provider'],
      [400, 'markup'],
    ],
  )
})

test('every catalog change is in the events, with its operator', async () => {
  await using fixture = await openAdminFixture()
  const changes = [
    ['POST', '/providers', ACME],
    ['POST', '/providers/acme/credentials', { api_key: SECRET }],
    ['PATCH', '/providers/acme', { passthrough: ['x'] }],
    ['POST', '/models', M1],
    ['PATCH', '/models/acme%2Fm1', { pricing: { prompt: '0', completion: '0' } }],
    ['DELETE', '/models/acme%2Fm1', undefined],
    ['DELETE', '/providers/acme', undefined],
  ] as const
  for (const [method, path, body] of changes) {
    await fixture.call(method, path, body)
    fixture.repositories.clock.advance(1)
  }

  const { body, text } = await fixture.call('GET', '/events')

  assert.deepEqual(
    body.data.map((event: { action: string; actor: string }) => [event.action, event.actor]).reverse(),
    [
      'provider.create',
      'provider.credential_add',
      'provider.update',
      'model.create',
      'model.update',
      'model.delete',
      'provider.delete',
    ].map(action => [action, 'admin']),
  )
  assert.ok(!text.includes(SECRET))
  const priced = body.data.find((event: { action: string }) => event.action === 'model.update')
  assert.deepEqual(JSON.parse(priced.detail).price.before.prompt, '0.000125')
})

function changesOf({ body }: { body: { data: readonly { model: string; change: string }[] } }): Record<string, string> {
  return Object.fromEntries(
    body.data.filter(({ change }) => change !== 'skipped').map(({ model: id, change }) => [id, change]),
  )
}

async function provision({ repositories }: Fixture, models = [model('m')]): Promise<void> {
  const order = { digest: null, evenSuperseded: false, clashes: 'refuse', dryRun: false, actor: OPERATOR } as const
  await repositories.catalog.provision({ providers: [provider('a')], models }, order)
}

function assertShape({ response }: Endpoint, body: unknown): void {
  assert.deepEqual(Compile(response).Errors(body), [])
}
