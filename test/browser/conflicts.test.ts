// How the dashboard handles conflicts: a wrong token, an expired session, a second tab, a concurrent edit, a viewer's
// rights, a server that restarts.
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type { BrowserContext } from 'playwright-core'
import { hasBrowser, openBrowser, visit } from '../support/browser.ts'
import { startGateway } from '../support/gateway.ts'

const skip = !hasBrowser()
// Without requests, and with the models of the first start: tests that need that come first.
const gateway = await startGateway()
after(() => gateway[Symbol.asyncDispose]())

type Listed<T> = { readonly data: readonly T[] }

test('a wrong token is reported, and an ended session returns to the same page after login', { skip }, async () => {
  await using browser = await openBrowser()
  const { page, open, signInByForm } = await visit(browser, gateway.url)

  await open('/keys')
  await page.getByLabel('Operator token', { exact: true }).fill('wrong')
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByText('This token is not valid').waitFor()
  await signInByForm(gateway.adminToken)
  await open('/keys?status=active')
  await page.getByText('first key').waitFor()
  const { body } = await gateway.admin<Listed<{ readonly id: string }>>('GET', '/sessions')
  for (const { id } of body.data) await gateway.admin('DELETE', `/sessions/${id}`)
  await page.getByText(/Your session has expired/).waitFor()
  await page.getByLabel('Operator token', { exact: true }).fill(gateway.adminToken)
  await page.getByRole('button', { name: 'Sign in' }).click()

  await page.getByText('first key').waitFor()
  assert.equal(new URL(page.url()).pathname, '/keys')
  await page.getByRole('button', { name: /Signed in as/ }).click()
  await page.getByRole('menuitem', { name: 'Sign out' }).click()
  await page.getByText('You have signed out.').waitFor()
  assert.equal((await gateway.admin<Listed<unknown>>('GET', '/sessions')).body.data.length, 0)
})

test('while the server restarts the page shows it and reconnects', { skip }, async () => {
  await using browser = await openBrowser()
  const { page, open, signIn } = await visit(browser, gateway.url)
  await signIn(gateway.adminToken)
  await open('/usage')
  await page.getByText('No requests yet').waitFor()

  await gateway.kill()
  await page.getByText('Connection lost').waitFor()
  await gateway.restart()
  await page.getByText('Reconnected').waitFor()
  const { secret } = await gateway.createKey({ name: 'after the restart' })
  await gateway.chat({ model: 'demo/echo' }, { key: secret })

  await page.getByRole('row', { name: /after the restart/ }).waitFor()
})

