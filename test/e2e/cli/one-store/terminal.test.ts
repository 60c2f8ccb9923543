// The command line on a terminal: tables that fit its width, colours unless disabled, a progress line for exports, and
// an interactive chat. In a pipe there is none of it.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { cli } from '../../../support/cli.ts'
import { openFixture } from '../../../support/fixture.ts'

const ENTRY = join(import.meta.dirname, '../../../../bin/turnpike.js')
const { gateway, upstream } = await openFixture()

test('a table is aligned, coloured and fits the terminal', async () => {
  await gateway.createAccount({ name: `a very long name ${'x'.repeat(120)}` })

  const wide = await onTerminal('accounts list', { columns: 400 })
  const narrow = await onTerminal('accounts list', { columns: 60 })
  const plain = await onTerminal('accounts list', { columns: 60, env: { NO_COLOR: '1' } })
  const piped = await cli(gateway, ['accounts', 'list'])

  assert.match(wide, /x{120}/)
  assert.match(wide, /\u001b\[32mactive/)
  for (const line of visible(narrow).split('\n')) assert.ok(line.length <= 60, `${line.length}: ${line}`)
  assert.match(visible(narrow), /^id +name +status +balance +created_at$/m)
  assert.match(visible(narrow), /…/)
  assert.doesNotMatch(plain, /\u001b/)
  assert.doesNotMatch(piped.stdout, /\u001b|…/)
  assert.match(piped.stdout, /x{120}\tactive\t/)
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

type Terminal = {
  readonly columns?: number
  readonly env?: Readonly<Record<string, string>>
  // What the person types, as printf writes it.
  readonly types?: string
}

// `script` runs the command in its own terminal.
async function onTerminal(args: string, { columns = 100, env = {}, types }: Terminal = {}): Promise<string> {
  const input = types === undefined ? 'sleep 0' : `(sleep 2; printf '${types}'; sleep 4)`
  const command = `stty cols ${columns}; '${process.execPath}' '${ENTRY}' ${args}`
  const { stdout } = await promisify(execFile)('sh', ['-c', `${input} | script -qefc "$COMMAND" /dev/null`], {
    cwd: dirname(gateway.configFile),
    timeout: 60_000,
    env: {
      PATH: process.env.PATH ?? '',
      TERM: 'xterm-256color',
      COMMAND: command,
      TURNPIKE_URL: gateway.url,
      TURNPIKE_ADMIN_TOKEN: gateway.adminToken,
      ...gateway.storeEnv,
      ...env,
    },
  })
  return stdout.replaceAll('\r\n', '\n')
}

function visible(text: string): string {
  return text.replace(/\u001b\[[\d;?]*[A-Za-z]/g, '')
}
