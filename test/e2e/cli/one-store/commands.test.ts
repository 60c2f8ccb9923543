// The command line as a client of a running gateway: keys, credits and usage, as text and as JSON, with messages and
// exit codes for errors, and secrets only where they are created.
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { cli } from '../../../support/cli.ts'
import { openFixture } from '../../../support/fixture.ts'
import { freePort } from '../../../support/free-port.ts'
import { settledRow } from '../../../support/usage.ts'

const { gateway } = await openFixture()

test('the CLI creates, changes and revokes a key', async () => {
  const controls = [
    '--rpm',
    '60',
    '--daily',
    '5',
    '--credit-limit',
    '2.5',
    '--scope',
    'chat.completions',
    '--expires',
    '30d',
  ]
  const account = await gateway.createAccount()

  const created = await cli(gateway, ['keys', 'create', 'ci', '--account', account.id, ...controls, '--json'])
  const key = created.json
  assert.equal(created.code, 0, created.stderr)
  assert.match(String(key.secret), /^svc_live_[0-9A-Za-z]{43}$/)
  assert.deepEqual(
    [key.name, key.account_id, key.rpm_limit, key.daily_limit, key.credit_limit, key.scopes],
    ['ci', account.id, 60, 5, '2.5', ['chat.completions']],
  )
  const id = String(key.id)

  const credits = await cli(gateway, ['credits', 'add', account.id, '10.25', '--note', 'welcome', '--json'])
  assert.deepEqual([credits.json.kind, credits.json.amount, credits.json.note], ['topup', '10.25', 'welcome'])
  const chat = await gateway.chat({}, { key: String(key.secret) })
  assert.equal(chat.status, 200)
  const usage = await cli(gateway, ['usage', 'show', String(chat.headers['x-request-id']), '--json'])
  assert.deepEqual([usage.json.key_id, usage.json.cost], [id, chat.headers['x-svc-cost']])

  const rotated = await cli(gateway, ['keys', 'rotate', id, '--json'])
  assert.notEqual(rotated.json.secret, key.secret)
  assert.equal((await gateway.chat({}, { key: String(key.secret) })).status, 200)
  const ended = await cli(gateway, ['keys', 'end-grace', id, '--json'])
  assert.deepEqual([ended.code, ended.json.previous, ended.json.secret], [0, [], undefined])
  assert.equal((await gateway.chat({}, { key: String(key.secret) })).status, 401)
  assert.equal((await gateway.chat({}, { key: String(rotated.json.secret) })).status, 200)

  const revoked = await cli(gateway, ['keys', 'revoke', id, '--json'])
  assert.deepEqual([revoked.code, revoked.json.status], [0, 'revoked'])
  assert.equal((await gateway.chat({}, { key: String(rotated.json.secret) })).status, 401)
  const listed = await cli(gateway, ['keys', 'list', '--account', account.id, '--status', 'revoked', '--json'])
  const { data } = listed.json as unknown as { data: { id: string; secret?: unknown }[] }
  assert.deepEqual(
    data.map(each => each.id),
    [id],
  )
  assert.ok(!listed.stdout.includes(String(key.secret)) && !listed.stdout.includes(String(rotated.json.secret)))
})

test('models and tags of a key, and usage by tag', async () => {
  const options = ['--model', 'test/*', '--model', 'other', '--tag', 'team=search', '--tag', 'note=a=b']
  const created = await cli(gateway, ['keys', 'create', 'tagged', ...options, '--json'])
  const { id, secret, allowed_models: models, tags } = created.json
  assert.deepEqual([models, tags], [['test/*', 'other'], { note: 'a=b', team: 'search' }], created.stderr)
  const chat = await gateway.chat({}, { key: String(secret), headers: { 'x-svc-tags': 'run=7' } })
  await settledRow(gateway, chat.headers['x-request-id'])

  const listed = await cli(gateway, ['usage', 'list', '--tag', 'team=search', '--tag', 'run=7', '--json'])
  const summary = await cli(gateway, ['usage', 'summary', '--by', 'tag:run', '--key', String(id)])
  const updated = await cli(gateway, ['keys', 'update', String(id), '--model', 'any', '--tag', 'none', '--json'])

  assert.equal((listed.json as unknown as { data: unknown[] }).data.length, 1)
  assert.match(summary.stdout, /^group\trequests\t[^\n]*\n7\t1\t/)
  assert.deepEqual([updated.json.allowed_models, updated.json.tags], [[], {}])
})

