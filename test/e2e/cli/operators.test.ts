// The other commands against a running gateway: accounts, operators, sessions, events, settings, usage lists and
// exports, and a chat; as text and as JSON.
import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { type CliOptions, cli } from '../../support/cli.ts'
import { openFixture } from '../../support/fixture.ts'
import { httpCall } from '../../support/http-call.ts'

type Rows<Row> = { readonly data: readonly Row[] }

const { gateway, upstream } = await openFixture()
const run = (...args: string[]) => cli(gateway, args)

test('the CLI creates, changes and closes an account', async () => {
  const made = await run('accounts', 'create', '=cmd "x"', '--json')
  const id = String(made.json.id)
  await run('credits', 'add', id, '10.5', '--note', 'first')
  const suspended = await run('accounts', 'update', id, '--status', 'suspended', '--if-version', '1', '--json')
  const stale = await run('accounts', 'update', id, '--name', 'late', '--if-version', '1')
  const shown = await run('accounts', 'show', id)
  const listed = await run('accounts', 'list', '--search', 'CMD', '--status', 'suspended')
  const ledger = await run('accounts', 'ledger', id)

  assert.equal(made.code, 0, made.stderr)
  assert.deepEqual([suspended.json.status, suspended.json.version], ['suspended', 2])
  assert.deepEqual([stale.code, /has changed since it was read/.test(stale.stderr)], [1, true])
  assert.match(shown.stdout, /^balance\.available\t10\.5\nbalance\.held\t0\n/m)
  assert.match(
    listed.stdout,
    new RegExp(`^id\tname\tstate\tavailable\tspent_this_month\tcreated_at\n${id}\t=cmd "x"\tsuspended\t10.5\t0\t`),
  )
  assert.match(ledger.stdout, /\ttopup\t10\.5\t10\.5\t-\t-\tfirst\t/)
})

test('an account with credits, budgets and a key is created in one step', async () => {
  const made = await run(
    'accounts',
    'create',
    'Acme',
    '--credits',
    '100',
    '--key',
    'prod',
    '--budget',
    'month=25',
    '--json',
  )
  const shown = await run('accounts', 'show', String(made.json.id))
  const csv = await run('keys', 'list', '-o', 'csv', '--columns', 'name,tags,allowed_models', '--search', 'prod')
  const wrong = await run('accounts', 'create', 'Acme', '--credits', '-1')

  assert.equal(made.code, 0, made.stderr)
  const { id, balance, budgets, key } = made.json as Record<string, Record<string, unknown>>
  assert.deepEqual([balance?.available, key?.account_id, (budgets as unknown as unknown[]).length], ['100', id, 1])
  assert.match(String(key?.secret), /^svc_live_/)
  assert.match(shown.stdout, /^budgets\t0 of 25 per month \(block\)$/m)
  assert.equal(csv.stdout, 'name,tags,allowed_models\r\nprod,,\r\n')
  assert.equal(wrong.code, 2)
})

test('operator tokens work until they are revoked, and sessions can be listed and ended', async () => {
  const made = await run('operators', 'create', 'cli-alice', '--role', 'viewer')
  const fields = new Map(made.stdout.split('\n').map(line => line.split('\t') as [string, string]))
  const [id = '', token = ''] = [fields.get('id'), fields.get('token')]
  const as: CliOptions = { env: { TURNPIKE_ADMIN_TOKEN: token } }

  assert.equal(made.code, 0, made.stderr)
  assert.match(made.stderr, /Save the token now/)
  const refused = await cli(gateway, ['accounts', 'create', 'x'], as)
  const reads = await cli(gateway, ['accounts', 'list', '--json'], as)
  assert.deepEqual([refused.code, reads.code], [1, 0])
  assert.match(refused.stderr, /read-only access/)

  const promoted = await run('operators', 'update', id, '--role', 'admin', '--json')
  assert.equal(promoted.json.role, 'admin')
  const login = await httpCall(`${gateway.url}/admin/v1/session`, { method: 'POST', body: { token } })
  const sessions = await run('sessions', 'list')
  assert.match(sessions.stdout, new RegExp(`${login.body.id}\tcli-alice\t127\\.0\\.0\\.1`))
  const ended = await run('sessions', 'end', String(login.body.id), '--json')
  const again = await run('sessions', 'end', String(login.body.id))
  assert.deepEqual([ended.code, ended.json.ok, again.code], [0, true, 1])

  const rotated = await run('operators', 'rotate', id, '--json')
  assert.notEqual(rotated.json.token, token)
  assert.equal((await cli(gateway, ['accounts', 'list'], as)).code, 1)
  assert.equal((await run('operators', 'remove', id)).code, 0)
  const listed = await run('operators', 'list', '--json')
  assert.deepEqual(
    (listed.json as unknown as Rows<{ id: string }>).data.map(operator => operator.id),
    ['op_root'],
  )

  const events = await run('events', 'list', '--subject', id, '--json')
  const actions = (events.json as unknown as Rows<{ action: string; actor: string }>).data
  assert.deepEqual(
    actions.map(({ action, actor }) => [action, actor]),
    [
      ['operator.remove', 'admin'],
      ['operator.rotate', 'admin'],
      ['operator.update', 'admin'],
      ['operator.create', 'admin'],
    ],
  )
  assert.ok(!events.stdout.includes(token))
})

