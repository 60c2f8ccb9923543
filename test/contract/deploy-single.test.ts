// Deployment of one process: the systemd unit and the compose file of one container, checked by their own tools and against
// the program.
import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { parse } from 'yaml'
import { loadConfig } from '../../src/config/config.ts'
import { BOUNDS } from '../../src/config/limits.ts'
import { deployTools, ROOT, runTool } from '../support/deploy-tools.ts'
import { temporaryFolder } from '../support/folder.ts'
import { installPackages } from '../support/install.ts'

const DRAIN_SECONDS = (BOUNDS.drainDelayMs + BOUNDS.drainMaxMs) / 1000
const UNIT = 'deploy/systemd/turnpike.service'
// From 0 (confined) to 100 (exposed); a service without any setting has 96.
const EXPOSURE_MAX = 20
const read = (path: string) => readFileSync(join(ROOT, path), 'utf8')

test('the systemd unit', async t => {
  const text = read(UNIT)
  const values = new Map([...text.matchAll(/^(\w+)=(.*)$/gm)].map(match => [match[1] ?? '', match[2] ?? '']))

  await t.test('gives it time to drain, and does not restart after a configuration error', () => {
    assert.ok(Number(values.get('TimeoutStopSec')) > DRAIN_SECONDS + 30)
    assert.equal(values.get('RestartPreventExitStatus'), '2')
    assert.equal(values.get('KillMode'), 'mixed')
  })

  await t.test('has a user and a private state directory of its own', () => {
    const [name, value] = (values.get('Environment') ?? '').split('=')
    const config = loadConfig({ [name ?? '']: value }, '/nowhere')

    assert.equal(config.dataDir, `/var/lib/${values.get('StateDirectory')}`)
    assert.deepEqual([values.get('DynamicUser'), values.get('StateDirectoryMode')], ['yes', '0700'])
  })

  await t.test('is accepted by systemd, and hardened', async () => {
    if (runTool('systemd-analyze', ['--version']).code !== 0 && !installPackages('systemd')) {
      process.stderr.write('\nsystemd-analyze is not installed: THE UNIT IS NOT CHECKED\n\n')
      return
    }
    await using folder = await temporaryFolder()
    const file = join(folder.path, 'turnpike.service')
    // The command must exist on the machine that checks it.
    writeFileSync(file, text.replace(/^ExecStart=\S+/m, `ExecStart=${process.execPath}`))

    const verified = runTool('systemd-analyze', ['verify', file])
    const security = ['security', '--offline=yes', `--threshold=${EXPOSURE_MAX}`, '--no-pager', file]
    const hardened = runTool('systemd-analyze', security)

    assert.deepEqual([verified.code, verified.output.trim()], [0, ''])
    assert.equal(hardened.code, 0, hardened.output)
  })
})

test('the compose file of one container', async t => {
  const file = 'deploy/compose/compose.yaml'
  const { services } = parse(read(file)) as {
    readonly services: Readonly<Record<string, Readonly<Record<string, unknown>>>>
  }
  const service = services.turnpike ?? {}

  await t.test('runs one container with its store in a volume, read-only and without privileges', () => {
    assert.deepEqual(Object.keys(services), ['turnpike'])
    assert.deepEqual([service.volumes, service.read_only, service.cap_drop], [['data:/data'], true, ['ALL']])
    assert.deepEqual(service.ports, ['127.0.0.1:8080:8080'])
    assert.ok(Number.parseInt(String(service.stop_grace_period), 10) > DRAIN_SECONDS)
    const names = Object.keys(service.environment as object)
    loadConfig(Object.fromEntries(names.map(name => [name, ''])), '/nowhere')
  })

  await t.test('matches the schema of compose files', () => {
    const tools = deployTools()
    if (typeof tools === 'string') {
      process.stderr.write(`\n${tools}\nNOT CHECKED BY check-jsonschema\n\n`)
      return
    }
    const { code, output } = tools.run('check-jsonschema', ['--builtin-schema', 'vendor.compose-spec', file])
    assert.equal(code, 0, output)
  })
})
