// Targets from the command line: their health, a test request, disable and enable.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { cli } from '../../../support/cli.ts'
import { openFixture } from '../../../support/fixture.ts'
import { freePort } from '../../../support/free-port.ts'
import { pairConfig } from '../../../support/standard-config.ts'
import { onTerminal, visible } from '../../../support/terminal.ts'

const dead = `http://127.0.0.1:${await freePort()}/v1`
const { gateway } = await openFixture(url => pairConfig(url, dead, 'second:8b'))
const run = (...args: string[]) => cli(gateway, args)
const { secret } = await gateway.createKey({ credits: '100' })
const servedBy = async () => (await gateway.chat({ model: 'test/pair' }, { key: secret })).headers['x-svc-provider']
const sendTest = async (...args: string[]) => {
  await sleep(2100)
  return run('targets', 'test', ...args)
}

test('targets of all providers, or of one, are listed', async () => {
  const all = await run('targets', 'list', '--columns', 'target,status,state')
  const one = await run('targets', 'list', '--provider', 'two', '-q')

  assert.equal(
    all.stdout,
    'target\tstatus\tstate\ndead:gone\thealthy\tclosed\none:first\thealthy\tclosed\ntwo:second:8b\thealthy\tclosed\n',
  )
  assert.equal(one.stdout, 'two:second:8b\n')
})

test('a disabled target gets no requests until it is enabled', async () => {
  const off = await run('targets', 'disable', 'one:first', '--json')
  assert.deepEqual([off.code, off.json.status, off.stderr], [0, 'disabled', ''])
  assert.equal(await servedBy(), 'two')

  const on = await run('targets', 'enable', 'one:first')
  assert.equal(on.code, 0, on.stderr)
  assert.equal(await servedBy(), 'one')
})

test('a test prints what the provider answered, and fails if it failed', async () => {
  const good = await sendTest('two:second:8b', '--json')
  const bad = await sendTest('test/dead')

  assert.deepEqual([good.code, good.json.ok, good.json.provider, good.json.model], [0, true, 'two', 'second:8b'])
  assert.equal(bad.code, 1)
  assert.match(bad.stdout, /^provider\tdead$/m)
  assert.match(bad.stdout, /^ok\tfalse$/m)
})

test('a target that is not one is an error that names those that are', async () => {
  for (const [target, said] of [
    ['one:second', /no target "one:second"; there are one:first/],
    ['nobody:x', /no target "nobody:x"; see "turnpike targets list"/],
    ['test/pair', /more than one target; use PROVIDER:MODEL:\n {2}one:first\n {2}two:second:8b/],
  ] as const) {
    const { code, stderr } = await run('targets', 'disable', target)
    assert.deepEqual([code, said.test(stderr)], [1, true], stderr)
  }
  assert.equal((await run('targets', 'test')).code, 2)
})

test('disabling the only target of a model warns, and asks on a terminal', async () => {
  const asked = visible(await onTerminal(gateway, 'targets disable test/dead', { types: 'n\\n' }).catch(seenOf))
  const still = await run('targets', 'list', '--provider', 'dead', '--columns', 'status')
  const piped = await run('targets', 'disable', 'test/dead')

  assert.match(
    asked,
    /no other target serves test\/dead: requests for it get "model not found"[\s\S]*Disable dead:gone\?/,
  )
  assert.match(asked, /nothing was changed/)
  assert.match(still.stdout, /healthy|degraded|down/)
  assert.equal(piped.code, 0)
  assert.match(piped.stderr, /no other target serves test\/dead/)
  assert.equal((await run('targets', 'enable', 'dead:gone')).code, 0)
})

test('disabling the last target that is not disabled warns too', async () => {
  const first = await run('targets', 'disable', 'one:first')
  const last = await run('targets', 'disable', 'two:second:8b')

  assert.deepEqual([first.code, first.stderr], [0, ''])
  assert.match(last.stderr, /no other target serves test\/pair: requests for it get "model not found"/)
  for (const target of ['one:first', 'two:second:8b']) assert.equal((await run('targets', 'enable', target)).code, 0)
})

function seenOf(error: Error & { stdout?: string }): string {
  return (error.stdout ?? '').replaceAll('\r\n', '\n')
}
