// The first start with nothing configured: its printed commands work when pasted, are printed once, and only hashes are
// stored.
import assert from 'node:assert/strict'
import { execFile, spawnSync } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { temporaryFolder } from '../../../support/folder.ts'
import { freePort } from '../../../support/free-port.ts'
import { ENCRYPTION_KEY, type Gateway, standardConfig, startGateway } from '../../../support/gateway.ts'
import { installPackages } from '../../../support/install.ts'
import { assertChatCompletion, assertChunk } from '../../../support/schemas.ts'
import { parseSse } from '../../../support/sse.ts'
import { startUpstream } from '../../../support/upstream.ts'

const run = promisify(execFile)
const COMMAND = join(import.meta.dirname, '../../../../bin/turnpike.js')

// A bare Debian has no curl; where it cannot be installed the commands that need it fail.
if (spawnSync('curl', ['--version']).status !== 0) installPackages('curl')

test('a first start gives a working gateway and shows its secrets once', async t => {
  await using gateway = await startGateway({ env: { TURNPIKE_ADMIN_TOKEN: undefined } })
  const shown = secretsIn(gateway.lines)
  const [json = '', stream = ''] = gateway.lines.filter(line => line.trim().startsWith('curl '))

  await t.test('the first curl line answers as JSON when pasted', async () => {
    const { stdout } = await run('sh', ['-c', `${json} --silent --fail`])

    assertChatCompletion(JSON.parse(stdout))
  })

  await t.test('the second curl line answers as a stream when pasted', async () => {
    const { stdout } = await run('sh', ['-c', `${stream} --silent --fail`])

    const { chunks, done, content } = parseSse(stdout)
    for (const chunk of chunks) assertChunk(chunk)
    assert.ok(done && content.includes('Hello'))
  })

  await t.test('the admin token works, and the account has the rest of its ten credits', async () => {
    const { status, body } = await gateway.admin<{ data: { name: string; balance: { available: string } }[] }>(
      'GET',
      '/accounts',
      undefined,
      { authorization: `Bearer ${shown.adminToken}` },
    )

    assert.equal(status, 200)
    assert.deepEqual(
      body.data.map(account => account.name),
      ['default'],
    )
    assert.match(body.data[0]?.balance.available ?? '', /^9\.99/)
  })

  await t.test('there is no warning, and no file holds a secret or is readable by others', () => {
    assert.doesNotMatch(gateway.lines.join('\n'), /warn|deprecat|experimental/i)
    assertKept(gateway, shown)
    assert.equal(statSync(gateway.dataDir).mode & 0o077, 0)
    assertPrivateFiles(gateway.dataDir)
  })

  await t.test('a second start shows no secret, and the first key still works', async () => {
    const before = gateway.lines.length
    await gateway.restart()

    const said = gateway.lines.slice(before)
    assert.doesNotMatch(said.join('\n'), /svc_live_[0-9A-Za-z]{20}|tpk_admin_|curl/)
    for (const line of said) assert.equal(typeof JSON.parse(line), 'object')
    assert.equal((await gateway.chat({ model: 'demo/echo' }, { key: shown.secret })).status, 200)
  })

  await t.test('the way back that it prints works: a token of the environment, which stays in force', async () => {
    const said = gateway.lines.find(line => line.startsWith('If it is lost,'))
    assert.equal(said, 'If it is lost, restart with TURNPIKE_ADMIN_TOKEN set to a new one; then create new keys.')
    const statusWith = async (token: string) =>
      (await gateway.admin('GET', '/keys', undefined, { authorization: `Bearer ${token}` })).status
    const fresh = 'a-new-admin-token-0123456789'
    await gateway.restart({ TURNPIKE_ADMIN_TOKEN: fresh })
    assert.deepEqual([await statusWith(fresh), await statusWith(shown.adminToken)], [200, 401])
    await gateway.restart({ TURNPIKE_ADMIN_TOKEN: undefined })
    assert.equal(await statusWith(fresh), 200)
  })

  assert.ok((await gateway.audit()).ok)
})

test('a first start with a token and a catalog shows no secret and logs only JSON', async () => {
  const model = { id: 'm', context_length: 8192, max_output_tokens: 64, pricing: { prompt: '0', completion: '0' } }
  const config = {
    providers: [{ id: 'up', kind: 'openai', base_url: 'http://127.0.0.1:9/v1' }],
    models: [{ ...model, targets: [{ provider: 'up', model: 'm' }] }],
  }

  await using gateway = await startGateway({ config })

  assert.equal((await gateway.admin('GET', '/keys')).status, 200)
  for (const line of gateway.lines) assert.equal(typeof JSON.parse(line), 'object')
})

test('a first start with a catalog prints how to create a key', async t => {
  await using upstream = await startUpstream()
  const adminPort = String(await freePort())

  for (const [where, env] of [
    ['the admin API next to /v1', {}],
    ['the admin API on its own listener', { TURNPIKE_ADMIN_LISTEN: adminPort }],
  ] as const) {
    await t.test(where, async () => {
      const config = standardConfig(upstream.url)
      await using gateway = await startGateway({ config, env: { ...env, TURNPIKE_ADMIN_TOKEN: undefined } })
      const pasted = gateway.lines.filter(line => /^ {2}(export|npx) /.test(line)).join('\n')

      // Like npx in the folder of the package.
      const commands = pasted.replaceAll('npx turnpike', `'${process.execPath}' '${COMMAND}'`)
      const { stdout } = await run('sh', ['-ec', commands])

      const [secret = ''] = /svc_live_[0-9A-Za-z]{43}/.exec(stdout) ?? []
      assert.equal((await gateway.chat({}, { key: secret })).status, 200)
    })
  }
})

