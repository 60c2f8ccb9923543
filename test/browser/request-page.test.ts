// The page of a request says why it ended as it did, and leads to what changes that.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { hasBrowser, openBrowser, visit } from '../support/browser.ts'
import { startGateway } from '../support/gateway.ts'

test('a request explains itself', { skip: !hasBrowser() }, async t => {
  await using gateway = await startGateway()
  await using browser = await openBrowser()
  const account = await gateway.createAccount({ name: 'Rich' })
  await gateway.addCredits(account.id, '249')
  const key = await gateway.createKey({ name: 'ci', account_id: account.id, credit_limit: '0.00001' })
  const other = await gateway.createKey({ name: 'free', account_id: account.id })
  await gateway.admin('POST', '/models', {
    id: 'own/loss',
    context_length: 1000,
    max_output_tokens: 100,
    pricing: { prompt: '0.000001', completion: '0.000001' },
    targets: [{ provider: 'demo', model: 'echo', cost: { prompt: '0.000002', completion: '0.000003' } }],
  })
  const { page, open, signIn, complaints } = await visit(browser, gateway.url)
  await signIn(gateway.adminToken)
  const outcome = page.getByRole('note', { name: 'Outcome' })

  await t.test('a refusal names the limit of the key, and its link opens the form that raises it', async () => {
    const refused = await gateway.chat({ model: 'demo/echo', max_tokens: 50 }, { key: key.secret })
    assert.equal(refused.status, 402)
    await open(`/usage/${refused.headers['x-request-id']}`)

    await outcome.getByText(/^Refused: the key’s credit limit has 0\.00001 left\./).waitFor()
    await outcome.getByText(/^The client received HTTP 402 insufficient_credits: This request needs/).waitFor()
    await page.getByRole('region', { name: 'Tokens and cost' }).getByText('Nothing was charged').waitFor()
    assert.equal(await page.getByRole('table').count(), 0, 'no rows of zeros')
    assert.deepEqual(
      await page.locator('.mantine-Timeline-itemTitle').allInnerTexts(),
      ['Received', 'Refused'],
      'nothing was admitted',
    )
    await outcome.getByRole('link', { name: 'Raise limit' }).click()
    const dialog = page.getByRole('dialog', { name: 'Edit key' })
    await dialog.getByLabel('Credit limit in credits (lifetime)').fill('1')
    await dialog.getByRole('button', { name: 'Save' }).click()
    await dialog.waitFor({ state: 'hidden' })

    assert.doesNotMatch(page.url(), /open=/)
    assert.equal((await gateway.admin('GET', `/keys/${key.id}`)).body.credit_limit, '1')
  })

  await t.test('a request sold at a loss shows both figures', async () => {
    const sold = await gateway.chat({ model: 'own/loss', max_tokens: 5 }, { key: other.secret })
    assert.equal(sold.status, 200)
    await open(`/usage/${sold.headers['x-request-id']}`)

    await outcome.getByText(/^Served by demo in /).waitFor()
    await page.getByText(/^The client paid 0\.0000\d+ credits; the provider cost 0\.0000\d+\.$/).waitFor()
    await page.getByRole('row', { name: /^Margin −0\.0000/ }).waitFor()
  })
  assert.deepEqual(complaints, [])
})