test('settings show the start configuration without secrets', async () => {
  const plain = await run('settings')
  const json = await run('settings', '--json')

  assert.match(plain.stdout, /^engine\t(sqlite|postgres)$/m)
  assert.deepEqual(json.json.brand, { key_prefix: 'svc_live_', header_prefix: 'X-Svc-' })
  assert.ok(!(plain.stdout + json.stdout).includes(gateway.adminToken))
})

test('usage is listed by filter and exported to stdout or a file', async () => {
  const { id, secret } = await gateway.createKey()
  for (let i = 0; i < 3; i++) await gateway.chat({}, { key: secret })
  const folder = dirname(gateway.configFile)
  const of = ['--key', id]

  const listed = await run('usage', 'list', ...of, '--limit', '2')
  const csv = await run('usage', 'export', ...of)
  const lines = await run('usage', 'export', ...of, '--json')
  const filed = await run('usage', 'export', ...of, '--output', 'rows.csv')
  const twice = await run('usage', 'export', ...of, '--output', 'rows.csv')
  const nothing = await run('usage', 'export', '--key', 'key_nobody', '--json')
  const backwards = await run('usage', 'export', '--from', '2026-02-01', '--to', '2026-01-01', '--output', 'none.csv')

  assert.equal(listed.stdout.trimEnd().split('\n').length, 3)
  assert.match(listed.stderr, /More rows: --after [0-9a-f-]{36}\n/)
  assert.equal(csv.code, 0, csv.stderr)
  assert.match(csv.stdout, /^request_id,client_request_id,account_id,key_id,/)
  assert.equal(csv.stdout.trimEnd().split('\r\n').length, 4)
  const rows = lines.stdout.trimEnd().split('\n')
  assert.deepEqual(
    rows.map(row => (JSON.parse(row) as { key_id: string }).key_id),
    [id, id, id],
  )
  assert.deepEqual([filed.code, filed.stdout, filed.stderr], [0, '', ''])
  assert.equal(readFileSync(join(folder, 'rows.csv'), 'utf8'), csv.stdout)
  assert.deepEqual([twice.code, nothing.code, nothing.stdout], [1, 1, ''])
  assert.match(nothing.stderr, /there is no key with the ID, name or last four characters "key_nobody"/)
  assert.match(twice.stderr, /already exists/)
  assert.deepEqual([backwards.code, existsSync(join(folder, 'none.csv'))], [2, false])
  assert.match(backwards.stderr, /^turnpike: from/)
  assert.equal(existsSync(join(folder, 'none.csv.part')), false)
})