test('in an existing data dir that others can read, no file is readable by others', async () => {
  await using folder = await temporaryFolder()
  const dataDir = join(folder.path, 'data')
  mkdirSync(dataDir)
  chmodSync(dataDir, 0o755)

  await using gateway = await startGateway({ dataDir })
  await gateway.chat({ model: 'demo/echo' })

  assertPrivateFiles(dataDir)
})

test("the process has the gateway's memory settings, unless others were chosen", async () => {
  const NOTHING = { MALLOC_ARENA_MAX: undefined, GLIBC_TUNABLES: undefined, NODE_OPTIONS: undefined }
  await using left = await startGateway({ env: NOTHING })
  await using chosen = await startGateway({ env: { ...NOTHING, NODE_OPTIONS: '--max-semi-space-size=4' } })
  const own = { MALLOC_ARENA_MAX: '7', GLIBC_TUNABLES: 'glibc.malloc.mxfast=64' }
  await using partly = await startGateway({ env: { ...NOTHING, ...own } })
  const of = (what: string, { pid }: { readonly pid: number }) =>
    readFileSync(`/proc/${pid}/${what}`, 'utf8').split('\0')
  const isOurs = (gateway: { readonly pid: number }) => of('cmdline', gateway).includes('--max-semi-space-size=12')

  assert.deepEqual([left, chosen, partly].map(isOurs), [true, false, true])
  assert.ok(of('environ', left).includes('MALLOC_ARENA_MAX=2'))
  assert.equal(of('environ', left).includes('GLIBC_TUNABLES=glibc.malloc.hugetlb=1'), process.arch === 'x64')
  for (const [name, value] of Object.entries(own)) assert.ok(of('environ', partly).includes(`${name}=${value}`), name)
  // V8 prints this for an unknown flag, and continues without it.
  assert.deepEqual(
    left.lines.filter(line => line.includes('unrecognized flag')),
    [],
  )
})

test('an older Node starts the bundled one with the same settings', async () => {
  const NOTHING = { MALLOC_ARENA_MAX: undefined, NODE_OPTIONS: undefined }
  // The child that it starts has a channel to it.
  const older =
    'data:text/javascript,process.channel || Object.defineProperty(process.versions, "node", { value: "20.0.0" })'
  const nodeArgs = ['--import', older]
  await using left = await startGateway({ env: NOTHING, nodeArgs })
  await using chosen = await startGateway({ env: { ...NOTHING, NODE_OPTIONS: '--max-semi-space-size=4' }, nodeArgs })
  const startedBy = ({ pid }: { readonly pid: number }) => {
    const child = Number(readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8'))
    return readFileSync(`/proc/${child}/cmdline`, 'utf8').split('\0')
  }

  assert.deepEqual(
    [left, chosen].map(gateway => startedBy(gateway).includes('--max-semi-space-size=12')),
    [true, false],
  )
})

// Like the system's loader with a Node that has capabilities.
test('a process re-executes itself once, also if the environment is not passed on', async () => {
  const forget = 'data:text/javascript,delete process.env.MALLOC_ARENA_MAX'
  const env = { MALLOC_ARENA_MAX: undefined, NODE_OPTIONS: undefined }
  await using gateway = await startGateway({ env, nodeArgs: ['--import', forget] })

  assert.equal((await gateway.chat({ model: 'demo/echo' })).status, 200)
})

test('a process that cannot re-execute itself serves as it is', async () => {
  const permissions = ['--permission', '--allow-fs-read=*', '--allow-fs-write=*', '--allow-worker', '--allow-net']
  // Under these permissions Node cannot sync a file to disk, which creating a key file requires.
  const env = { NODE_OPTIONS: undefined, TURNPIKE_ENCRYPTION_KEY: ENCRYPTION_KEY }
  await using gateway = await startGateway({ env, nodeArgs: permissions })

  assert.equal((await gateway.chat({ model: 'demo/echo' })).status, 200)
})

test('a first start that ended before it created the default account is completed by the next one', async () => {
  await using upstream = await startUpstream()
  await using gateway = await startGateway({ config: standardConfig(upstream.url) })
  await gateway.stop({ hurry: true })
  const db = new DatabaseSync(join(gateway.dataDir, 'turnpike.db'))
  const { changes } = db
    .prepare("DELETE FROM account WHERE id = (SELECT value FROM setting WHERE name = 'default_account')")
    .run()
  db.exec("DELETE FROM setting WHERE name = 'first_start_shown'")
  db.close()

  await gateway.restart()

  assert.equal(changes, 1)
  assert.equal((await gateway.admin('POST', '/keys', { name: 'in the default account' })).status, 201)
})

type Shown = { readonly adminToken: string; readonly secret: string }

function secretsIn(lines: readonly string[]): Shown {
  const text = lines.join('\n')
  const [, adminToken = ''] = /Admin token +(tpk_admin_\S{32,})/.exec(text) ?? []
  const [, secret = ''] = /First key +(svc_live_[0-9A-Za-z]{43})\b/.exec(text) ?? []
  assert.ok(adminToken !== '' && secret !== '', text)
  return { adminToken, secret }
}

function assertKept(gateway: Gateway, shown: Shown): void {
  for (const name of ['turnpike.db', 'turnpike.db-wal', 'encryption.key', 'turnpike.lock']) {
    const file = join(gateway.dataDir, name)
    if (!existsSync(file)) continue
    const bytes = readFileSync(file)
    assert.ok(!bytes.includes(shown.secret) && !bytes.includes(shown.adminToken), name)
  }
}

function assertPrivateFiles(folder: string): void {
  const names = readdirSync(folder)
  assert.ok(names.includes('turnpike.db') && names.includes('turnpike.db-wal') && names.includes('encryption.key'))
  for (const name of names) assert.equal(statSync(join(folder, name)).mode & 0o077, 0, name)
}
