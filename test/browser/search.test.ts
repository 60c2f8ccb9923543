// The search over everything, and the keyboard shortcuts.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { barriers, hasBrowser, openBrowser, visit } from '../support/browser.ts'
import { startGateway } from '../support/gateway.ts'

test('everything is found by keyboard', { skip: !hasBrowser() }, async t => {
  await using gateway = await startGateway()
  await using browser = await openBrowser()
  const account = await gateway.createAccount({ name: '<b>Globex</b>', contact_email: 'ops@globex.example' })
  const key = await gateway.createKey({ name: 'nightly', account_id: account.id })
  const { page, open, signIn, complaints } = await visit(browser, gateway.url)
  await signIn(gateway.adminToken)
  await open('/keys')
  const field = page.getByRole('combobox', { name: 'Search' })
  const option = (name: string | RegExp) => page.getByRole('option', { name })

  await t.test('a customer by e-mail, and a key by its last four', async () => {
    await page.keyboard.press('ControlOrMeta+k')
    await field.fill('ops@glo')
    await option('<b>Globex</b>').waitFor()
    assert.deepEqual(await barriers(page, 'light'), [])
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: '<b>Globex</b>', level: 1 }).waitFor()

    await page.getByRole('heading', { level: 1 }).click()
    await page.keyboard.press('/')
    await field.fill(key.secret.slice(-4))
    await option(/nightly/).click()
    await page.getByRole('heading', { name: 'nightly', level: 1 }).waitFor()
  })

  await t.test('a page by the arrow keys, and what is not there', async () => {
    await page.getByRole('button', { name: 'Search' }).click()
    await field.fill('e')
    await option('Webhooks').waitFor()
    await field.fill('nodes')
    await option('Nodes').waitFor()
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('ArrowUp')
    await option('Nodes').click()
    await page.getByRole('heading', { name: 'Nodes', level: 1 }).waitFor()
    await page.keyboard.press('ControlOrMeta+k')
    await field.fill('%%')
    await page.getByText('No results.').waitFor()
    await page.keyboard.press('Escape')
  })

  await t.test('? lists the shortcuts, but types itself in a field', async () => {
    await open('/keys')
    await page.getByLabel('Name, ID or last four').press('?')
    assert.equal(await page.getByRole('dialog').count(), 0)
    await page.getByRole('heading', { name: 'Keys', level: 1 }).click()
    await page.keyboard.press('?')
    await page.getByRole('dialog', { name: 'Keyboard shortcuts' }).waitFor()
    await page.keyboard.press('ControlOrMeta+k')
    assert.equal(await page.getByRole('dialog').count(), 1)
  })
  assert.deepEqual(complaints, [])
})
