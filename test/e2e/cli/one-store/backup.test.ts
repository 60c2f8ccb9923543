// The commands that work on the store's files: audit and backup while a gateway is writing, restore into an empty data
// dir, and config check without any gateway.
import assert from 'node:assert/strict'
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { cli } from '../../../support/cli.ts'
import { temporaryFolder } from '../../../support/folder.ts'
import { standardConfig, startGateway } from '../../../support/gateway.ts'
import { startLoad } from '../../../support/load.ts'
import { until } from '../../../support/until.ts'
import { startUpstream } from '../../../support/upstream.ts'
import { balanceOf } from '../../../support/usage.ts'

test('a backup of a busy gateway is consistent and restores the installation', async t => {
  await using upstream = await startUpstream()
  await using folder = await temporaryFolder()
  await using gateway = await startGateway({ config: standardConfig(upstream.url) })
  const { secret, accountId } = await gateway.createKey({ rpm_limit: 1_000_000, daily_limit: null })
  const file = join(folder.path, 'backup.db')
  const load = startLoad({ url: gateway.url, secrets: [secret], callers: 4, leavers: false, models: ['test/m1'] })
  await until('the gateway is busy', () => load.responses.length > 20)

  const [audit, backup] = await Promise.all([
    cli(gateway, ['audit', '--json']),
    cli(gateway, ['backup', file, '--json']),
  ])
  const early = load.responses[0]?.requestId
  await gateway.kill()
  await load.ended

  await t.test('audit and backup work while the gateway writes, and only the owner can read the copy', () => {
    assert.deepEqual([audit.code, audit.json.ok], [0, true])
    assert.deepEqual([backup.code, backup.json.ok], [0, true], backup.stderr)
    assert.equal(statSync(file).mode & 0o077, 0)
    assert.deepEqual(readdirSync(folder.path), ['backup.db'])
  })

  await t.test('a backup never overwrites a file', async () => {
    const before = readFileSync(file)

    const again = await cli(gateway, ['backup', file])

    assert.equal(again.code, 1)
    assert.match(again.stderr, /already exists/)
    assert.deepEqual(readFileSync(file), before)
  })

  await t.test('restore needs an empty data dir and a valid backup', async () => {
    const torn = join(folder.path, 'torn.db')
    writeFileSync(torn, readFileSync(file).subarray(0, 30_000))
    const empty = join(folder.path, 'empty')
    mkdirSync(empty)

    const full = await cli(gateway, ['restore', file])
    const broken = await cli(gateway, ['restore', torn], { env: { TURNPIKE_DATA_DIR: empty } })
    const nowhere = await cli(gateway, ['restore', file], { env: { TURNPIKE_DATA_DIR: join(torn, 'data') } })

    assert.deepEqual([full.code, broken.code, nowhere.code], [1, 1, 1])
    assert.match(full.stderr, /not empty/)
    assert.match(nowhere.stderr, /^turnpike: ENOTDIR: .*torn\.db.*\n$/)
    assert.ok(!existsSync(join(empty, 'turnpike.db')))
  })

  await t.test('a gateway on the restored data has the key, its balance and its rows', async () => {
    const dataDir = join(folder.path, 'restored')
    const restored = await cli(gateway, ['restore', file, '--json'], { env: { TURNPIKE_DATA_DIR: dataDir } })
    await using second = await startGateway({ config: standardConfig(upstream.url), dataDir })

    assert.deepEqual([restored.code, restored.json.ok], [0, true], restored.stderr)
    assert.equal((await second.chat({}, { key: secret })).status, 200)
    assert.equal((await second.get(`/v1/usage/${early}`, secret)).status, 200)
    assert.equal((await balanceOf(second, accountId)).held, '0')
    assert.ok((await second.audit()).ok)
  })
})

test('audit names the violated invariant and exits with 1', async () => {
  await using gateway = await startGateway()
  await gateway.stop({ hurry: true })
  const db = new DatabaseSync(join(gateway.dataDir, 'turnpike.db'))
  db.exec('UPDATE account SET available = available + 1')
  db.close()

  const plain = await cli(gateway, ['audit'])
  const json = await cli(gateway, ['audit', '--json'])

  assert.deepEqual([plain.code, json.code, json.json.ok], [1, 1, false])
  assert.match(plain.stdout, /BROKEN +I1 /)
  const nowhere = await cli(gateway, ['audit'], { env: { TURNPIKE_DATA_DIR: '/nowhere' } })
  assert.equal(nowhere.code, 1)
  assert.match(nowhere.stderr, /database not found/)
})

test('config check reports the meaning or the errors of a file and creates nothing', async () => {
  await using gateway = await startGateway({ config: standardConfig('http://127.0.0.1:9/v1') })
  await using folder = await temporaryFolder()
  const bad = join(folder.path, 'bad.yaml')
  writeFileSync(bad, 'models:\n  - id: m\n')
  const env = { TURNPIKE_DATA_DIR: join(folder.path, 'data') }

  const good = await cli(gateway, ['config', 'check', gateway.configFile, '--json'], { env })
  const wrong = await cli(gateway, ['config', 'check', bad], { env })

  assert.deepEqual([good.code, good.json.ok, good.json.providers], [0, true, ['up', 'up2']])
  assert.ok(!good.stdout.includes('upstream-secret-canary'))
  assert.equal(wrong.code, 2)
  assert.match(wrong.stderr, /bad\.yaml:2/)
  assert.deepEqual(readdirSync(folder.path), ['bad.yaml'])
})
