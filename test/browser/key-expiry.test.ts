// The expiry of a key is entered and shown in the time zone that the pages show, not in the browser's.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { hasBrowser, openBrowser, visit } from '../support/browser.ts'
import { startGateway } from '../support/gateway.ts'
import { portalLink } from '../support/portal.ts'

test('keys expire at the time of the chosen zone', { skip: !hasBrowser() }, async t => {
  await using gateway = await startGateway()
  await using browser = await openBrowser()
  const { id: accountId } = await gateway.createAccount({ name: 'ACME' })
  const { page, open, signIn, complaints } = await visit(browser, gateway.url, 'desktop', { timezoneId: 'Asia/Tokyo' })
  const { id } = await gateway.createKey({ name: 'dated', account_id: accountId, expires_at: '2035-01-31T00:00:30Z' })
  const expiryOf = async (key: string) => String((await gateway.admin('GET', `/keys/${key}`)).body.expires_at)
  const field = page.getByLabel('Expires')
  await signIn(gateway.adminToken)

  await t.test('in Tokyo, where the browser is', async () => {
    await open(`/keys/${id}`)
    await page.getByRole('button', { name: 'Edit' }).click()
    await page.getByText(/^UTC\+9 \(Asia\/Tokyo\)\. Leave empty/).waitFor()
    assert.equal(await field.inputValue(), '2035-01-31T09:00')
    await page.getByLabel('Requests per minute').fill('7')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('Key updated.').waitFor()
    assert.equal(await expiryOf(id), '2035-01-31T00:00:30.000Z', 'a time that was not changed keeps its seconds')
  })

  await t.test('in UTC, which the operator chose', async () => {
    await page.getByRole('button', { name: /Switch to UTC/ }).click()
    await page.getByRole('button', { name: 'Edit' }).click()
    assert.equal(await field.inputValue(), '2035-01-31T00:00')
    await field.fill('2035-02-01T12:30')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('Key updated.').first().waitFor()
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    assert.equal(await expiryOf(id), '2035-02-01T12:30:00.000Z')
  })

  await t.test('in the portal', async () => {
    await page.goto(await portalLink(gateway, accountId))
    await page.getByRole('link', { name: 'Keys' }).click()
    await page.getByRole('button', { name: 'Create key' }).first().click()
    await page.getByLabel('Name').fill('by a customer')
    await page.getByRole('button', { name: 'Limits, budgets and models' }).click()
    await page.getByText(/^UTC\. Leave empty/).waitFor()
    await field.fill('2035-03-01T08:00')
    await page.getByRole('dialog').getByRole('button', { name: 'Create key' }).click()
    await page.getByText('Shown only once').waitFor()
    const { body } = await gateway.admin<{ data: { id: string }[] }>('GET', '/keys?q=by+a+customer')
    assert.equal(await expiryOf(body.data[0]?.id ?? ''), '2035-03-01T08:00:00.000Z')
  })
  assert.deepEqual(complaints, [])
})
