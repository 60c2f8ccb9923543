// `turnpike portal-link` prints a link that opens the portal of the named account.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { cli } from '../../../support/cli.ts'
import { openFixture } from '../../../support/fixture.ts'
import { httpCall } from '../../../support/http-call.ts'
import { cookieOf, customerOf } from '../../../support/portal.ts'

const { gateway } = await openFixture()

test('the link is alone on stdout and opens the portal of the account', async () => {
  const { id } = await gateway.createAccount({ name: 'Acme GmbH' })

  const made = await cli(gateway, [
    'portal-link',
    'Acme GmbH',
    '--may',
    'usage',
    '--return-url',
    'https://shop.example/',
  ])

  assert.equal(made.code, 0, made.stderr)
  assert.match(made.stderr, /^Works once, until 20/)
  const customer = await customerOf(gateway, cookieOf(await httpCall(made.stdout.trim())))
  assert.deepEqual(customer.session.account, { id, name: 'Acme GmbH' })
  assert.deepEqual([customer.session.permissions, customer.session.return_url], [['usage'], 'https://shop.example/'])
  const asJson = await cli(gateway, ['portal-link', id, '--expires-in', '60', '--json'])
  assert.deepEqual(Object.keys(asJson.json).sort(), ['expires_at', 'url'])
})

test('wrong options and unknown accounts are reported', async () => {
  const { id } = await gateway.createAccount()
  for (const args of [[id, '--may', 'admin'], [id, '--expires-in', '0'], [id, '--expires-in', 'x'], []]) {
    assert.equal((await cli(gateway, ['portal-link', ...args])).code, 2, args.join(' '))
  }
  assert.match((await cli(gateway, ['portal-link', 'nobody'])).stderr, /^turnpike: .*nobody/)
  const url = await cli(gateway, ['portal-link', id, '--return-url', 'javascript:alert(1)'])
  assert.match(url.stderr, /^turnpike: .*return_url/)
})
