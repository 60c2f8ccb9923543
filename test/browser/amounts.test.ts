// Amounts in the dashboard and the portal are rounded for reading; hovering, focusing and copying give every digit.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { hasBrowser, openBrowser, visit } from '../support/browser.ts'
import { startGateway } from '../support/gateway.ts'
import { portalLink } from '../support/portal.ts'
import { standardConfig } from '../support/standard-config.ts'
import { startUpstream } from '../support/upstream.ts'

const EXACT = '3.123456789'

test('an amount shows two decimals and reveals all digits', { skip: !hasBrowser() }, async t => {
  await using gateway = await startGateway()
  await using browser = await openBrowser()
  const rich = await gateway.createAccount({ name: 'Rich' })
  await gateway.addCredits(rich.id, '1000')
  const account = await gateway.createAccount({ name: 'Odd' })
  await gateway.addCredits(account.id, EXACT)
  const { page, open, signIn, complaints } = await visit(browser, gateway.url)
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
  await signIn(gateway.adminToken)
  const tooltip = page.getByRole('tooltip')
  const copied = async () => {
    await page.keyboard.press('Control+c')
    return String(await page.evaluate('navigator.clipboard.readText()'))
  }

  await t.test('on the page of an account', async () => {
    await open(`/accounts/${account.id}`)
    const available = page.getByRole('region', { name: 'Balance' }).getByText('3.12', { exact: true })

    await available.hover()
    assert.equal(await tooltip.innerText(), EXACT)
    await page.mouse.move(0, 0)
    await tooltip.waitFor({ state: 'hidden' })
    await available.focus()
    assert.equal(await tooltip.innerText(), EXACT)
    await available.dblclick()

    assert.equal(await copied(), EXACT)
  })

  await t.test('in a list, with the same decimals in every row and a dash for zero', async () => {
    await open('/accounts')
    await page.getByText('1,000.00', { exact: true }).waitFor()
    const cells = page.getByRole('row', { name: 'Odd' }).getByRole('cell')
    assert.deepEqual((await cells.allInnerTexts()).slice(2, 4), ['3.12', '–'])

    await page.evaluate('getSelection().selectAllChildren(document.querySelector("tbody"))')
    const rows = await copied()

    assert.match(rows, new RegExp(`Odd[\\s\\S]*\t${EXACT}\t`))
    assert.match(rows, /Rich[\s\S]*\t1,000.00\t/)
  })

  await t.test('without an exchange rate there is no switch to dollars', async () => {
    await page.getByRole('button', { name: 'Signed in as' }).click()
    await page.getByRole('menuitem', { name: 'Sign out' }).waitFor()
    assert.equal(
      (await page.getByText(/Amounts in/).count()) + (await page.getByRole('button', { name: /US dollars/ }).count()),
      0,
    )
    await page.keyboard.press('Escape')
  })

  await t.test('in the portal', async () => {
    await page.goto(await portalLink(gateway, account.id))
    const available = page.getByRole('region', { name: 'Balance' }).getByText('3.12', { exact: true })
    await available.hover()
    assert.equal(await tooltip.innerText(), EXACT)
  })
  assert.deepEqual(complaints, [])
})

test('amounts are shown in US dollars, if the gateway has an exchange rate', { skip: !hasBrowser() }, async t => {
  await using upstream = await startUpstream()
  await using gateway = await startGateway({ config: { ...standardConfig(upstream.url), credits_per_usd: '100' } })
  await using browser = await openBrowser()
  const { secret, key } = await gateway.createKey({ name: 'charts' })
  await gateway.addCredits(String(key.account_id), EXACT)
  await gateway.chat({ model: 'test/m1' }, { key: secret })
  const { page, open, signIn, complaints } = await visit(browser, gateway.url)
  await signIn(gateway.adminToken)
  await open('/overview')
  const [toDollars, toCredits] = ['US dollars', 'credits'].map(unit =>
    page.getByRole('button', { name: `Switch to ${unit}` }),
  )

  await t.test('switched on any page, without a reload', async () => {
    const totals = page.getByRole('region', { name: 'Totals' })
    await totals.getByText('Revenue (credits)').waitFor()
    const credits = await totals.locator('data').first().innerText()
    await page.locator('.recharts-surface').first().waitFor()

    await toDollars?.click()

    await totals.getByText('Revenue (US dollars)').waitFor()
    const dollars = await totals.locator('data').first().innerText()
    assert.ok(
      Math.abs(Number(dollars.slice(1)) * 100 - Number(credits)) <= Number(credits) / 100,
      `${credits} ${dollars}`,
    )
    assert.match(dollars, /^\$0\.\d+$/)
    const axis = page.getByRole('region', { name: 'Revenue' }).locator('.recharts-yAxis-tick-labels')
    await axis
      .getByText(/^\$0\.0/)
      .first()
      .waitFor()
  })

  await t.test('with all digits on hover, and remembered', async () => {
    await page.reload()
    await open(`/accounts/${key.account_id}`)
    const added = page.getByRole('row', { name: 'Top-up' }).locator('data').first()
    assert.equal(await added.innerText(), '$0.0312')

    // A scroll after the hover would close the tooltip.
    await added.scrollIntoViewIfNeeded()
    await added.hover()

    assert.equal(await page.getByRole('tooltip').innerText(), '$0.03123456789')
    await page.getByText('In US dollars').first().waitFor()
  })

  await t.test('entered in credits, with the dollars they are', async () => {
    await page.getByRole('button', { name: 'Add credits' }).click()
    await page.getByLabel('Amount in credits').fill('250')
    await page.getByText('= $2.50').waitFor()
    await page.keyboard.press('Escape')
    await open(`/keys/${key.id}`)
    await page.getByRole('button', { name: 'Edit', exact: true }).click()
    await page.getByLabel('Credit limit in credits (lifetime)').fill('1000')
    await page.getByText('= $10.00').waitFor()
    await page.keyboard.press('Escape')
  })

  await t.test('and switched back; customers see credits', async () => {
    await toCredits?.click()
    await page.getByText('In credits').first().waitFor()
    await toDollars?.click()
    await page.goto(await portalLink(gateway, String(key.account_id)))
    await page.getByRole('region', { name: 'Balance' }).getByText('In credits').waitFor()
    assert.equal(await page.getByText('$').count(), 0)
  })
  assert.deepEqual(complaints, [])
})
