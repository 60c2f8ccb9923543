// The configuration file applied to a running gateway, by command and by signal: all of it or nothing, in force at once,
// and never an old file again by accident.
import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { test } from 'node:test'
import { FILE_SETTINGS } from '../../../src/config/file-schema.ts'
import { cli } from '../../support/cli.ts'
import { type Gateway, startGateway } from '../../support/gateway.ts'
import type { Loose } from '../../support/http-call.ts'
import { standardConfig, standardModel, standardProvider } from '../../support/standard-config.ts'
import { until } from '../../support/until.ts'
import { startUpstream } from '../../support/upstream.ts'

const PRICIER = { prompt: '0.000005', completion: '0.00002' }

test('apply reports the differences, changes nothing with --dry-run, and applies all of them at once', async () => {
  await using upstream = await startUpstream()
  await using gateway = await startGateway({ config: standardConfig(upstream.url) })
  await gateway.writeConfig({
    providers: [standardProvider(upstream.url), standardProvider(upstream.url, { id: 'third' })],
    models: [standardModel({ pricing: PRICIER }), standardModel({ id: 'test/new' })],
    brand: { key_prefix: 'other_' },
  })

  const dry = await cli(gateway, ['apply', '--dry-run', '--json'])
  const early = await gateway.chat({ model: 'test/new' })
  const done = await cli(gateway, ['apply'])
  const [late, again] = [await gateway.chat({ model: 'test/new' }), await cli(gateway, ['apply', '--json'])]
  const { key } = await gateway.createKey()

  assert.deepEqual([dry.code, done.code, early.status, late.status], [0, 0, 404, 200])
  assert.deepEqual(changesOf(dry.json), [
    ['provider', 'third', 'added'],
    ['provider', 'up2', 'removed'],
    ['model', 'test/m1', 'changed'],
    ['model', 'test/new', 'added'],
  ])
  assert.match(done.stdout, /test\/m1\tpricing\tprompt 2\.5, .*\tprompt 5, /)
  assert.match(done.stderr, /applied[\s\S]*Requires a restart: brand/)
  assert.deepEqual(again.json.changes, [])
  // Brand is for the next start.
  assert.match(String(key.label), /^svc_live_/)
  assert.equal((await listed(gateway, 'test/m1'))?.pricing.prompt, '0.000005')
  assert.ok((await gateway.audit()).ok)
})

test('the settings have the exchange rate of the applied file', async () => {
  await using upstream = await startUpstream()
  await using gateway = await startGateway({ config: standardConfig(upstream.url) })
  const rate = async () => (await gateway.admin('GET', '/settings')).body.credits_per_usd

  assert.equal(await rate(), null)
  await gateway.writeConfig({ ...standardConfig(upstream.url), credits_per_usd: '012.50' })
  assert.equal((await cli(gateway, ['apply'])).code, 0)

  assert.equal(await rate(), '12.5')
})

test('a changed setting that needs a restart is named, and no other', async () => {
  await using upstream = await startUpstream()
  await using gateway = await startGateway({ config: standardConfig(upstream.url) })
  const other: Readonly<Record<string, unknown>> = {
    defaults: { rpm_limit: 77 },
    brand: { key_prefix: 'other_' },
    trusted_proxies: ['192.0.2.0/24'],
    cors_origins: ['https://app.example'],
    explain: false,
    show_upstream_cost: false,
    allow_private_upstreams: true,
    drain_delay: 7,
    drain_max: 77,
    usage_retention_days: 77,
    telemetry: { trust_traceparent: true },
    portal: { name: 'Shop' },
    update_url: 'https://example.com/latest',
  }
  const named = async (settings: object) => {
    await gateway.writeConfig({ ...standardConfig(upstream.url), ...settings })
    return (await cli(gateway, ['apply', '--dry-run', '--json'])).json.at_next_start as unknown as string[]
  }

  const all = await named(other)
  const none = await named({})

  assert.deepEqual(Object.keys(other).toSorted(), [...FILE_SETTINGS].sort(), 'a new setting must be added to this test')
  assert.deepEqual([...all].sort(), [...FILE_SETTINGS].sort())
  assert.deepEqual(none, [])
})

test('SIGHUP does the same, and an invalid file changes nothing either way', async t => {
  await using upstream = await startUpstream()
  await using gateway = await startGateway({ config: standardConfig(upstream.url) })

  await t.test('a valid file', async () => {
    await gateway.writeConfig(standardConfig(upstream.url, { models: [standardModel({ pricing: PRICIER })] }))
    gateway.signal('SIGHUP')
    await until('the file is applied', () => gateway.logs.some(line => /file applied/.test(String(line.msg))))

    const { body } = await gateway.admin<{ data: { action: string; actor: string }[] }>('GET', '/events?limit=1')
    assert.deepEqual(
      body.data.map(({ action, actor }) => [action, actor]),
      [['catalog.provision', 'SIGHUP']],
    )
    assert.equal((await listed(gateway, 'test/m1'))?.pricing.prompt, '0.000005')
  })

  await t.test('an invalid file', async () => {
    await writeFile(gateway.configFile, 'models:\n  - id: test/m1\n    context_length: 10\n')
    gateway.signal('SIGHUP')
    await until('it is refused', () => gateway.logs.some(line => /rejected/.test(String(line.msg))))
    const byCommand = await cli(gateway, ['apply'])
    const byApi = await gateway.admin('POST', '/catalog/apply', {})

    const line = gateway.logs.find(each => /rejected/.test(String(each.msg)))
    assert.deepEqual([line?.level, /turnpike\.yaml:2/.test(String(line?.err))], ['error', true])
    assert.deepEqual([byCommand.code, byApi.status], [2, 400])
    assert.match(byCommand.stderr, /turnpike\.yaml:2:\d+: .*models\[0\]\.pricing: is missing/)
    assert.equal((await gateway.chat()).status, 200)
    assert.equal((await listed(gateway, 'test/m1'))?.pricing.prompt, '0.000005')
  })

  assert.ok((await gateway.audit()).ok)
})

