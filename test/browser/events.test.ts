// The audit log in the dashboard: names instead of ids, a filter by time, and details that expand; and what the navigation has
// besides pages.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { hasBrowser, openBrowser, visit } from '../support/browser.ts'
import { startGateway } from '../support/gateway.ts'

test('events have names, a time filter and details', { skip: !hasBrowser() }, async () => {
  await using gateway = await startGateway()
  await using browser = await openBrowser()
  const { id } = await gateway.createKey({ name: 'nightly jobs' })
  const ip_allowlist = Array.from({ length: 30 }, (_, i) => `192.0.2.${i}`)
  await gateway.admin('PATCH', `/keys/${id}`, { ip_allowlist })
  const { page, complaints, signIn, open } = await visit(browser, gateway.url)
  await signIn(gateway.adminToken)

  await open('/events?action=key.update')
  await page.getByRole('link', { name: 'nightly jobs' }).waitFor()
  await page.getByRole('button', { name: 'More', exact: true }).click()
  await page.getByRole('button', { name: 'Less', exact: true }).waitFor()

  await page.getByLabel(/^To,/).fill('2020-01-01T00:00')
  await page.getByText('No matching events').waitFor()
  assert.match(page.url(), /to=2020-01-01T/)

  assert.equal(await page.getByRole('link', { name: 'API reference' }).getAttribute('href'), '/docs')
  await page.getByText(/^Turnpike \d+\.\d+\.\d+/).waitFor()
  assert.deepEqual(complaints, [])
})
