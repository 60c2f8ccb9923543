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
    await key.getByLabel('Credit limit in credits (lifetime)').fill('2')
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
    const href = await page.getByRole('link', { name: 'View all failures' }).getAttribute('href')
    assert.equal(href, `/usage?account_id=${accountId}&outcome=failed`)
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
  await t.test('starting credits are added once, even if the first answer is lost', async () => {
    await open('/accounts')
    await page.getByRole('button', { name: 'Create account' }).click()
    const dialog = page.getByRole('dialog', { name: 'Create account' })
    await dialog.getByLabel('Name').fill('Initech')
    await dialog.getByLabel('Starting credits').fill('0')
    await dialog.getByText('Enter an amount above zero').waitFor()
    await dialog.getByLabel('Starting credits').fill('12.5')
    // They are added, but the answer does not arrive.
    await page.route('**/credits', async route => {
      await route.fetch()
      await route.fulfill({ status: 503, body: '' })
    })
    await dialog.getByRole('button', { name: 'Create', exact: true }).click()
    await dialog.getByText('The account was created, but its credits may not have been added').waitFor()
    assert.equal(await dialog.getByLabel('Starting credits').isDisabled(), true)
    await page.unroute('**/credits')
    assert.deepEqual(
      complaints.splice(0).filter(complaint => !complaint.includes('503')),
      [],
    )

    await dialog.getByRole('button', { name: 'Add credits again' }).click()
    await page.getByRole('heading', { name: 'Initech', level: 1 }).waitFor()

    await page.getByRole('row', { name: /Top-up 12\.50 12\.50/ }).waitFor()
    const { body } = await gateway.admin('GET', '/accounts?name=Initech')
    const [account] = body.data as unknown as { readonly balance: { readonly available: string } }[]
    assert.equal(account?.balance.available, '12.5')
  })

  await t.test(
    'credits that the server refused are changed and sent again; the dialog stays open meanwhile',
    async () => {
      await open('/accounts')
      await page.getByRole('button', { name: 'Create account' }).click()
      const dialog = page.getByRole('dialog', { name: 'Create account' })
      await dialog.getByLabel('Name').fill('Hooli')
      await dialog.getByLabel('Starting credits').fill('13')
      const answer = Promise.withResolvers<void>()
      await page.route('**/credits', async route => {
        await answer.promise
        await route.fulfill({ status: 422, json: { error: { message: 'Too many credits.', code: 'invalid_request' } } })
      })
      const sent = page.waitForRequest('**/credits')
      await dialog.getByRole('button', { name: 'Create', exact: true }).click()
      await sent
      await page.keyboard.press('Escape')
      assert.equal(await dialog.getByRole('button', { name: 'Open account' }).isDisabled(), true)
      assert.equal(await dialog.getByRole('button', { name: 'Add credits again' }).count(), 0)
      answer.resolve()

      await dialog.getByText('The account was created, but its credits were refused').waitFor()
      await dialog.getByText('Too many credits.').waitFor()
      await page.unroute('**/credits')
      complaints.splice(0)
      await dialog.getByLabel('Starting credits').fill('7')
      await dialog.getByRole('button', { name: 'Add credits again' }).click()

      await page.getByRole('heading', { name: 'Hooli', level: 1 }).waitFor()
      await page.getByRole('row', { name: /Top-up 7\.00 7\.00/ }).waitFor()
    },
  )

  await t.test('the charges of a day say how many of its requests failed', async () => {
    const { secret } = await gateway.createKey({ name: 'mixed', account_id: accountId })
    for (const model of ['demo/echo', 'demo/echo', 'no/such']) await gateway.chat({ model }, { key: secret })
    await open(`/accounts/${accountId}`)
    const charges = page.getByRole('row', { name: /Charges of the day/ })
    // One was refused before there were credits.
    await charges.getByText('4 requests, 2 of them failed or refused').waitFor()
    await charges.getByRole('link', { name: '4 requests' }).click()
    await page.getByText('4 rows').waitFor()
  })
  assert.deepEqual(complaints, [])
})
