// What a configuration file must not do to the catalog in force: call without a secret, remove everything by accident,
// take a name from an operator's model, or store the value of a placeholder.
import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { test } from 'node:test'
import { cli } from '../../support/cli.ts'
import { type Gateway, startGateway } from '../../support/gateway.ts'
import { standardConfig, standardModel, standardProvider } from '../../support/standard-config.ts'
import { until } from '../../support/until.ts'
import { startUpstream } from '../../support/upstream.ts'

test('a start with a superseded file sends its secret only to the address of the newer one', async t => {
  await using upstream = await startUpstream()
  await using other = await startUpstream()
  const old = standardConfig(upstream.url)

  await t.test('the same provider with another timeout', async () => {
    await using gateway = await startGateway({ config: old })
    await supersede(gateway, old, { providers: [standardProvider(upstream.url, { timeouts: { idle: 7 } })] })

    assert.equal((await gateway.chat()).status, 200)
    assert.equal(upstream.journal.at(-1)?.headers.authorization, 'Bearer upstream-secret-canary')
    assert.equal((await gateway.admin('GET', '/providers/up')).body.timeouts?.idle, 7)
  })

  await t.test('a provider with another address', async () => {
    await using gateway = await startGateway({ config: old })
    const second = standardModel({ id: 'test/m2', targets: [{ provider: 'up2', model: 'm2' }] })
    await supersede(gateway, old, {
      providers: [standardProvider(other.url), standardProvider(upstream.url, { id: 'up2' })],
      models: [standardModel(), second],
    })
    const seen = upstream.journal.length

    assert.equal((await gateway.chat()).status, 404)
    assert.deepEqual([upstream.journal.length, other.journal.length], [seen, 0])
    const line = await logged(gateway, /is left out/)
    assert.deepEqual([line?.level, line?.provider], ['warn', 'up'])
    assert.equal((await gateway.chat({ model: 'test/m2' })).status, 200)
    assert.equal((await cli(gateway, ['apply'])).code, 0)
    assert.equal((await gateway.chat()).status, 200)
  })
})

test('a file without a catalog does not remove the catalog of a running gateway', async t => {
  await using upstream = await startUpstream()
  await using gateway = await startGateway({ config: standardConfig(upstream.url) })

  for (const text of ['', '# providers:\n', '---\n', 'explain: false\n']) {
    await t.test(JSON.stringify(text), async () => {
      await writeFile(gateway.configFile, text)
      const refusals = () => gateway.logs.filter(line => /rejected/.test(String(line.msg))).length
      const before = refusals()
      gateway.signal('SIGHUP')
      await until('it is refused', () => refusals() > before)
      const [dry, done] = [await cli(gateway, ['apply', '--dry-run']), await cli(gateway, ['apply'])]

      assert.deepEqual([dry.code, done.code], [2, 2])
      assert.match(done.stderr, /turnpike\.yaml: names neither providers nor models/)
      assert.equal((await gateway.chat()).status, 200)
    })
  }

  await t.test('unless it is explicit', async () => {
    await writeFile(gateway.configFile, 'providers: []\n')

    assert.equal((await cli(gateway, ['apply'])).code, 0)
    assert.equal((await gateway.chat()).status, 404)
  })
})

