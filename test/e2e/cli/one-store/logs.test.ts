// `turnpike logs`: past requests, new ones as they are settled, through a restart of the gateway, until it is interrupted.
import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { test } from 'node:test'
import { cli } from '../../../support/cli.ts'
import { openFixture } from '../../../support/fixture.ts'
import { until } from '../../../support/until.ts'
import { settledRow } from '../../../support/usage.ts'

const ENTRY = join(import.meta.dirname, '../../../../bin/turnpike.js')
const { gateway, upstream } = await openFixture()

test('the latest requests are printed, the newest last, with names and the reason of a failure', async () => {
  const account = await gateway.createAccount({ name: 'acme' })
  await gateway.addCredits(account.id, '1')
  const { secret } = await gateway.createKey({ name: 'prod', account_id: account.id })
  const good = await gateway.chat({}, { key: secret })
  await settledRow(gateway, good.headers['x-request-id'])
  const bad = await gateway.chat({ model: 'nobody/m' }, { key: secret })
  await settledRow(gateway, bad.headers['x-request-id'])

  const all = await cli(gateway, ['logs', '--account', 'acme'])
  const refused = await cli(gateway, ['logs', '--key', 'prod', '--outcome', 'refused', '--json'])

  const failed = await cli(gateway, ['usage', 'list', '--key', 'prod', '--outcome', 'failed', '-q'])

  const [first = [], second = []] = all.stdout.split('\n').map(line => line.split('\t'))
  assert.deepEqual(
    [first[1], first[2], first[5], first[6], first[10]],
    ['200', 'completed', 'acme', 'prod', good.headers['x-request-id']],
  )
  assert.equal(first[9], good.headers['x-svc-cost'])
  assert.deepEqual([second[1], second[10]], ['404', bad.headers['x-request-id']])
  assert.match(second[11] ?? '', /nobody\/m/)
  assert.equal(JSON.parse(refused.stdout).request_id, bad.headers['x-request-id'])
  assert.equal(failed.stdout.trim(), bad.headers['x-request-id'])
})

test('new requests appear once they are settled, also after a restart, and Ctrl-C ends it', async () => {
  const { id, secret } = await gateway.createKey()
  const first = await gateway.chat({}, { key: secret })
  await settledRow(gateway, first.headers['x-request-id'])
  await using log = await follow('--key', id)
  assert.match(log.lines[0] ?? '', new RegExp(String(first.headers['x-request-id'])))

  upstream.next({ words: ['slow', ' answer'], chunkDelayMs: 2500 })
  const slow = await gateway.openChat({ stream: true }, { key: secret })
  const quick = await gateway.chat({}, { key: secret })
  await until('the second request is printed', () => log.lines.length === 2)
  assert.match(log.lines[1] ?? '', new RegExp(String(quick.headers['x-request-id'])))
  await slow.rest()
  await until('the stream is printed', () => log.lines.length === 3)

  await gateway.restart()
  const last = await gateway.chat({}, { key: secret })
  await until('the request after the restart is printed', () => log.lines.length === 4, 20_000)
  assert.match(log.lines[3] ?? '', new RegExp(String(last.headers['x-request-id'])))

  log.child.kill('SIGINT')
  await once(log.child, 'exit')
})

test('a reader that is gone ends it', async () => {
  const { id, secret } = await gateway.createKey()
  const { headers } = await gateway.chat({}, { key: secret })
  await settledRow(gateway, headers['x-request-id'])
  await using log = await follow('--key', id)
  log.child.stdout?.destroy()

  await gateway.chat({}, { key: secret })

  await until('the command has ended', () => log.child.exitCode !== null)
})

type Follow = AsyncDisposable & { readonly child: ChildProcess; readonly lines: readonly string[] }

// Returns when it has printed a past request.
async function follow(...args: string[]): Promise<Follow> {
  const child = spawn(process.execPath, [ENTRY, 'logs', '--follow', ...args], {
    env: { PATH: process.env.PATH ?? '', TURNPIKE_URL: gateway.url, TURNPIKE_ADMIN_TOKEN: gateway.adminToken },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const lines: string[] = []
  createInterface({ input: child.stdout! }).on('line', line => lines.push(line))
  await until('a past request is printed', () => lines.length > 0)
  return {
    child,
    lines,
    async [Symbol.asyncDispose]() {
      if (child.exitCode === null && child.kill('SIGKILL')) await once(child, 'exit')
    },
  }
}
