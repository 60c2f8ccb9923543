// The catalog from the command line: providers, their secrets, models and the price list.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { cli } from '../../../support/cli.ts'
import { startGateway } from '../../../support/gateway.ts'
import { startUpstream } from '../../../support/upstream.ts'

const SECRET = 'sk-command-line-canary-99-wxyz'

const upstream = await startUpstream()
const gateway = await startGateway({ env: { TURNPIKE_ALLOW_PRIVATE_UPSTREAMS: '1' } })
test.after(async () => {
  await gateway[Symbol.asyncDispose]()
  await upstream[Symbol.asyncDispose]()
})
const run = (...args: string[]) => cli(gateway, args)

test('the CLI creates, changes and deletes a provider and its model', async () => {
  const made = await cli(
    gateway,
    ['providers', 'create', 'own', '--kind', 'openai', '--base-url', upstream.url, '--api-key-env', 'MY_KEY', '--json'],
    { env: { MY_KEY: SECRET } },
  )
  const added = await cli(gateway, ['providers', 'add-credential', 'own', '--api-key-stdin', '--json'], {
    stdin: `${SECRET}2\n`,
  })
  const price = ['--prompt', '0.000001', '--completion', '0.000002']
  const size = ['--context', '1000', '--max-output', '100']
  const model = await run(
    'models',
    'create',
    'own/m',
    ...size,
    ...price,
    '--target',
    'own:m1',
    '--alias',
    'mine',
    '--json',
  )
  const chat = await gateway.chat({ model: 'mine', max_tokens: 10 })
  const vectors = ['--type', 'embedding', '--dimensions', '8', '--context', '1000', '--prompt', '0.000001']
  const embedding = await run('models', 'create', 'own/e', ...vectors, '--target', 'own:e', '--alias', 'e-*', '--json')

  for (const { code, stderr } of [made, added, model, embedding]) assert.equal(code, 0, stderr)
  const { type, dimensions, aliases } = embedding.json
  assert.deepEqual([type, dimensions, aliases], ['embedding', 8, ['e-*']])
  assert.equal(chat.status, 200, chat.text)
  const credentials = added.json.credentials as unknown as { id: string; last4: string }[]
  assert.deepEqual(
    credentials.map(({ last4 }) => last4),
    ['wxyz', 'xyz2'],
  )

  const updated = await run(
    'models',
    'update',
    'own/m',
    '--set',
    'name=Mine',
    '--set',
    'hidden_reasoning=true',
    '--json',
  )
  const stale = await run('models', 'update', 'own/m', '--unset', 'name', '--if-version', '1')
  const removed = await run('providers', 'remove-credential', 'own', credentials[0]?.id ?? '')
  const off = await run('providers', 'update', 'own', '--status', 'inactive')
  const listed = await run('models', 'list')
  const held = await run('providers', 'delete', 'own')
  assert.deepEqual([updated.json.name, updated.json.hidden_reasoning], ['Mine', true])
  assert.deepEqual([stale.code, removed.code, off.code, listed.code, held.code], [1, 0, 0, 0, 1])
  assert.match(stale.stderr, /has changed since it was read/)
  assert.match(held.stderr, /own\/m/)
  assert.match(listed.stdout, /own\/m\tactive\tfalse\t1000\t1\t2\town:m1\n/)
  assert.equal((await gateway.chat({ model: 'mine' })).status, 404)

  for (const id of ['own/m', 'own/e']) assert.equal((await run('models', 'delete', id)).code, 0)
  assert.equal((await run('providers', 'delete', 'own')).code, 0)
  for (const { stdout, stderr } of [made, added, removed]) assert.ok(!(stdout + stderr).includes(SECRET))
})

test('prices are shown first and imported with --apply', async () => {
  await run('providers', 'create', 'openai', '--kind', 'openai', '--base-url', upstream.url)
  const order = ['models', 'import', 'openai', '--match', 'gpt-4o-mini', '--markup', '1.2']

  const shown = await run(...order)
  const before = await run('models', 'show', 'openai/gpt-4o-mini')
  const done = await run(...order, '--apply')
  const after = await run('models', 'show', 'openai/gpt-4o-mini', '--json')
  const again = await run(...order, '--all')

  assert.deepEqual([shown.code, before.code, done.code, after.code, again.code], [0, 1, 0, 0, 0])
  assert.match(shown.stdout, /new\topenai\/gpt-4o-mini\t-\tprompt 0\.18, completion 0\.72/)
  assert.match(shown.stderr, /1 new, 0 changed, 0 same.*nothing was saved/)
  assert.deepEqual(after.json.pricing?.completion, '0.00000072')
  assert.match(again.stdout, /same\topenai\/gpt-4o-mini/)
  assert.equal((await gateway.chat({ model: 'gpt-4o-mini' })).status, 200)
})

test('health is shown as a table and as JSON', async () => {
  await run('providers', 'create', 'well', '--kind', 'openai', '--base-url', upstream.url)
  const size = ['--context', '1000', '--max-output', '100', '--prompt', '0', '--completion', '0']
  await run('models', 'create', 'well/m', ...size, '--target', 'well:m1')
  await gateway.chat({ model: 'well/m' })

  const table = await run('providers', 'health', 'well')
  const json = await run('providers', 'health', 'well', '--json')

  assert.match(table.stdout, /^model\tstate\tsuccess_rate\tfirst_byte_ms.*\nm1\tclosed\t1\t/)
  assert.deepEqual([json.json.object, json.json.provider], ['provider_health', 'well'])
})

const WRONG: readonly (readonly [args: string, code: number, said: RegExp])[] = [
  ['providers create x', 2, /kind/],
  ['providers create x --kind openai --base-url ftp://x', 2, /base_url/],
  ['providers create x --kind openai --api-key-env NO_SUCH', 2, /NO_SUCH is not set/],
  ['providers create x --api-key sk-1', 2, /--api-key/],
  [
    'providers create x --kind openai --set api_key=sk-1',
    2,
    /api_key is not allowed.*--api-key-env or --api-key-stdin/,
  ],
  ['providers create x --kind openai --set api_keys=["sk-1"]', 2, /api_keys is not allowed/],
  ['providers update x --set credentials=[{"secret":"sk-1"}]', 2, /credentials is not allowed/],
  ['providers add-credential demo', 2, /--api-key-env or --api-key-stdin/],
  ['providers update demo --set passthrough=["x"]', 1, /declared in the configuration file/],
  ['providers update x', 2, /no changes given/],
  ['providers update x --set garbage', 2, /KEY=VALUE/],
  ['providers delete nobody', 1, /no provider/],
  ['models create x --prompt 1', 2, /--prompt and --completion/],
  ['models create x --target demo', 2, /PROVIDER:MODEL/],
  ['models show nobody', 1, /no model/],
  ['models import nobody', 2, /list/],
  ['models import openai --provider nobody', 2, /provider/],
  ['models import openai --max-output many', 2, /--max-output must be a whole number/],
  ['apply now', 2, /usage: turnpike apply/],
]

test('errors go to stderr with exit code 2 for usage errors and 1 for failures', async t => {
  await Promise.all(
    WRONG.map(([args, code, said]) =>
      t.test(`turnpike ${args}`, async () => {
        const result = await run(...args.split(' '))

        assert.equal(result.code, code, result.stderr)
        assert.equal(result.stdout, '')
        assert.match(result.stderr, said)
        assert.doesNotMatch(result.stderr, /sk-1|\n +at /)
      }),
    ),
  )
})
