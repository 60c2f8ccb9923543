// A start that is refused: exit code 2, one clear message, and nothing changed on disk.
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { temporaryFolder } from '../../../support/folder.ts'
import { freePort } from '../../../support/free-port.ts'
import { standardConfig, startGateway } from '../../../support/gateway.ts'
import { type ProcessResult, runProcess } from '../../../support/gateway-process.ts'

const BAD_FILES = [
  ['a model without a price', 'providers: []\nmodels:\n  - id: m\n    context_length: 10\n', /turnpike\.yaml:3/],
  ['an unknown key', 'drain_delay: 1\nprovider: []\n', /turnpike\.yaml:2.*provider/],
  ['something that is not YAML', 'models: [\n', /turnpike\.yaml:2/],
  ['a variable that is not set', `brand: { key_prefix: "\${NO_SUCH}" }\n`, /turnpike\.yaml:1.*NO_SUCH/],
  ['an alias without its anchor', 'defaults:\n  rpm_limit: *nobody\n', /turnpike\.yaml:2:\d+: .*\*nobody/],
] as const

const BAD_VARIABLES = [
  ['TURNPIKE_PORT', '99999', /TURNPIKE_PORT/],
  ['TURNPIKE_ADMIN_TOKEN', 'short', /TURNPIKE_ADMIN_TOKEN/],
  ['TURNPIKE_LOG_LEVEL', 'loud', /TURNPIKE_LOG_LEVEL must be one of info, warn, error, silent\n/],
  ['TURNPIKE_PROT', '8080', /TURNPIKE_PROT is not a known variable/],
] as const

const NOT_OURS = /192\.0\.2\.1:\d+ cannot be used: E[A-Z]+ \(TURNPIKE_HOST, TURNPIKE_PORT\)/

test('an invalid file is named with its line, and nothing is created', async t => {
  await using folder = await temporaryFolder()
  for (const [what, text, named] of BAD_FILES) {
    await t.test(what, async () => {
      await writeFile(join(folder.path, 'turnpike.yaml'), text)

      const result = await runProcess(['serve'], folder.path, { TURNPIKE_PORT: String(await freePort()) })

      assertRefused(result, named)
      assert.deepEqual(readdirSync(folder.path), ['turnpike.yaml'])
    })
  }
})

test('an invalid or unknown variable is named without its value, and nothing is created', async t => {
  await using folder = await temporaryFolder()
  for (const [name, value, named] of BAD_VARIABLES) {
    await t.test(name, async () => {
      const env = { TURNPIKE_PORT: String(await freePort()), [name]: value }

      const result = await runProcess(['serve'], folder.path, env)

      assertRefused(result, named)
      assert.ok(!result.stderr.includes(value))
      assert.deepEqual(readdirSync(folder.path), [])
    })
  }
})

test('an unusable file, folder or address is named with its variable', async t => {
  await using folder = await temporaryFolder()
  await writeFile(join(folder.path, 'plain'), '')
  await mkdir(join(folder.path, 'keyed/encryption.key'), { recursive: true })
  const port = String(await freePort())

  for (const [what, env, named] of [
    [
      'no configuration',
      { TURNPIKE_CONFIG: 'nowhere.yaml' },
      /TURNPIKE_CONFIG.*nowhere\.yaml|nowhere\.yaml.*TURNPIKE_CONFIG/,
    ],
    ['a folder as key', { TURNPIKE_DATA_DIR: 'keyed' }, /encryption\.key cannot be used: /],
    ['a file as data dir', { TURNPIKE_DATA_DIR: 'plain' }, /TURNPIKE_DATA_DIR: .*plain cannot be used: /],
    [
      'a data dir below a file',
      { TURNPIKE_DATA_DIR: 'plain/data' },
      /TURNPIKE_DATA_DIR: .*data cannot be used: ENOTDIR/,
    ],
    ['a data dir in /proc', { TURNPIKE_DATA_DIR: '/proc/turnpike' }, /TURNPIKE_DATA_DIR: .*cannot be used: /],
    ['an address of another machine', { TURNPIKE_HOST: '192.0.2.1' }, NOT_OURS],
    [
      'the same for the admin listener',
      { TURNPIKE_ADMIN_LISTEN: '192.0.2.1:1' },
      /192\.0\.2\.1:1 cannot be .*ADMIN_LISTEN\)/,
    ],
  ] as const) {
    await t.test(what, async () => {
      const result = await runProcess(['serve'], folder.path, { TURNPIKE_PORT: port, ...env })

      assertRefused(result, named)
    })
  }
})

