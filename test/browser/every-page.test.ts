// Every page of the dashboard in light mode, in dark mode and on a phone, with hostile names: no serious accessibility
// violation by axe, an empty console, no request to another host, no horizontal overflow, on a phone no list to scroll sideways;
// with a screenshot of each.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { hasBrowser, openBrowser, visit } from '../support/browser.ts'
import { type Gateway, startGateway } from '../support/gateway.ts'
import { faultsOf } from '../support/page-faults.ts'
import { until } from '../support/until.ts'

const NAMES = [
  '<img src=x onerror="document.title=1"><script>document.title=2</script>',
  "=cmd|' /C calc'!A0",
  'x'.repeat(200),
  'مرحبا \u202egnp.exe',
]

test('every page is complete, accessible and logs no error', { skip: !hasBrowser() }, async t => {
  await using gateway = await startGateway({ env: { TURNPIKE_WEBHOOKS_ALLOW_PRIVATE: '1' } })
  await using browser = await openBrowser()
  const pages = await furnish(gateway)

  for (const screen of ['desktop', 'phone'] as const) {
    await t.test(screen, async () => {
      const visitor = await visit(browser, gateway.url, screen)
      const found: string[] = []

      await visitor.page.goto(`${gateway.url}/login`)
      await visitor.page.getByRole('button', { name: 'Sign in' }).waitFor()
      found.push(...(await faultsOf(visitor, 'login', screen)))
      await visitor.signInByForm(gateway.adminToken)
      for (const [name, { path, shows }] of Object.entries(pages)) {
        await visitor.open(path)
        await visitor.page.getByText(shows).first().waitFor()
        found.push(...(await faultsOf(visitor, name, screen)))
      }

      assert.deepEqual(found, [])
      assert.deepEqual(visitor.complaints, [])
      await visitor.page.close()
    })
  }
})

type Pages = Readonly<Record<string, { readonly path: string; readonly shows: string | RegExp }>>

// Accounts and keys with unusual names, successful and failed requests, a secret in its grace period, an operator, an
// operator's model.
async function furnish(gateway: Gateway): Promise<Pages> {
  let last = { id: '', accountId: '' }
  for (const name of NAMES) {
    const account = await gateway.createAccount({ name })
    await gateway.addCredits(account.id, '3.123456789')
    const { secret, id } = await gateway.createKey({ name, account_id: account.id })
    await gateway.chat({ model: 'demo/echo' }, { key: secret })
    await gateway.chat({ model: name.slice(0, 40) }, { key: secret })
    last = { id, accountId: account.id }
  }
  await gateway.admin('POST', `/keys/${last.id}/rotate`, {})
  await gateway.admin('POST', '/operators', { name: NAMES[0], role: 'viewer' })
  await gateway.admin('POST', '/models', {
    id: 'own/model',
    context_length: 200_000,
    max_output_tokens: 8192,
    pricing: { prompt: '0.000003', completion: '0.000015' },
    targets: [{ provider: 'demo', model: 'echo' }],
    aliases: ['own'],
  })
  const { body } = await gateway.admin<{ readonly data: readonly { readonly request_id: string }[] }>(
    'GET',
    '/usage?limit=2',
  )
  const url = `http://127.0.0.1:${new URL(gateway.url).port}/nowhere`
  const made = await gateway.admin('POST', '/webhooks', { url, events: ['*'], description: NAMES[0], format: 'slack' })
  const webhook = made.body
  await gateway.admin('PATCH', `/keys/${last.id}`, { name: NAMES[1] })
  await gateway.admin('POST', `/keys/${last.id}/rotate`, {})
  await until('a delivery has failed', async () => {
    const { text } = await gateway.admin('GET', `/webhooks/${webhook.id}/deliveries`)
    return text.includes('status 404')
  })
  await gateway.admin('PATCH', `/webhooks/${webhook.id}`, { enabled: false })
  await gateway.admin('PATCH', `/webhooks/${webhook.id}`, { enabled: true })
  const second = { url: `${url}/${'x'.repeat(300)}`, events: ['key.created', 'balance.low'], enabled: false }
  await gateway.admin('POST', '/webhooks', second)
  return {
    overview: { path: '/overview', shows: 'Provider health' },
    usage: { path: '/usage', shows: /rows/ },
    request: { path: `/usage/${body.data[1]?.request_id}`, shows: 'Attempts' },
    keys: { path: '/keys', shows: /in grace/ },
    'keys-none': { path: '/keys?q=no%20such%20key', shows: 'No matching keys' },
    key: { path: `/keys/${last.id}`, shows: 'End now' },
    accounts: { path: '/accounts', shows: NAMES[1] ?? '' },
    account: { path: `/accounts/${last.accountId}`, shows: 'Top-up' },
    models: { path: '/models', shows: 'own/model' },
    providers: { path: '/providers', shows: 'Credentials:' },
    playground: { path: '/playground', shows: 'Start a chat' },
    nodes: { path: '/nodes', shows: 'this node' },
    events: { path: '/events', shows: 'key.rotate' },
    webhooks: { path: '/webhooks', shows: 'disabled' },
    webhook: { path: `/webhooks/${webhook.id}`, shows: 'Resend' },
    settings: { path: '/settings', shows: 'current' },
    nowhere: { path: '/settings/nowhere', shows: 'This page does not exist' },
  }
}
