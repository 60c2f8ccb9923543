// Amounts in the dashboard and the portal are rounded for reading; hovering, focusing and copying give every digit.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { hasBrowser, openBrowser, visit } from '../support/browser.ts'
import { startGateway } from '../support/gateway.ts'
import { portalLink } from '../support/portal.ts'

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

  await t.test('in the portal', async () => {
    await page.goto(await portalLink(gateway, account.id))
    const available = page.getByRole('region', { name: 'Balance' }).getByText('3.12', { exact: true })
    await available.hover()
    assert.equal(await tooltip.innerText(), EXACT)
  })
  assert.deepEqual(complaints, [])
})
