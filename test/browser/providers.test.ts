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

test('a change of a target that fails is reported, and its error is not shown with the next one', {
  skip: !hasBrowser(),
}, async () => {
  await using gateway = await startGateway()
  await using browser = await openBrowser()
  const { page, signIn, open } = await visit(browser, gateway.url)
  await signIn(gateway.adminToken)
  const fail = (message: string) =>
    page.route('**/providers/demo/targets', route =>
      route.fulfill({ status: 500, json: { error: { code: 'internal_error', message, param: null } } }),
    )
  const heal = () => page.unroute('**/providers/demo/targets')
  const dialog = page.getByRole('dialog')
  await open('/providers')

  await fail('it cannot be disabled')
  await page.getByRole('button', { name: 'Disable demo echo' }).click()
  await dialog.getByRole('button', { name: 'Disable' }).click()
  await dialog.getByText('it cannot be disabled').waitFor()
  await dialog.getByRole('button', { name: 'Cancel' }).click()
  await page.getByRole('button', { name: 'Disable demo echo' }).click()
  await dialog.getByText('It gets no more requests').waitFor()
  assert.equal(await dialog.getByRole('alert').count(), 0)

  await heal()
  await dialog.getByRole('button', { name: 'Disable' }).click()
  await fail('it cannot be enabled')
  await page.getByRole('button', { name: 'Enable demo echo' }).click()
  await page.getByText('it cannot be enabled').waitFor()
})
