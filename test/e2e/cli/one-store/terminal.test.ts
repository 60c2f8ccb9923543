// The command line on a terminal: tables that fit its width, colours unless disabled, a progress line for exports, and
// an interactive chat. In a pipe there is none of it.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { cli } from '../../../support/cli.ts'
import { openFixture } from '../../../support/fixture.ts'
import { onTerminal as runOnTerminal, type Terminal, visible } from '../../../support/terminal.ts'

const ENTRY = join(import.meta.dirname, '../../../../bin/turnpike.js')
const { gateway, upstream } = await openFixture()
const onTerminal = (args: string, options?: Terminal) => runOnTerminal(gateway, args, options)

test('a table is aligned, coloured and fits the terminal', async () => {
  await gateway.createAccount({ name: `a very long name ${'x'.repeat(120)}` })

  const wide = await onTerminal('accounts list', { columns: 400 })
  const narrow = await onTerminal('accounts list', { columns: 80 })
  const plain = await onTerminal('accounts list', { columns: 80, env: { NO_COLOR: '1' } })
  const piped = await cli(gateway, ['accounts', 'list'])

  assert.match(wide, /x{120}/)
  assert.match(wide, /\u001b\[33mout_of_credits/)
  for (const line of visible(narrow).split('\n')) assert.ok(line.length <= 80, `${line.length}: ${line}`)
  assert.match(visible(narrow), /^id +name +available +this_month$/m)
  assert.match(visible(narrow), /^More columns: -o wide$/m)
  assert.match(visible(narrow), /^acct_[0-9a-f]{32} /m)
  assert.match(visible(narrow), /…/)
  assert.doesNotMatch(plain, /\u001b/)
  assert.doesNotMatch(piped.stdout, /\u001b|…/)
  assert.match(piped.stdout, /x{120}\tout_of_credits\t/)
})

test('an export shows its progress on the terminal, not in its output', async () => {
  await gateway.chat()

  const seen = await onTerminal('usage export > rows.csv')

  assert.match(seen, /█+ 100 % {2}\d+ of \d+ rows/)
  assert.match(visible(await onTerminal('audit')), /^ok +I1 /m)
})

test('an export whose reader closes the pipe ends quietly', async () => {
  const { secret } = await gateway.createKey({ rpm_limit: 1000 })
  // More than a pipe holds.
  await Promise.all(Array.from({ length: 500 }, () => gateway.get('/v1/models', secret)))
  const run = `'${process.execPath}' '${ENTRY}' usage export --endpoint all`

  const { stdout, stderr } = await promisify(execFile)('sh', ['-c', `${run} | head -n 1`], {
    timeout: 60_000,
    env: { PATH: process.env.PATH ?? '', TURNPIKE_URL: gateway.url, TURNPIKE_ADMIN_TOKEN: gateway.adminToken },
  })

  assert.match(stdout, /^request_id,[^\n]*\r\n$/)
  assert.equal(stderr, '')
})

test('a conversation continues until Ctrl-D, keeps its history and prints the cost of each answer', async () => {
  const { secret } = await gateway.createKey()
  upstream.next({ words: ['First', ' answer'] })
  upstream.next({ words: ['Second', ' answer'] })

  const seen = visible(
    await onTerminal('chat test/m1', { env: { TURNPIKE_API_KEY: secret }, types: 'one\\ntwo\\n\\004' }),
  )

  assert.match(seen, /First answer[\s\S]*completion tokens[\s\S]*credits[\s\S]*Second answer[\s\S]*completion tokens/)
  const sent = upstream.journal.at(-1)?.body as { messages: readonly { content: string }[] } | undefined
  assert.deepEqual(
    sent?.messages.map(({ content }) => content),
    ['one', 'First answer', 'two'],
  )
})

test('what a model writes does not control the terminal, and reaches a file unchanged', async () => {
  const { secret } = await gateway.createKey()
  const env = { TURNPIKE_API_KEY: secret }
  const words = ['a\tb\n', '\u001b]0;title\u0007', '\u009b31m', 'c\rd שלום']

  upstream.next({ words })
  const seen = await onTerminal('chat test/m1 --message x', { env })
  upstream.next({ words })
  const piped = await cli(gateway, ['chat', 'test/m1', '--message', 'x'], { env })

  assert.match(seen, /a\tb\n\\u001b\]0;title\\u0007\\u009b31mcd שלום/)
  assert.doesNotMatch(visible(seen), /[^\P{Cc}\n\t]/u)
  assert.ok(piped.stdout.startsWith(words.join('')))
})

