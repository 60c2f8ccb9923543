// The customer portal in a browser: every page in light mode, in dark mode and on a phone with hostile names, and a customer's day, in
// which everything can be done by keyboard.
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type { Page } from 'playwright-core'
import { barriers, hasBrowser, openBrowser, type Visit, visit } from '../support/browser.ts'
import { startGateway } from '../support/gateway.ts'
import { faultsOf } from '../support/page-faults.ts'
import { portalLink } from '../support/portal.ts'

const PRODUCT = 'Shop & Söhne'
const NAMES = [
  '<img src=x onerror="document.title=1"><script>document.title=2</script>',
  'x'.repeat(200),
  'مرحبا \u202egnp.exe',
]
const LOGO = `data:image/svg+xml;base64,${Buffer.from(
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 24"><circle cx="12" cy="12" r="12" fill="#0b7285"/></svg>',
).toString('base64')}`
const DEMO = { id: 'demo', kind: 'demo' }
const MODEL = {
  id: 'demo/echo',
  context_length: 8192,
  max_output_tokens: 1024,
  pricing: { prompt: '0.000001', completion: '0.000002' },
  targets: [{ provider: 'demo', model: 'echo' }],
}
const portal = { name: PRODUCT, logo: LOGO, color: '#ffd43b' }
const skip = !hasBrowser()
const gateway = await startGateway({ config: { providers: [DEMO], models: [MODEL], portal } })
after(() => gateway[Symbol.asyncDispose]())

test('every page is complete, accessible, logs no error and concerns customers only', { skip }, async t => {
  await using browser = await openBrowser()
  const { accountId, pages } = await furnish()
  const asked: string[] = []

  for (const screen of ['desktop', 'phone'] as const) {
    await t.test(screen, async () => {
      const visitor = await visit(browser, gateway.url, screen)
      visitor.page.on('request', request => asked.push(request.url().slice(gateway.url.length)))
      const found: string[] = []
      await visitor.page.goto(await portalLink(gateway, accountId, { return_url: 'https://shop.example/account' }))
      await visitor.page.getByRole('heading', { level: 1 }).waitFor()
      for (const [name, { path, shows }] of Object.entries(pages)) {
        await visitor.open(path)
        await visitor.page.getByText(shows).first().waitFor()
        found.push(...(await faultsOf(visitor, `portal-${name}`, screen, PRODUCT)))
      }
      await visitor.open('/portal/keys')
      await visitor.page.getByRole('button', { name: 'Create key' }).first().click()
      await visitor.page.getByRole('button', { name: 'Limits, budgets and models' }).click()
      await visitor.page.getByLabel('IP allowlist').first().waitFor()
      found.push(...(await faultsOf(visitor, 'portal-create-key', screen, PRODUCT)))

      assert.deepEqual(found, [])
      assert.deepEqual(visitor.complaints, [])
      await visitor.page.close()
    })
  }

  await t.test('customers load none of the operators’ code and call none of their API', async () => {
    const scripts = [...new Set(asked.filter(path => path.endsWith('.js')))]
    assert.ok(scripts.length > 5)
    assert.deepEqual(
      asked.filter(path => path.startsWith('/admin')),
      [],
    )
    for (const script of scripts) {
      const { text } = await gateway.get(script)
      assert.doesNotMatch(text, /\/admin\/v1|Operator token|upstream_cost|Provider health/, script)
    }
  })
})

test("a customer's day by keyboard: create a key, use it, rotate it, end the old secret, revoke it", {
  skip,
}, async () => {
  await using browser = await openBrowser()
  const { id } = await gateway.createAccount({ name: 'ACME', portal_key_limits: { rpm_limit: 60 } })
  await gateway.addCredits(id, '5')
  const visitor = await visit(browser, gateway.url)
  const { page } = visitor
  await page.goto(await portalLink(gateway, id))

  await press(page, 'link', 'Keys')
  await press(page, 'button', 'Create key')
  await page.getByLabel('Name').focus()
  await page.keyboard.type('laptop')
  await page.keyboard.press('Enter')
  await page.getByText('Shown only once').waitFor()
  const first = await secretOf(page)
  for (const tab of ['Python', 'TypeScript', 'Claude Code', 'Codex', 'curl']) await press(page, 'tab', tab)
  await page.getByText(`curl ${gateway.url}/v1/chat/completions`).first().waitFor()
  await press(page, 'button', 'I have copied it')
  assert.equal((await gateway.chat({ model: 'demo/echo' }, { key: first })).status, 200)

  await press(page, 'link', 'laptop')
  await press(page, 'button', 'Rotate')
  await press(page, 'button', 'Create new secret')
  await page.getByText('Shown only once').waitFor()
  const second = await secretOf(page)
  await press(page, 'button', 'I have copied it')
  await page.getByRole('timer').waitFor()
  assert.equal((await gateway.chat({ model: 'demo/echo' }, { key: first })).status, 200, 'in its grace period')
  await press(page, 'button', 'End now')
  await press(page, 'button', 'End grace period')
  await page.getByRole('timer').waitFor({ state: 'detached' })
  assert.equal((await gateway.chat({ model: 'demo/echo' }, { key: first })).status, 401)
  assert.equal((await gateway.chat({ model: 'demo/echo' }, { key: second })).status, 200)

  await press(page, 'link', 'Usage')
  await page.getByRole('cell', { name: 'demo/echo' }).first().waitFor()
  const download = page.waitForEvent('download')
  await press(page, 'link', 'Download CSV')
  assert.equal((await download).suggestedFilename(), 'usage.csv')

  await page.goto(`${gateway.url}/portal/keys`)
  await press(page, 'link', 'laptop')
  await press(page, 'button', 'Revoke')
  await page.getByLabel('Type the name to confirm').focus()
  await page.keyboard.type('laptop')
  await page.keyboard.press('Enter')
  await page.getByText('revoked', { exact: true }).waitFor()
  assert.equal((await gateway.chat({ model: 'demo/echo' }, { key: second })).status, 401)
  assert.ok(!(await page.content()).includes(second), 'the secret is gone from the page')
  assert.deepEqual(visitor.complaints, [])
})