test('a chat from the shell streams its answer and prints tokens and cost', async () => {
  const { id, secret } = await gateway.createKey()
  const env = { TURNPIKE_API_KEY: secret, TURNPIKE_ADMIN_TOKEN: undefined }
  upstream.next({ words: ['Good', ' day', '!'] })

  const said = await cli(gateway, ['chat', 'test/m1', '--message', 'Hello', '--system', 'Be kind.'], { env })
  const sent = upstream.journal.at(-1)?.body as { messages: unknown } | undefined
  upstream.next({ words: ['Yes'] })
  const piped = await cli(gateway, ['chat', '--json'], { env, stdin: 'Is it?\nReally?\n' })
  upstream.next({ words: ['No'] })
  const byStdin = await cli(gateway, ['chat', '--key-stdin', '--max-tokens', '5'], {
    env: { TURNPIKE_ADMIN_TOKEN: undefined },
    stdin: `${secret}\nIs it not?\n`,
  })

  assert.deepEqual([said.code, said.stdout], [0, 'Good day!\n'], said.stderr)
  assert.deepEqual(sent?.messages, [
    { role: 'system', content: 'Be kind.' },
    { role: 'user', content: 'Hello' },
  ])
  const receipt = /^\d+ prompt \+ \d+ completion tokens · (0\.\d+) credits · [\w-]+ · ([0-9a-f-]{36})\n$/.exec(
    said.stderr,
  )
  const row = await gateway.admin('GET', `/usage/${receipt?.[2]}`)
  assert.deepEqual([row.body.key_id, row.body.cost], [id, receipt?.[1]])
  assert.deepEqual([piped.json.content, piped.json.finish_reason], ['Yes', 'stop'])
  assert.match(String(piped.json.cost), /^0\.\d+$/)
  assert.deepEqual([byStdin.code, byStdin.stdout], [0, 'No\n'], byStdin.stderr)
})

const KEY = { TURNPIKE_API_KEY: `svc_live_${'a'.repeat(43)}` }
const WRONG: readonly (readonly [args: string, code: number, said: RegExp, options?: CliOptions])[] = [
  [
    'accounts lits',
    2,
    /did you mean turnpike accounts list\?\nturnpike accounts has: list, show, create, update, portal-limits, ledger/,
  ],
  ['accounts create', 2, /usage: turnpike accounts create NAME/],
  ['accounts create x y', 2, /usage: turnpike accounts create NAME/],
  [`accounts create ${'x'.repeat(201)}`, 2, /name/],
  ['accounts show acct_nobody', 1, /no account/],
  ['accounts update acct_nobody', 2, /no changes given/],
  ['accounts list --status asleep', 2, /status must be one of/],
  ['accounts update acct_nobody --status active', 1, /no account/],
  ['accounts update x --name y --if-version many', 2, /--if-version must be a whole number/],
  ['accounts ledger acct_nobody', 1, /no account/],
  ['accounts list --limit 1000000', 2, /limit/],
  ['keys update key_nobody', 2, /no changes given/],
  ['keys update key_nobody --rpm 5', 1, /no key/],
  ['operators create bob', 2, /--role admin or --role viewer/],
  ['operators create bob --role king', 2, /role must be one of/],
  ['operators create bob --role admin --token t', 2, /--token/],
  ['operators create system --role admin', 2, /name/],
  ['operators update op_root --role viewer', 1, /last admin/],
  ['operators remove op_root', 1, /last admin/],
  ['operators rotate op_nobody', 1, /no operator/],
  ['sessions end ses_nobody', 1, /no session/],
  ['events list --from yesterday', 2, /from/],
  ['settings now', 2, /usage: turnpike settings/],
  ['usage list --outcome great', 2, /outcome must be one of/],
  ['usage export all', 2, /usage: turnpike usage export/],
  ['usage export --output /nowhere/at/all.csv', 1, /nowhere/],
  ['chat --message x', 2, /TURNPIKE_API_KEY/],
  ['chat --message x', 1, /invalid API key/, { env: KEY }],
  ['chat --message x --key k', 2, /--key/, { env: KEY }],
  ['chat a b', 2, /usage: turnpike chat/, { env: KEY }],
  ['chat a --max-tokens many --message x', 2, /--max-tokens must be a whole number/, { env: KEY }],
  ['chat a', 2, /no message/, { env: KEY, stdin: '\n' }],
]

test('errors go to stderr with exit code 2 for usage errors and 1 for failures', async t => {
  for (const [args, code, said, options] of WRONG) {
    await t.test(`turnpike ${args.slice(0, 80)}`, async () => {
      const result = await cli(gateway, args.split(' '), options)

      assert.equal(result.code, code, result.stderr)
      assert.equal(result.stdout, '')
      assert.match(result.stderr, said)
      assert.doesNotMatch(result.stderr, /\n +at /)
    })
  }
})
