// Lists of which only a part is loaded are sorted by the server; other columns say what they need.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { hasBrowser, openBrowser, visit } from '../support/browser.ts'
import { startGateway } from '../support/gateway.ts'

test('accounts and keys are sorted beyond what is loaded', { skip: !hasBrowser() }, async t => {
  await using gateway = await startGateway()
  await using browser = await openBrowser()
  // The oldest one, which is not on the first page of a hundred.
  const { id } = await gateway.createAccount({ name: 'Aardvark' })
  await gateway.addCredits(id, '1234')
  await gateway.createKey({ name: 'aaa oldest', account_id: id })
  for (let i = 0; i < 101; i++) {
    await gateway.createAccount({ name: `Customer ${i}` })
    await gateway.createKey({ name: `key ${i}`, account_id: id })
  }
  const { page, open, signIn, complaints } = await visit(browser, gateway.url)
  await signIn(gateway.adminToken)
  const first = page.getByRole('row').nth(1)

  await t.test('accounts by balance and by name', async () => {
    await open('/accounts')
    await page.getByText('100 accounts loaded, newest first').waitFor()
    await page.getByRole('button', { name: 'Sort by Available' }).click()
    await first.getByText('Aardvark').waitFor()
    await page.getByRole('button', { name: 'Sort by Name' }).click()
    await page.getByRole('button', { name: 'Sort by Name, sorted descending' }).click()
    await first.getByText('Aardvark').waitFor()
    assert.equal(await page.getByRole('button', { name: 'Sort by Held' }).count(), 0)
    await page.getByTitle('Load all rows to sort by this column.').first().waitFor()
  })

  await t.test('keys by name; once all are loaded, by every column', async () => {
    await open('/keys')
    await page.getByText('100 keys loaded, newest first').waitFor()
    await page.getByRole('button', { name: 'Sort by Name' }).click()
    await page.getByRole('button', { name: 'Sort by Name, sorted descending' }).click()
    await first.getByText('aaa oldest').waitFor()
    await page.getByRole('button', { name: /more/i }).click()
    await page.getByRole('button', { name: 'Sort by Status' }).waitFor()
  })
  assert.deepEqual(complaints, [])
})