test('list prices are shown as a difference before they are saved', { skip }, async () => {
  await using browser = await openBrowser()
  const { page, complaints, open, signIn } = await visit(browser, gateway.url)
  await signIn(gateway.adminToken)
  const count = async () => (await gateway.admin<Listed<unknown>>('GET', '/models')).body.data.length

  await open('/models')
  await page.getByRole('button', { name: 'Import list prices' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Vendor').first().fill('openai')
  await dialog.getByLabel('Provider').first().click()
  await page.getByRole('option', { name: 'demo' }).click()
  await dialog.getByLabel('Filter').fill('gpt-4o-mini')
  await dialog.getByRole('button', { name: 'Preview changes' }).click()
  const apply = dialog.getByRole('button', { name: /Apply \d+ changes/ })
  await apply.waitFor()
  const before = await count()
  await apply.click()
  await dialog.waitFor({ state: 'detached' })

  // Those of the first start.
  assert.equal(before, 2)
  assert((await count()) > before)
  assert.deepEqual(complaints, [])
})

test('a tab whose session was replaced by another tab still makes its change', { skip }, async () => {
  await using browser = await openBrowser()
  const { page, open, signIn } = await visit(browser, gateway.url)
  await signIn(gateway.adminToken)
  await open('/accounts')
  const { csrf_token: before } = await session(page.context())
  const again = { data: { token: gateway.adminToken } }
  const opened = await page.context().request.post(`${gateway.url}/admin/v1/session`, again)
  const { csrf_token: after } = await session(page.context())

  await page.getByRole('button', { name: 'Create account' }).first().click()
  await page.getByRole('dialog').getByRole('textbox', { name: 'Name' }).fill('from an old tab')
  await page.getByRole('button', { name: 'Create', exact: true }).click()

  await page.getByRole('heading', { name: 'from an old tab' }).waitFor()
  assert.equal(opened.status(), 201)
  assert.notEqual(after, before)

  async function session({ request }: BrowserContext): Promise<{ readonly csrf_token: string }> {
    return (await request.get(`${gateway.url}/admin/v1/session`)).json()
  }
})

test('a viewer sees every page and no button that changes something', { skip }, async () => {
  await using browser = await openBrowser()
  const { page, complaints, open, signIn } = await visit(browser, gateway.url)
  const { body } = await gateway.admin<{ readonly token: string }>('POST', '/operators', {
    name: 'vera',
    role: 'viewer',
  })
  const { id, accountId } = await gateway.createKey()
  await gateway.admin('POST', `/keys/${id}/rotate`, {})
  await signIn(body.token)

  const changing = /\b(create|add|edit|rotate|revoke|end|import|adjust|delete|remove|change|save|apply|test|disable)\b/i
  for (const path of [
    '/overview',
    '/usage',
    '/keys',
    `/keys/${id}`,
    '/accounts',
    `/accounts/${accountId}`,
    '/models',
    '/providers',
    '/nodes',
    '/events',
    '/settings',
  ]) {
    await open(path)
    await page.waitForLoadState('networkidle', { timeout: 2000 }).catch(() => undefined)
    const names = await page.locator('main').getByRole('button').allInnerTexts()
    assert.deepEqual(
      names.filter(name => changing.test(name)),
      [],
      path,
    )
  }
  assert.deepEqual(complaints, [])
})

test('saving a model that was changed meanwhile is refused and overwrites nothing', {
  skip,
}, async () => {
  await using browser = await openBrowser()
  const { page, open, signIn } = await visit(browser, gateway.url)
  await gateway.admin('POST', '/models', {
    id: 'own/model',
    context_length: 1000,
    max_output_tokens: 100,
    pricing: { prompt: '0.000003', completion: '0.000015' },
    targets: [{ provider: 'demo', model: 'echo' }],
  })
  await signIn(gateway.adminToken)

  await open('/models')
  await page.getByRole('button', { name: 'Open own/model' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Completion', { exact: true }).fill('20.5')
  await gateway.admin('PATCH', '/models/own%2Fmodel', { description: 'by a colleague' })
  await dialog.getByRole('button', { name: 'Save' }).click()
  await dialog.getByText('This model was changed by somebody else').waitFor()
  await dialog.getByRole('button', { name: 'Reload' }).click()
  await dialog.getByLabel('Completion', { exact: true }).fill('20.5')
  await dialog.getByRole('button', { name: 'Save' }).click()
  await dialog.waitFor({ state: 'detached' })

  const { body } = await gateway.admin<{
    readonly description: string
    readonly pricing: Readonly<Record<string, string>>
  }>('GET', '/models/own%2Fmodel')
  assert.deepEqual(
    [body.description, body.pricing.completion, body.pricing.prompt],
    ['by a colleague', '0.0000205', '0.000003'],
  )
})

test('saving a key that was changed meanwhile is refused and overwrites nothing', {
  skip,
}, async () => {
  await using browser = await openBrowser()
  const { page, open, signIn } = await visit(browser, gateway.url)
  const { id } = await gateway.createKey({ name: 'shared' })
  await signIn(gateway.adminToken)

  await open(`/keys/${id}`)
  await page.getByRole('button', { name: 'Edit' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Requests per minute').fill('77')
  await gateway.admin('PATCH', `/keys/${id}`, { rpm_limit: 55, name: 'renamed' })
  await page.getByRole('heading', { name: 'renamed', includeHidden: true }).waitFor({ state: 'attached' })
  await dialog.getByRole('button', { name: 'Save' }).click()
  await dialog.getByText('This key was changed by somebody else').waitFor()
  const { body } = await gateway.admin<{ readonly name: string; readonly rpm_limit: number }>('GET', `/keys/${id}`)
  await dialog.getByRole('button', { name: 'Reload' }).click()

  assert.deepEqual([body.name, body.rpm_limit], ['renamed', 55])
  assert.equal(await dialog.getByLabel('Requests per minute').inputValue(), '55')
})

test('background requests of a page are marked and keep no session alive', { skip }, async () => {
  await using browser = await openBrowser()
  const { page, open, signIn } = await visit(browser, gateway.url)
  await signIn(gateway.adminToken)
  await open('/usage')
  const asked = (isMarked: boolean) =>
    page.waitForRequest(
      request => request.url().includes('/admin/v1/usage') && (request.headers()['x-background'] === '1') === isMarked,
    )

  await asked(false)
  await asked(true)
  await page.keyboard.press('Tab')
  await asked(false)
})

test('an unknown request id is reported with possible reasons', { skip }, async () => {
  await using browser = await openBrowser()
  const { page, open, signIn } = await visit(browser, gateway.url)
  await signIn(gateway.adminToken)

  await open('/usage/01a00000-0000-7000-8000-000000000000')

  await page.getByText('Request not found').waitFor()
  await page.getByText(/Requests without a valid key are not recorded/).waitFor()
})