test('an open stream continues at the old address, and the next request goes to the new one', async () => {
  await using upstream = await startUpstream()
  await using other = await startUpstream()
  await using gateway = await startGateway({ config: standardConfig(upstream.url) })
  upstream.next({ words: ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'], chunkDelayMs: 60 })
  const stream = await gateway.openChat()
  await stream.nextChunk()

  await gateway.writeConfig(standardConfig(other.url))
  assert.equal((await cli(gateway, ['apply'])).code, 0)
  const { content, done } = await stream.rest()
  const next = await gateway.chat()

  assert.deepEqual([content.endsWith('gh'), done, next.status], [true, true, 200])
  assert.deepEqual([upstream.journal.length, other.journal.length], [1, 1])
  assert.ok((await gateway.audit()).ok)
})

test('apply on a gateway without a file is an error', async () => {
  await using gateway = await startGateway()

  const result = await cli(gateway, ['apply'])

  const wrongToken = await cli(gateway, ['apply', '--token-stdin'], { stdin: 'not-the-token\n' })

  assert.deepEqual([result.code, wrongToken.code], [2, 1])
  assert.match(result.stderr, /no configuration file/)
  assert.equal((await gateway.chat({ model: 'demo/echo' })).status, 200)
})

test('a superseded file is not applied at start, only by apply', async () => {
  await using upstream = await startUpstream()
  const old = standardConfig(upstream.url)
  await using gateway = await startGateway({ config: old })
  await gateway.writeConfig(standardConfig(upstream.url, { models: [standardModel({ id: 'test/m2' })] }))
  await gateway.restart()
  await gateway.writeConfig(old)

  await gateway.restart()

  const isWarning = (line: Loose) => String(line.level) === 'warn' && /superseded/.test(String(line.msg))
  await until('it is logged', () => gateway.logs.some(isWarning))
  assert.equal(await listed(gateway, 'test/m1'), undefined)
  // The newer catalog is in force, with the credentials of the same provider.
  assert.equal((await gateway.chat({ model: 'test/m2' })).status, 200)
  assert.equal(upstream.journal.at(-1)?.headers.authorization, 'Bearer upstream-secret-canary')

  assert.equal((await cli(gateway, ['apply'])).code, 0)
  assert.equal((await gateway.chat()).status, 200)
  const warnings = () => gateway.logs.filter(line => /superseded/.test(String(line.msg))).length
  const before = warnings()
  await gateway.restart()
  assert.deepEqual([warnings(), (await gateway.chat()).status], [before, 200])
})

test('the value of a placeholder is used and never stored', async () => {
  await using upstream = await startUpstream()
  const secret = 'placeholder-canary-5512'
  const base = `${upstream.url}/${secret}`
  const placeholder = '$' + '{UPSTREAM_BASE}'
  const config = standardConfig('', {
    providers: [standardProvider(placeholder, { api_key: '$' + '{UPSTREAM_KEY}' })],
  })
  await using gateway = await startGateway({ config, env: { UPSTREAM_BASE: base, UPSTREAM_KEY: `${secret}-key` } })

  await gateway.chat()
  await gateway.restart()
  await gateway.chat()
  const shown = await gateway.admin('GET', '/providers/up')
  await gateway.stop({ hurry: true })

  assert.deepEqual(
    upstream.journal.map(({ path, headers }) => [path.includes(secret), headers.authorization]),
    [
      [true, `Bearer ${secret}-key`],
      [true, `Bearer ${secret}-key`],
    ],
  )
  assert.equal(shown.body.base_url, placeholder)
  await assertNowhere(gateway, secret)
})

function changesOf(answer: unknown): readonly (readonly string[])[] {
  const { changes } = answer as { readonly changes: readonly Readonly<Record<'what' | 'id' | 'change', string>>[] }
  return changes.map(({ what, id, change }) => [what, id, change])
}

async function listed(gateway: Gateway, id: string) {
  const { secret } = await gateway.createKey()
  const { body } = await gateway.get<{ data: { id: string; pricing: { prompt: string } }[] }>('/v1/models', secret)
  return body.data.find(model => model.id === id)
}

async function assertNowhere(gateway: Gateway, secret: string): Promise<void> {
  assert.ok(!(await gateway.stored()).includes(secret))
  assert.ok(!gateway.lines.join('\n').includes(secret))
}