test("apply refuses a file that redefines an operator's model; a start ignores that model", async () => {
  await using upstream = await startUpstream()
  const config = standardConfig(upstream.url)
  await using gateway = await startGateway({ config })
  const own = standardModel({ id: 'own/m', aliases: ['mine'], targets: [{ provider: 'up', model: 'of-operator' }] })
  assert.equal((await gateway.admin('POST', '/models', own)).status, 201)
  await gateway.writeConfig({ ...config, models: [standardModel({ aliases: ['mine', 'm1'] })] })

  const refused = await cli(gateway, ['apply'])
  assert.equal(refused.code, 2)
  assert.match(refused.stderr, /mine of test\/m1 \(operator's model own\/m\)/)
  assert.equal((await gateway.chat({ model: 'm1' })).status, 404)

  await gateway.restart()
  assert.deepEqual(await servedBy('mine'), 'of-operator')
  assert.deepEqual(await servedBy('m1'), 'm1')
  assert.deepEqual(await servedBy('test/m1'), 'm1')
  const line = await logged(gateway, /an operator's already/)
  assert.deepEqual([line?.level, line?.model, line?.name, line?.owner], ['error', 'test/m1', 'mine', 'own/m'])

  // An id as well as an alias.
  await gateway.writeConfig({ ...config, models: [standardModel({ id: 'mine' })] })
  assert.equal((await cli(gateway, ['apply'])).code, 2)
  await gateway.restart()
  assert.deepEqual(await servedBy('mine'), 'of-operator')

  // Once the operator deletes it, the file's model is used.
  assert.equal((await gateway.admin('DELETE', '/models/own%2Fm')).status, 200)
  assert.equal((await cli(gateway, ['apply'])).code, 0)
  assert.deepEqual(await servedBy('mine'), 'm1')
  assert.ok((await gateway.audit()).ok)

  async function servedBy(model: string): Promise<unknown> {
    const { status, text } = await gateway.chat({ model })
    assert.equal(status, 200, text)
    const [last] = upstream.journal.slice(-1)
    return (last?.body as { model?: unknown } | undefined)?.model
  }
})

test('an apply refused for a name leaves every secret unchanged', async () => {
  await using upstream = await startUpstream()
  const provider = (api_key: string) => [{ id: 'up', kind: 'openai', base_url: upstream.url, api_key }]
  const config = { providers: provider('first-secret'), models: [standardModel()] }
  await using gateway = await startGateway({ config })
  const own = standardModel({ id: 'own/m', aliases: ['mine'] })
  assert.equal((await gateway.admin('POST', '/models', own)).status, 201)
  await gateway.writeConfig({ providers: provider('second-secret'), models: [standardModel({ aliases: ['mine'] })] })

  assert.equal((await cli(gateway, ['apply'])).code, 2)
  // The operator's next change reads the catalog again, and must not include the secrets of the refused file.
  assert.equal((await gateway.admin('POST', '/models', standardModel({ id: 'own/other' }))).status, 201)
  for (const model of ['test/m1', 'own/other']) assert.equal((await gateway.chat({ model })).status, 200)

  assert.deepEqual([...new Set(upstream.journal.map(({ headers }) => headers.authorization))], ['Bearer first-secret'])
})

test('the value of a placeholder is used and not stored, in providers and in models, also when it is transformed', async () => {
  await using upstream = await startUpstream()
  const secret = 'placeholder-canary-5512'
  const name = (variable: string) => `$\{${variable}}`
  const config = standardConfig('', {
    providers: [
      standardProvider(name('BASE'), { headers: { 'x-tenant': name('TENANT') } }),
      standardProvider(`http://${name('HOST')}:9`, { id: 'named' }),
      { id: 'aws', kind: 'bedrock', region: name('REGION'), api_key: name('TENANT') },
    ],
    models: [
      standardModel({
        description: `for ${name('TENANT')}`,
        targets: [{ provider: 'up', model: name('DEPLOYMENT') }],
      }),
    ],
  })
  const env = {
    // The URL parser encodes the letter and the space, and lowercases the host.
    BASE: `${upstream.url}/é x/${secret}`,
    HOST: 'Placeholder-CANARY-5512.Example',
    REGION: 'placeholder-canary-5512',
    TENANT: `tenant-${secret}`,
    // Usage rows name it: they record which provider was called.
    DEPLOYMENT: 'deployment-7781',
  }
  await using gateway = await startGateway({ config, env })

  await gateway.chat()
  await gateway.restart()
  await gateway.chat()
  const [shown, model] = [await gateway.admin('GET', '/providers/up'), await gateway.admin('GET', '/models/test%2Fm1')]
  const again = await cli(gateway, ['apply', '--json'], { env })
  await gateway.stop({ hurry: true })

  for (const { path, headers, body } of upstream.journal) {
    assert.ok(path.endsWith(`/%C3%A9%20x/${secret}/chat/completions`), path)
    assert.equal(headers['x-tenant'], env.TENANT)
    assert.equal((body as { model: string }).model, env.DEPLOYMENT)
  }
  assert.equal(upstream.journal.length, 2)
  assert.equal(shown.body.base_url, name('BASE'))
  assert.deepEqual(
    [model.body.description, model.body.targets?.[0]?.model],
    [`for ${name('TENANT')}`, name('DEPLOYMENT')],
  )
  assert.deepEqual(again.json.changes, [])
  await assertNowhere(gateway, secret)
})

// The newer file is applied, and then the gateway starts with the old one again.
async function supersede(gateway: Gateway, old: Readonly<Record<string, unknown>>, newer: object): Promise<void> {
  await gateway.writeConfig({ ...old, ...newer })
  assert.equal((await cli(gateway, ['apply'])).code, 0)
  await gateway.writeConfig(old)
  await gateway.restart()
}

async function assertNowhere(gateway: Gateway, secret: string): Promise<void> {
  assert.ok(!(await gateway.stored()).toLowerCase().includes(secret))
}

// A log line may be written after the response.
async function logged(gateway: Gateway, what: RegExp) {
  const line = () => gateway.logs.find(each => what.test(String(each.msg)))
  await until(`the log has ${what}`, () => line() !== undefined)
  return line()
}