test('without --json it prints tab-separated lines, and the secret once', async () => {
  const created = await cli(gateway, ['keys', 'create', 'plain name'])
  const fields = new Map(created.stdout.split('\n').map(line => line.split('\t') as [string, string]))
  const secret = fields.get('secret') ?? ''

  assert.equal(created.code, 0)
  assert.match(secret, /^svc_live_/)
  assert.match(created.stderr, /cannot be shown again/)
  const list = await cli(gateway, ['keys', 'list', '--search', fields.get('id') ?? ''])
  const [head, row] = list.stdout.split('\n').map(line => line.split('\t'))
  assert.equal(row?.[head?.indexOf('label') ?? -1], `svc_live_…${secret.slice(-4)}`)
  assert.ok(!list.stdout.includes(secret))
})

test('the admin token is read from the environment or stdin, never from an argument', async () => {
  const unset = { TURNPIKE_ADMIN_TOKEN: undefined }

  const byStdin = await cli(gateway, ['keys', 'list', '--token-stdin'], {
    env: unset,
    stdin: `${gateway.adminToken}\n`,
  })
  const without = await cli(gateway, ['keys', 'list'], { env: unset })
  const wrong = await cli(gateway, ['keys', 'list', '--token-stdin'], { stdin: 'not-the-token\n' })
  const asArgument = await cli(gateway, ['keys', 'list', '--token', gateway.adminToken])

  assert.equal(byStdin.code, 0, byStdin.stderr)
  assert.deepEqual([without.code, wrong.code, asArgument.code], [2, 1, 2])
  assert.match(without.stderr, /TURNPIKE_ADMIN_TOKEN/)
  assert.match(wrong.stderr, /invalid admin token/)
  assert.ok(!asArgument.stderr.includes(gateway.adminToken))
})

const WRONG: readonly (readonly [args: string, code: number, said: RegExp])[] = [
  ['garbage', 2, /unknown command "garbage"/],
  ['keys garbage', 2, /unknown command "keys garbage"\nturnpike keys has: create, list/],
  ['keys create', 2, /missing argument: NAME\nusage: turnpike keys create NAME/],
  ['keys create a b', 2, /unexpected argument: b\nusage: turnpike keys create NAME/],
  ['keys create x --rpm many', 2, /--rpm must be a whole number/],
  ['serve --json', 2, /--json[\s\S]*usage: turnpike serve/],
  ['keys create x --rpm 0', 2, /^turnpike: rpm_limit must be a whole number from 1 to 10000000\.\n$/],
  [
    'keys create x --scope all',
    2,
    /^turnpike: scopes\.0 must be one of chat\.completions, embeddings, models\.read\.\n$/,
  ],
  ['keys list --status asleep', 2, /^turnpike: status must be one of active, revoked, expired, stopped\.\n$/],
  ['keys create x --allow-ip 10.0.0.0/99', 2, /ip_allowlist/],
  ['keys create x --account acct_nobody', 1, /there is no account with the ID or name "acct_nobody"/],
  ['keys rotate key_nobody', 1, /not|no /i],
  ['keys list --limit 5000', 2, /limit/],
  ['credits add acct_x ten', 2, /AMOUNT/],
  ['credits add acct_nobody 10', 1, /account/],
  ['usage show 00000000-0000-7000-8000-000000000000', 1, /not|no /i],
  ['audit --bogus', 2, /--bogus/],
  ['keys create a --tag team', 2, /--tag must be NAME=VALUE/],
  ['usage summary --by colour', 2, /group_by/],
  ['backup', 2, /usage: turnpike backup FILE/],
  ['restore', 2, /usage: turnpike restore FILE/],
  ['forget-credentials', 2, /--yes/],
  ['forget-credentials --yes', 1, /a gateway is running/],
]

test('errors are one or two lines on stderr with exit code 2 for usage errors and 1 for failures', async t => {
  await Promise.all(
    WRONG.map(([args, code, said]) =>
      t.test(`turnpike ${args}`, async () => {
        const result = await cli(gateway, args.split(' ').filter(Boolean))

        assert.equal(result.code, code, result.stderr)
        assert.equal(result.stdout, '')
        assert.match(result.stderr, said)
        assert.doesNotMatch(result.stderr, /\n +at /)
      }),
    ),
  )
})