test('without a session, with a used link and after a suspension, the page shows the way back', { skip }, async () => {
  await using browser = await openBrowser()
  const { id } = await gateway.createAccount({ name: 'ACME' })
  const visitor = await visit(browser, gateway.url)
  const { page } = visitor
  const back = () => page.getByRole('link', { name: 'Go back' }).getAttribute('href')

  await page.goto(`${gateway.url}/portal/usage`)
  await page.getByRole('heading', { name: 'Your session has ended' }).waitFor()
  const url = await portalLink(gateway, id, { return_url: 'https://shop.example/account' })
  await page.goto(url)
  await page.getByRole('heading', { name: 'ACME' }).waitFor()
  await page.goto(url)
  await page.getByRole('heading', { name: 'This link was already used' }).waitFor()
  assert.equal(await back(), 'https://shop.example/account')
  assert.deepEqual(await barriers(page, 'light'), [])

  await page.goto(`${gateway.url}/portal`)
  await page.getByRole('heading', { name: 'ACME' }).waitFor()
  await gateway.admin('PATCH', `/accounts/${id}`, { status: 'suspended' })
  await page.getByRole('heading', { name: 'This account is suspended' }).waitFor()
  assert.equal(await back(), 'https://shop.example/account')
  await gateway.admin('PATCH', `/accounts/${id}`, { status: 'active' })
  await page.goto(await portalLink(gateway, id, { return_url: 'https://shop.example/account' }))
  await press(page, 'button', 'Account menu')
  await page.getByRole('menuitem', { name: 'Sign out' }).click()
  await page.getByRole('heading', { name: 'You are signed out' }).waitFor()
  assert.equal(await back(), 'https://shop.example/account')
  assert.deepEqual(await faultsOf(visitor, 'portal-signed-out', 'phone', PRODUCT), [])
})

test('a session with fewer permissions shows fewer pages and buttons', { skip }, async () => {
  await using browser = await openBrowser()
  const { id, accountId } = await gateway.createKey({ name: 'read only' })
  const visitor: Visit = await visit(browser, gateway.url)
  const { page } = visitor

  await page.goto(await portalLink(gateway, accountId, { permissions: [] }))
  await page.getByRole('heading', { level: 1 }).waitFor()
  assert.equal(await page.getByRole('link', { name: 'Usage' }).count(), 0)
  await page.goto(`${gateway.url}/portal/keys/${id}`)
  await page.getByRole('heading', { name: 'read only' }).waitFor()
  for (const name of ['Rotate', 'Revoke']) assert.equal(await page.getByRole('button', { name }).count(), 0)
  assert.deepEqual(visitor.complaints, [])
})

test('an operator makes and copies a link, sets the limits of keys and ends a session', { skip }, async () => {
  await using browser = await openBrowser()
  const { id } = await gateway.createAccount({ name: 'ACME' })
  const permissions = ['clipboard-read', 'clipboard-write']
  const visitor = await visit(browser, gateway.url, 'desktop', { permissions })
  const { page } = visitor
  await visitor.signIn(gateway.adminToken)
  await visitor.open(`/accounts/${id}`)

  await page.getByRole('button', { name: 'Portal link' }).click()
  await page.getByText('Copied to the clipboard.').waitFor()
  const copied = String(await page.evaluate('navigator.clipboard.readText()'))
  assert.match(copied, /\/portal\/open\/[0-9A-Za-z]{43}$/)
  await page.getByRole('button', { name: 'Done' }).click()
  await page.getByRole('button', { name: 'Edit limits of keys' }).click()
  await page.getByLabel('Active keys of the account').fill('3')
  await page.getByLabel('Credit limit of a key in credits (lifetime)').fill('2.5')
  assert.deepEqual(await barriers(page, 'light'), [])
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByText('Limits saved.').waitFor()
  const { body } = await gateway.admin<{ portal_key_limits: Readonly<Record<string, unknown>> }>(
    'GET',
    `/accounts/${id}`,
  )
  assert.deepEqual([body.portal_key_limits.max_keys, body.portal_key_limits.credit_limit], [3, '2.5'])

  const customer = await visit(browser, gateway.url)
  await customer.page.goto(copied)
  await customer.page.getByRole('heading', { name: 'ACME' }).waitFor()
  await page.getByRole('button', { name: 'End session' }).click()
  await page.getByText('No open sessions.').waitFor()
  await customer.page.getByRole('heading', { name: 'Your session has ended' }).waitFor()
  assert.deepEqual(visitor.complaints, [])
})