test('a file that has become invalid leaves existing data unchanged', async () => {
  await using folder = await temporaryFolder()
  const dataDir = join(folder.path, 'data')
  await using gateway = await startGateway({ config: standardConfig('http://127.0.0.1:9/v1'), dataDir })
  await gateway.createKey()
  assert.equal(await gateway.stop({ hurry: true }), 0)
  const before = fingerprint(dataDir)
  await writeFile(gateway.configFile, 'models: garbage\n')

  const env = { TURNPIKE_DATA_DIR: dataDir, TURNPIKE_CONFIG: gateway.configFile }
  const result = await runProcess(['serve'], folder.path, env)

  assertRefused(result, /turnpike\.yaml:1/)
  assert.deepEqual(fingerprint(dataDir), before)
  assert.ok((await gateway.audit()).ok)
})

test('a port in use stops the start, and no secret is created', async () => {
  await using folder = await temporaryFolder()
  await using taken = await takeAddress()

  const result = await runProcess(['serve'], folder.path, { TURNPIKE_PORT: taken.port })

  assertRefused(result, new RegExp(`127\\.0\\.0\\.1:${taken.port}.*in use`))
  const file = join(folder.path, 'data', 'turnpike.db')
  if (existsSync(file)) {
    const db = new DatabaseSync(file, { readOnly: true })
    const made = db
      .prepare(
        "SELECT (SELECT COUNT(*) FROM secret) + (SELECT COUNT(*) FROM account) AS rows, (SELECT COUNT(*) FROM setting WHERE name = 'admin_token_hash') AS tokens",
      )
      .get()
    db.close()
    assert.deepEqual({ ...made }, { rows: 0, tokens: 0 })
  }
  await using gateway = await startGateway({
    dataDir: join(folder.path, 'data'),
    env: { TURNPIKE_ADMIN_TOKEN: undefined },
  })
  assert.match(gateway.lines.join('\n'), /Admin token +tpk_admin_[\s\S]*First key +svc_live_/)
})

test('the message about an address in use names its variable', async t => {
  await using folder = await temporaryFolder()
  await using taken = await takeAddress()
  const free = String(await freePort())

  for (const [variable, env] of [
    ['TURNPIKE_HOST, TURNPIKE_PORT', { TURNPIKE_PORT: taken.port, TURNPIKE_ADMIN_LISTEN: free }],
    ['TURNPIKE_ADMIN_LISTEN', { TURNPIKE_PORT: free, TURNPIKE_ADMIN_LISTEN: taken.port }],
  ] as const) {
    await t.test(variable, async () => {
      const result = await runProcess(['serve'], folder.path, env)

      assertRefused(result, new RegExp(`127\\.0\\.0\\.1:${taken.port} is in use .*\\(${variable}\\)`))
    })
  }
})

async function takeAddress() {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const port = String((server.address() as AddressInfo).port)
  return { port, [Symbol.asyncDispose]: async () => void server.close() }
}

// A line for each mistake, and nothing that looks like a log or a stack trace.
function assertRefused(result: ProcessResult, named: RegExp): void {
  assert.equal(result.code, 2, result.stderr)
  assert.equal(result.stdout, '')
  assert.match(result.stderr, named)
  assert.match(result.stderr, /^turnpike: [^\n]+\n(?:\S+turnpike\.yaml:[^\n]+\n)*$/)
}

function fingerprint(folder: string): readonly (readonly [string, string])[] {
  const hash = (name: string) =>
    createHash('sha256')
      .update(readFileSync(join(folder, name)))
      .digest('hex')
  return readdirSync(folder)
    .sort()
    .map(name => [name, hash(name)] as const)
}
