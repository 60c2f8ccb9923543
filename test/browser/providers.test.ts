// An operator tests a target, disables and enables it on the providers page.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { hasBrowser, openBrowser, visit } from '../support/browser.ts'
import { startGateway } from '../support/gateway.ts'

test('a target is tested, disabled and enabled', { skip: !hasBrowser() }, async () => {
  await using gateway = await startGateway()
  await using browser = await openBrowser()
  const { secret } = await gateway.createKey()
  const { page, complaints, signIn, open } = await visit(browser, gateway.url)
  await signIn(gateway.adminToken)
  await gateway.chat({ model: 'demo/echo' }, { key: secret })
  const status = async () => (await gateway.chat({ model: 'demo/echo' }, { key: secret })).status

  await open('/providers')
  await page.getByText('none of 1 failed').waitFor()
  await page.getByRole('button', { name: 'Test demo echo' }).click()
  await page.getByRole('dialog').getByText('succeeded').waitFor()
  await page.keyboard.press('Escape')

  await page.getByRole('button', { name: 'Disable demo echo' }).click()
  await page.getByText('No other target serves demo/echo').waitFor()
  await page.getByRole('dialog').getByRole('button', { name: 'Disable' }).click()
  await page.getByText('Disabled', { exact: true }).waitFor()
  assert.equal(await status(), 404)

  await page.getByRole('button', { name: 'Enable demo echo' }).click()
  await page.getByRole('button', { name: 'Disable demo echo' }).waitFor()
  assert.equal(await status(), 200)
  // The 404 above is not the page's.
  assert.deepEqual(complaints, [])
})
