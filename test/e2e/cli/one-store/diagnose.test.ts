// Doctor, status, summaries and quotes: what is wrong, who spends most, and what a chat would cost.
import assert from 'node:assert/strict'
import { chmodSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { version } from '../../../../src/lib/version.ts'
import { type CliOptions, cli } from '../../../support/cli.ts'
import { openFixture } from '../../../support/fixture.ts'
import { until } from '../../../support/until.ts'
import { settledRow } from '../../../support/usage.ts'

const { gateway, upstream } = await openFixture()
const run = (...args: string[]) => cli(gateway, args)

type Finding = { readonly check: string; readonly state: string; readonly detail: string; readonly fix?: string }

async function doctor(options: CliOptions = {}) {
  const { code, stdout, stderr } = await cli(gateway, ['doctor', '--json'], options)
  assert.equal(stderr, '')
  const { ok, checks } = JSON.parse(stdout) as { ok: boolean; checks: readonly Finding[] }
  return { code, ok, of: (name: string) => checks.find(({ check }) => check === name), checks }
}

test('a healthy gateway has no failed check', async () => {
  const { code, ok, of, checks } = await doctor()

  assert.deepEqual([code, ok], [0, true], JSON.stringify(checks))
  for (const name of ['node', 'configuration', 'data directory', 'encryption key', 'disk space', 'gateway', 'ready'])
    assert.equal(of(name)?.state, 'ok', name)
  for (const name of ['clock', 'token', 'store', 'nodes', 'provider up']) assert.equal(of(name)?.state, 'ok', name)
  assert.equal(of('version')?.detail, version())
  assert.match(of('token')?.detail ?? '', /^admin \(admin\), from TURNPIKE_ADMIN_TOKEN$/)
})

test('each problem is found, with what to do, and fails the command', async () => {
  chmodSync(gateway.dataDir, 0o755)
  const open = await doctor()
  chmodSync(gateway.dataDir, 0o700)
  const nowhere = await doctor({ env: { TURNPIKE_URL: 'http://127.0.0.1:9' } })
  const wrong = await doctor({ env: { TURNPIKE_ADMIN_TOKEN: 'tpk_wrong_token_0123456789' } })
  const file = await doctor({ env: { TURNPIKE_CONFIG: '/nowhere.yaml' } })
  const data = await doctor({ env: { TURNPIKE_DATA_DIR: join(gateway.dataDir, 'turnpike.db') } })

  assert.deepEqual([open.code, open.of('data directory')?.state], [0, 'warn'])
  assert.match(open.of('data directory')?.fix ?? '', /^chmod 700 /)
  assert.deepEqual([nowhere.code, nowhere.of('gateway')?.state, nowhere.of('token')], [1, 'fail', undefined])
  assert.match(nowhere.of('gateway')?.fix ?? '', /turnpike serve/)
  assert.deepEqual([wrong.code, wrong.of('token')?.state], [1, 'fail'])
  assert.deepEqual([file.code, file.of('configuration')?.state, file.of('gateway')?.state], [1, 'fail', 'ok'])
  assert.deepEqual([data.code, data.of('data directory')?.state], [1, 'fail'])
})

test('the summary names who spent most, with totals', async () => {
  const keys = [await gateway.createKey({ name: 'big' }), await gateway.createKey({ name: 'small' })]
  for (const secret of [keys[0]!.secret, keys[0]!.secret, keys[1]!.secret]) {
    const { headers } = await gateway.chat({}, { key: secret })
    await settledRow(gateway, headers['x-request-id'])
  }

  const summary = await run('usage', 'summary', '--by', 'key', '--this-month', '--top', '1')
  const json = (await run('usage', 'summary', '--by', 'key', '--today', '--json')).json as unknown as {
    data: readonly { group: string; name: string; cost: string }[]
    totals: { requests: number; cost: string }
  }
  const last = await run('usage', 'summary', '--last-month')
  const mixed = await run('usage', 'summary', '--today', '--since', '7d')
  const ever = await run('usage', 'summary', '--since', '999999d')

  assert.match(summary.stdout, new RegExp(`^group\\trequests\\t.*\\tname\\n${keys[0]!.id}\\t2\\t.*\\tbig\\n$`))
  assert.match(summary.stderr, /1 of \d+ groups/)
  assert.equal(json.data[0]?.name, 'big')
  const costs = json.data.map(({ cost }) => Number(cost))
  assert.deepEqual(
    costs,
    costs.toSorted((a, b) => b - a),
  )
  assert.ok(Math.abs(costs.reduce((sum, cost) => sum + cost, 0) - Number(json.totals.cost)) < 1e-9)
  assert.equal(last.stdout.split('\n').length, 2)
  assert.equal(mixed.code, 2)
  assert.equal(ever.code, 0, ever.stderr)
})

test('a quote shows the cost and the limits, and calls no provider', async () => {
  const { secret } = await gateway.createKey()
  const calls = upstream.journal.length
  const env = { TURNPIKE_API_KEY: secret }

  const quoted = await cli(gateway, ['quote', 'test/m1', '--message', 'Hello', '--max-tokens', '10'], { env })
  const wrong = await cli(gateway, ['quote', 'nobody/m', '--message', 'Hello'], { env })

  assert.match(quoted.stdout, /^model\ttest\/m1\nallowed\tyes\ncost\t[\d.]+ estimated, [\d.]+ at most \(credits\)\n/)
  assert.match(quoted.stdout, /^limit credits\tok$/m)
  assert.equal(wrong.code, 1)
  assert.equal(upstream.journal.length, calls)
})

test('the dashboard’s URL is printed, not opened, outside of a terminal', async () => {
  assert.equal((await run('open')).stdout, `${gateway.url}\n`)
})

// The last test: the provider is not used afterwards.
test('a rejected credential is reported, with what to do', async () => {
  upstream.script({ status: 401 })
  await gateway.chat()
  // It is tried once more before it counts as rejected.
  let found: Finding | undefined
  await until('the credential is rejected', async () => {
    found = (await doctor()).of('provider up')
    return found?.state !== 'ok'
  })
  const status = await run('status')

  assert.equal(found?.state, 'warn')
  assert.match(found?.detail ?? '', /^not usable: \S+ \(\w+\)$/)
  assert.match(found?.fix ?? '', /turnpike providers add-credential up/)
  assert.match(status.stdout, /^providers\t.*up: 1 credentials not usable/m)
})