const COMMANDS = `serve|keys create|keys list|keys show|keys update|keys rotate|keys end-grace|keys reset-day|keys revoke|accounts list|accounts show|accounts create|accounts update|accounts ledger|credits add|providers list|providers show|providers create|providers update|providers delete|providers add-credential|providers remove-credential|providers health|models list|models show|models create|models update|models delete|models import|apply|usage list|usage show|usage summary|usage export|chat|operators list|operators create|operators update|operators rotate|operators remove|sessions list|sessions end|events list|settings|config check|audit|backup|forget-credentials|restore`

test('every command has --help', async t => {
  const nowhere = { TURNPIKE_URL: 'http://127.0.0.1:9', TURNPIKE_DATA_DIR: '/nowhere', TURNPIKE_ADMIN_TOKEN: undefined }
  await Promise.all(
    COMMANDS.split('|').map(command =>
      t.test(command, async () => {
        const { code, stdout, stderr } = await cli(gateway, [...command.split(' '), '--help'], { env: nowhere })

        assert.deepEqual([code, stderr], [0, ''])
        assert.ok(stdout.startsWith(`turnpike ${command}`), stdout)
        assert.match(stdout, /--help/)
        // The gateway prints its log and nothing else.
        assert.equal(stdout.includes('--json'), command !== 'serve')
      }),
    ),
  )
})

test('an unreachable gateway is named', async () => {
  const nowhere = `http://127.0.0.1:${await freePort()}`

  const result = await cli(gateway, ['keys', 'list'], { env: { TURNPIKE_URL: nowhere } })

  assert.equal(result.code, 1)
  assert.match(result.stderr, new RegExp(`connection refused at ${nowhere}`))
})

test('without a command, and with help, it prints help on stdout and succeeds', async () => {
  const cases: Readonly<Record<string, RegExp>> = {
    '': /^turnpike – [\s\S]* {2}serve +start the gateway[\s\S]*Examples:/,
    help: /^turnpike – /,
    keys: /^turnpike keys: manage API keys\n\nCommands:[\s\S]*Examples:\n {2}turnpike keys create /,
    'help keys': /^turnpike keys: /,
    'help keys create': /^turnpike keys create NAME[\s\S]*Examples:/,
    'help serve': /^turnpike serve\n/,
  }
  for (const [args, expected] of Object.entries(cases)) {
    const { code, stdout, stderr } = await cli(gateway, args.split(' ').filter(Boolean))

    assert.deepEqual([code, stderr], [0, ''], args)
    assert.match(stdout, expected)
  }
})

test('a misspelled command gets a suggestion', async () => {
  const cases: Readonly<Record<string, RegExp>> = {
    'key list': /unknown command "key"; did you mean turnpike keys\?/,
    'keys lsit': /unknown command "keys lsit"; did you mean turnpike keys list\?/,
    'keys list --stauts active': /unknown option --stauts; did you mean --status\?/,
    'help kyes': /did you mean turnpike keys\?/,
    zzzzzzz: /unknown command "zzzzzzz"; run turnpike --help/,
  }
  for (const [args, expected] of Object.entries(cases)) {
    const { code, stderr } = await cli(gateway, args.split(' '))

    assert.equal(code, 2)
    assert.match(stderr, expected)
  }
})

test('config check reports every mistake, as text or JSON, and names a file that is missing', async () => {
  const file = join(dirname(gateway.configFile), 'wrong.yaml')
  writeFileSync(file, 'markup: abc\nexplian: true\n')

  const text = await cli(gateway, ['config', 'check', file])
  const json = await cli(gateway, ['config', 'check', file, '--json'])
  const missing = await cli(gateway, ['config', 'check', '/nowhere/turnpike.yaml'])
  const good = await cli(gateway, ['config', 'check', gateway.configFile, '--json'])

  assert.deepEqual([text.code, json.code, missing.code, good.code], [2, 2, 2, 0])
  assert.match(text.stderr, /wrong\.yaml:1:9: markup: must be .*\n.*wrong\.yaml:2:1: explian: is not a known field/)
  const { ok, errors } = json.json as unknown as { ok: boolean; errors: readonly Record<string, unknown>[] }
  assert.equal(ok, false)
  assert.deepEqual(
    errors.map(({ file: at, line, column }) => [at, line, column]),
    [
      [file, 1, 9],
      [file, 2, 1],
    ],
  )
  assert.equal(missing.stderr, 'turnpike: file not found: /nowhere/turnpike.yaml\n')
})
