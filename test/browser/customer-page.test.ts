// The page of an account: its contact, keys that are created there, failures with reasons, and the ledger by kind and month.
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { test } from 'node:test'
import { hasBrowser, openBrowser, visit } from '../support/browser.ts'
import { startGateway } from '../support/gateway.ts'

test('an account is managed on its page', { skip: !hasBrowser() }, async t => {
  await using gateway = await startGateway()
  await using browser = await openBrowser()
  const { page, open, signIn, complaints } = await visit(browser, gateway.url, 'desktop', {
    timezoneId: 'Asia/Tokyo',
  })
  await signIn(gateway.adminToken)
  let accountId = ''

  await t.test('it is created with a contact, and offers to create its first key', async () => {
    await open('/accounts')
    await page.getByRole('button', { name: 'Create account' }).click()
    const dialog = page.getByRole('dialog', { name: 'Create account' })
    await dialog.getByLabel('Name').fill('Globex')
    await dialog.getByLabel('Contact e-mail').fill('ops@globex.example')
    await dialog.getByLabel('External ID').fill('cus_1017')
    await dialog.getByRole('button', { name: 'Create', exact: true }).click()
    await page.getByRole('heading', { name: 'Globex', level: 1 }).waitFor()
    accountId = new URL(page.url()).pathname.split('/').at(-1) ?? ''

    await page.getByRole('link', { name: 'ops@globex.example' }).waitFor()
    await page.getByText('cus_1017').waitFor()
    await page.getByText('No keys yet').waitFor()
    await page.getByRole('button', { name: 'Create key' }).click()
    const key = page.getByRole('dialog', { name: 'Create key' })
    await key.getByLabel('Name').fill('production')
    await key.getByLabel('Credit limit (lifetime)').fill('2')
    await key.getByRole('button', { name: 'Create key' }).click()
    const secret = await page.getByText(/^svc_live_\w{43}$/).innerText()
    await page.getByRole('button', { name: 'I have copied it' }).click()
    await page.getByRole('link', { name: 'production' }).waitFor()

    const refused = await gateway.chat({ model: 'demo/echo' }, { key: secret })
    assert.equal(refused.status, 402)
  })

  await t.test('its failures have reasons, and its ledger is filtered and exported', async () => {
    await gateway.addCredits(accountId, '10')
    await gateway.admin('POST', `/accounts/${accountId}/credits`, { amount: '-2.5' }, { 'idempotency-key': 'k' })
    await open(`/accounts/${accountId}`)
    await page.getByRole('cell', { name: /^Refused: the account has 0 credits left\./ }).waitFor()
    const ledger = page.getByRole('region', { name: 'Ledger', exact: true })
    await ledger.getByRole('row', { name: /Adjustment −2\.50 7\.50/ }).waitFor()
    await ledger.getByRole('combobox', { name: 'Kind of entry' }).click()
    await page.getByRole('option', { name: 'Top-up' }).click()
    await ledger.getByRole('row', { name: /Adjustment/ }).waitFor({ state: 'detached' })
    await ledger.getByRole('row', { name: /Top-up 10\.00 10\.00/ }).waitFor()
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      ledger.getByRole('link', { name: 'Export CSV' }).click(),
    ])
    const csv = await readFile(await download.path(), 'utf8')

    assert.match(csv, /,topup,10,10,/)
    assert.doesNotMatch(csv, /adjustment/)
  })

  await t.test('a month of the ledger is one of UTC, as days of charges are, in any time zone', async () => {
    const ledger = page.getByRole('region', { name: 'Ledger', exact: true })
    await ledger.getByRole('combobox', { name: 'Month (UTC)' }).click()
    await page.getByRole('option').nth(1).click()
    await page.getByText('No matching entries').waitFor()
    const href = (await ledger.getByRole('link', { name: 'Export CSV' }).getAttribute('href')) ?? ''
    const now = new Date()
    const firstOf = (ago: number) => new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - ago)).toISOString()

    const query = new URLSearchParams(href.split('?')[1])
    assert.deepEqual([query.get('from'), query.get('to')], [firstOf(1), firstOf(0)])
  })
  assert.deepEqual(complaints, [])
})
