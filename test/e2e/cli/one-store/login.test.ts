// Login and profiles: a token is checked before it is kept, kept in a private file, and used only for its own gateway.
import assert from 'node:assert/strict'
import { chmodSync, existsSync, readFileSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { type CliOptions, cli } from '../../../support/cli.ts'
import { openFixture } from '../../../support/fixture.ts'
import { onTerminal, visible } from '../../../support/terminal.ts'

const { gateway } = await openFixture()
const UNSET = { TURNPIKE_URL: undefined, TURNPIKE_ADMIN_TOKEN: undefined }
const file = join(dirname(gateway.configFile), 'settings/turnpike/profiles.json')
const run = (args: readonly string[], options: CliOptions = {}) =>
  cli(gateway, args, { ...options, env: { ...UNSET, ...options.env } })

test('a wrong token is not kept', async () => {
  const wrong = await run(['login', '--url', gateway.url], { stdin: 'tpk_wrong_token\n' })
  const empty = await run(['login', '--url', gateway.url], { stdin: '\n' })
  const asArgument = await run(['login', '--url', gateway.url, gateway.adminToken])
  const nowhere = await run(['login', '--url', 'http://127.0.0.1:9'], { stdin: 'tpk_token\n' })

  assert.deepEqual([wrong.code, empty.code, asArgument.code, nowhere.code], [1, 2, 2, 1])
  assert.match(wrong.stderr, /invalid admin token/)
  assert.match(nowhere.stderr, /http:\/\/127\.0\.0\.1:9 \(from this login\)/)
  assert.equal(existsSync(file), false)
})

test('after a login commands need neither URL nor token, until the logout', async () => {
  const login = await run(['login', '--url', `${gateway.url}/`, '--json'], { stdin: `${gateway.adminToken}\n` })
  const listed = await run(['keys', 'list', '--json'])
  const profiles = await run(['profiles', 'list'])

  assert.deepEqual(login.json.operator, { id: 'op_root', name: 'admin', role: 'admin' }, login.stderr)
  assert.equal(statSync(file).mode & 0o777, 0o600)
  assert.equal(listed.code, 0, listed.stderr)
  assert.equal(profiles.stdout, `name\turl\tcurrent\ndefault\t${gateway.url}\ttrue\n`)
  for (const { stdout, stderr } of [login, listed, profiles])
    assert.ok(!`${stdout}${stderr}`.includes(gateway.adminToken))

  chmodSync(file, 0o644)
  const open = await run(['keys', 'list'])
  assert.equal(open.code, 2)
  assert.match(open.stderr, /other users can read .*; run: chmod 600/)
  chmodSync(file, 0o600)

  const logout = await run(['logout', '--json'])
  const after = await run(['keys', 'list'])
  assert.deepEqual(logout.json, { ok: true, removed: 'default' })
  assert.ok(!readFileSync(file, 'utf8').includes(gateway.adminToken))
  assert.equal(after.code, 2)
  assert.match(after.stderr, /run "turnpike login", or set TURNPIKE_ADMIN_TOKEN/)
})

test('profiles are chosen by name, before or after the command, or for all later commands', async () => {
  const viewer = await gateway.admin<{ token: string }>('POST', '/operators', {
    name: 'profile-viewer',
    role: 'viewer',
  })
  await run(['login', '--profile', 'root', '--url', gateway.url], { stdin: `${gateway.adminToken}\n` })
  await run(['login', '--profile', 'viewer', '--url', gateway.url], { stdin: viewer.body.token })
  const create = (...args: string[]) => run([...args, 'keys', 'create', 'x'])

  const asViewer = await create()
  const before = await create('--profile', 'root')
  const after = await run(['keys', 'create', 'x', '--profile=root'])
  await run(['profiles', 'use', 'root'])
  const used = await create()
  const unknown = await run(['profiles', 'use', 'rot'])

  assert.deepEqual([asViewer.code, before.code, after.code, used.code, unknown.code], [1, 0, 0, 0, 2])
  assert.match(asViewer.stderr, /viewer|read-only/i)
  assert.match(unknown.stderr, /there is no profile "rot"; did you mean root\?/)
})

test('TURNPIKE_PROFILE names the profile in use for every command, logout included', async () => {
  await run(['login', '--profile', 'kept', '--url', gateway.url], { stdin: `${gateway.adminToken}\n` })
  await run(['login', '--profile', 'gone', '--url', gateway.url], { stdin: `${gateway.adminToken}\n` })
  await run(['profiles', 'use', 'kept'])
  const env = { TURNPIKE_PROFILE: 'gone' }
  const inUse = ({ json }: Awaited<ReturnType<typeof run>>) =>
    (json.data as unknown as { name: string; current: boolean }[]).filter(row => row.current).map(row => row.name)

  const [named, unnamed] = [
    await run(['profiles', 'list', '--json'], { env }),
    await run(['profiles', 'list', '--json']),
  ]
  const logout = await run(['logout', '--json'], { env })
  const left = await run(['profiles', 'list', '-q'])

  assert.deepEqual([inUse(named), inUse(unnamed)], [['gone'], ['kept']])
  assert.equal(logout.json.removed, 'gone')
  assert.match(left.stdout, /^kept$/m)
  assert.doesNotMatch(left.stdout, /^gone$/m)
})

test('on a terminal the token is not shown while it is typed', async () => {
  const seen = await onTerminal(gateway, 'login --profile typed', {
    env: { TURNPIKE_ADMIN_TOKEN: '' },
    types: `${gateway.adminToken}x\\177\\n`,
  })

  assert.match(visible(seen), new RegExp(`Admin token for ${gateway.url}: \\n`))
  assert.match(visible(seen), /operator +admin \(admin\)/)
  assert.ok(!seen.includes(gateway.adminToken))
})
