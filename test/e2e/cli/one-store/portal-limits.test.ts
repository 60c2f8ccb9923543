// The limits of keys that a customer creates, from the command line: shown, changed one by one, and removed.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { cli } from '../../../support/cli.ts'
import { openFixture } from '../../../support/fixture.ts'
import type { Loose } from '../../../support/http-call.ts'

const { gateway } = await openFixture()
const { id } = await gateway.createAccount({ name: 'acme' })
const run = (...args: string[]) => cli(gateway, ['accounts', 'portal-limits', ...args])
const stored = async () =>
  (await gateway.admin<{ portal_key_limits: Loose | null }>('GET', `/accounts/${id}`)).body.portal_key_limits

test('given limits are changed and the others stay', async () => {
  const none = await run('acme')
  assert.match(none.stdout, /^portal_key_limits\t-$/m)

  const first = await run('acme', '--max-keys', '5', '--rpm', '60', '--credit-limit', '2.5', '--model', 'gpt-4o*')
  const second = await run('acme', '--rpm', 'none', '--expires-in-days', '90', '--json')

  assert.equal(first.code, 0, first.stderr)
  assert.match(first.stdout, /^portal_key_limits\.rpm_limit\t60$/m)
  const limits = {
    max_keys: 5,
    rpm_limit: null,
    daily_limit: null,
    max_concurrent: null,
    credit_limit: '2.5',
    expires_in_days: 90,
    allowed_models: ['gpt-4o*'],
  }
  assert.deepEqual(second.json.portal_key_limits, limits)
  assert.deepEqual(await stored(), limits)
  assert.deepEqual((await run('acme', '--json')).json.portal_key_limits, limits)
})

test('--model any and --none remove', async () => {
  await run('acme', '--model', 'any')
  assert.deepEqual((await stored())?.allowed_models, [])

  assert.equal((await run('acme', '--none')).code, 0)
  assert.equal(await stored(), null)
})

test('mistakes change nothing', async () => {
  for (const [args, code, said] of [
    [['acme', '--rpm', 'many'], 2, /--rpm must be a whole number/],
    [['acme', '--credit-limit', 'x'], 2, /--credit-limit must be a decimal number/],
    [['acme', '--none', '--rpm', '1'], 2, /--none alone/],
    [['acme', '--max-keys', '100000'], 2, /max_keys/],
    [['acme', '--rpm', '1', '--if-version', '1'], 1, /has changed/],
    [['nobody', '--rpm', '1'], 1, /there is no account/],
  ] as const) {
    const result = await run(...args)
    assert.deepEqual([result.code, said.test(result.stderr)], [code, true], result.stderr)
  }
  assert.equal(await stored(), null)
})