test('every list is useful at 80 columns: no ID is cut, and no line is longer', async () => {
  const { id, secret } = await gateway.createKey({ name: 'a key with a long name of its own' })
  await gateway.chat({}, { key: secret })
  const lists: Readonly<Record<string, RegExp>> = {
    'keys list': new RegExp(`^${id}  a key with.*active`, 'm'),
    'accounts list': /^acct_[0-9a-f]{32} .* 9\d\.\d+/m,
    'usage list': /[0-9a-f]{8}-[0-9a-f-]{27} {2}.*200/,
    'models list': /^test\/m1 /m,
    'providers list': /^up +active +openai /m,
    'operators list': /^op_root +admin +admin/m,
    'events list': new RegExp(`key\\.create +${id}`),
    nodes: /alive/,
    'usage summary --by account --this-month':
      /^name +cost +upstream_cost +margin +requests[\s\S]*^test +\d[\s\S]*^total +\d/m,
  }
  for (const [list, expected] of Object.entries(lists)) {
    const seen = visible(await onTerminal(list, { columns: 80 }))

    for (const line of seen.split('\n')) assert.ok(line.length <= 80, `${list}: ${line.length}: ${line}`)
    assert.match(seen, expected)
    assert.doesNotMatch(seen, /(?:key|acct|op)_[0-9a-f]+…|[0-9a-f]{8}-[0-9a-f-]*…|=\{|\[object/, list)
  }
})

test('columns, formats and IDs can be chosen', async () => {
  const { id, accountId } = await gateway.createKey({ name: 'chosen, "quoted"' })
  const run = (...args: string[]) => cli(gateway, ['keys', 'list', '--search', id, ...args])

  const [columns, csv, wide, table, quiet, unknown] = [
    await run('--columns', 'name,account_id'),
    await run('-o', 'csv', '--columns', 'id,name'),
    await run('-o', 'wide'),
    await run('-o', 'table'),
    await run('-q'),
    await run('--columns', 'nmae'),
  ]

  assert.equal(columns.stdout, `name\taccount_id\nchosen, "quoted"\t${accountId}\n`)
  assert.equal(csv.stdout, `id,name\r\n${id},"chosen, ""quoted"""\r\n`)
  assert.match(wide.stdout, /^id +name +state +this_month .* expires_at +revoked_at +version\n/)
  assert.match(table.stdout, /^id +name +state +this_month *\n/)
  assert.equal(quiet.stdout, `${id}\n`)
  assert.equal(unknown.code, 2)
  assert.match(unknown.stderr, /unknown column "nmae"; did you mean name\?\ncolumns: id, name, label, state, /)
})

test('what cannot be undone is asked for on a terminal, and not in a script', async () => {
  const { id } = await gateway.createKey({ name: 'precious' })
  const statusOf = async () => (await gateway.admin('GET', `/keys/${id}`)).body.status

  const refused = await onTerminal(`keys revoke ${id}; true`, { types: 'n\\n' })
  const left = await onTerminal('keys revoke precious; true', { types: '\\004' })
  assert.match(
    visible(refused),
    new RegExp(`Revoke the key "precious" \\(${id}\\)\\? This cannot be undone\\. \\[y/N\\]`),
  )
  assert.match(visible(refused), /cancelled; nothing was changed/)
  assert.match(visible(left), /cancelled; nothing was changed/)
  assert.equal(await statusOf(), 'active')
  await onTerminal('keys revoke precious', { types: 'y\\n' })
  assert.equal(await statusOf(), 'revoked')
  const other = await gateway.createKey({ name: 'other' })
  assert.doesNotMatch(await onTerminal('keys revoke other --yes'), /\[y\/N\]/)
  assert.equal((await gateway.admin('GET', `/keys/${other.id}`)).body.status, 'revoked')
})