test('figures that cannot be read are an error with a button to retry, not zero', { skip }, async t => {
  await using browser = await openBrowser()
  const { id } = await gateway.createAccount({ name: 'ACME' })
  const failure = { error: { code: 'internal_error', message: 'the sums cannot be read', param: null } }

  await t.test('in the portal', async () => {
    const { page } = await visit(browser, gateway.url)
    await page.route('**/usage/summary*', route => route.fulfill({ status: 500, json: failure }))
    await page.goto(await portalLink(gateway, id))
    await page.getByText('the sums cannot be read').waitFor()
    assert.equal(await page.getByRole('img', { name: /credits in total/ }).count(), 0)
    await page.goto(`${gateway.url}/portal/usage`)
    await page.getByText('the sums cannot be read').waitFor()
    assert.equal(await page.getByText('Tokens', { exact: true }).count(), 0)

    await page.unroute('**/usage/summary*')
    await page.getByRole('button', { name: 'Retry' }).click()
    await page.getByRole('img', { name: /credits in total/ }).waitFor()
  })

  await t.test('on the page of the account', async () => {
    const { page, signIn, open } = await visit(browser, gateway.url)
    await signIn(gateway.adminToken)
    await page.route('**/portal-sessions', route => route.fulfill({ status: 500, json: failure }))
    await open(`/accounts/${id}`)
    await page.getByText('the sums cannot be read').waitFor()
    assert.equal(await page.getByText('No open sessions.').count(), 0)
  })
})

test('the start page names the keys that their own limits stop, although there are credits', { skip }, async () => {
  await using browser = await openBrowser()
  const { id } = await gateway.createAccount({ name: 'ACME' })
  await gateway.addCredits(id, '5')
  await gateway.createKey({ name: 'open', account_id: id })
  const stopped = await gateway.createKey({ name: 'stopped', account_id: id, daily_limit: 1 })
  assert.equal((await gateway.chat({ model: 'demo/echo' }, { key: stopped.secret })).status, 200)

  const { page } = await visit(browser, gateway.url)
  await page.goto(await portalLink(gateway, id))
  const alert = page.getByRole('status').filter({ hasText: 'Requests of these keys are rejected' })
  await alert.getByText('stopped: a limit is used up').waitFor()

  assert.equal(await alert.getByText('open').count(), 0)
  await alert.getByRole('link', { name: 'stopped' }).click()
  await page.getByRole('heading', { name: 'stopped' }).waitFor()
})

// As with a keyboard: the element is focused and activated, without a pointer.
async function press(page: Page, role: 'link' | 'button' | 'tab', name: string): Promise<void> {
  const target = page.getByRole(role, { name, exact: true }).first()
  await target.focus()
  await page.keyboard.press('Enter')
}

async function secretOf(page: Page): Promise<string> {
  return (
    await page
      .locator('.mantine-Code-root', { hasText: /^svc_live_/ })
      .first()
      .innerText()
  ).trim()
}

// Keys and requests with unusual names, a refusal, a secret in its grace period, budgets.
async function furnish() {
  const account = await gateway.createAccount({
    name: NAMES[0] ?? '',
    budgets: [
      { amount: '10', window: 'month' },
      { amount: '1', window: 'day', action: 'alert' },
    ],
    portal_key_limits: { max_keys: 20, rpm_limit: 600, credit_limit: '5', allowed_models: ['demo/*'] },
  })
  await gateway.addCredits(account.id, '3.123456789')
  let keyId = ''
  let requestId = ''
  for (const name of NAMES) {
    const { secret, id } = await gateway.createKey({ name, account_id: account.id, credit_limit: '5' })
    for (let i = 0; i < 3; i++) await gateway.chat({ model: 'demo/echo' }, { key: secret })
    const refused = await gateway.chat({ model: name.slice(0, 40) }, { key: secret })
    requestId = String(refused.headers['x-request-id'])
    keyId = id
  }
  await gateway.admin('POST', `/keys/${keyId}/rotate`, {})
  const pages = {
    overview: { path: '/portal', shows: 'Spent this month (UTC)' },
    usage: { path: '/portal/usage', shows: 'refused' },
    'usage-30d': { path: '/portal/usage?range=30d', shows: 'refused' },
    request: { path: `/portal/usage/${requestId}`, shows: 'The request was refused' },
    keys: { path: '/portal/keys', shows: /in grace/ },
    'keys-none': { path: '/portal/keys?status=expired', shows: 'No keys' },
    key: { path: `/portal/keys/${keyId}`, shows: 'End now' },
    start: { path: '/portal/start', shows: 'YOUR_KEY' },
    'not-found': { path: '/portal/usage/a/b', shows: 'Page not found' },
  } as const
  return { accountId: account.id, pages }
}
