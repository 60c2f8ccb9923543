// The usage page: totals of the filter, time ranges, groups that can be sorted, and the export of what is shown.
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { hasBrowser, openBrowser, SCREENSHOTS, visit } from '../support/browser.ts'
import { startGateway } from '../support/gateway.ts'

test('usage has totals, ranges and groups', { skip: !hasBrowser() }, async t => {
  await using gateway = await startGateway()
  await using browser = await openBrowser()
  const names = ['Busy', 'Quiet']
  const keys = await Promise.all(
    names.map(async name => {
      const account = await gateway.createAccount({ name })
      await gateway.addCredits(account.id, '10')
      return gateway.createKey({ name: `${name} key`, account_id: account.id, tags: { team: name.toLowerCase() } })
    }),
  )
  const [busy, quiet] = keys.map(({ secret }) => secret)
  for (const key of [busy, busy, busy, quiet]) await gateway.chat({ model: 'demo/echo' }, { key: String(key) })
  await gateway.chat({ model: 'no/such' }, { key: String(busy) })
  const { page, open, signIn, complaints } = await visit(browser, gateway.url)
  await signIn(gateway.adminToken)
  const totals = page.getByRole('region', { name: 'Totals' })
  const choose = async (label: string, option: string) => {
    await page.getByRole('combobox', { name: label }).click()
    await page.getByRole('option', { name: option, exact: true }).click()
  }

  await t.test('the totals follow the filter', async () => {
    await open('/usage')
    await totals.getByText(/Requests\s*5/).waitFor()
    await totals.getByText(/Errors\s*1/).waitFor()
    await choose('Outcome', 'refused')
    await totals.getByText(/Requests\s*1\s*$/).waitFor()
    await page.getByRole('button', { name: 'Clear filters' }).click()
    await totals.getByText(/Requests\s*5/).waitFor()
    await choose('Time range', 'Last month')
    await page.getByText('No matching requests').waitFor()
    assert.match(page.url(), /range=last-month/)
  })

  await t.test('error codes in the URL are filters, with totals and groups', async () => {
    const codes = 'error_code=model_not_found&error_code=insufficient_credits'
    await open(`/usage?${codes}`)
    await totals.getByText(/Requests\s*1\s*$/).waitFor()
    await totals.getByText(/Errors\s*1/).waitFor()
    await page.getByText('1 rows').waitFor()
    const href = await page.getByRole('link', { name: 'Export CSV' }).getAttribute('href')
    assert.equal(href, `/admin/v1/usage?${codes}&format=csv`)
    await open(`/usage?${codes}&group=account`)
    await page.getByRole('row', { name: /Busy/ }).waitFor()
    assert.equal(await page.getByRole('row').count(), 2)
    await open(`/usage?${codes}`)
    await page.getByRole('button', { name: 'Clear filters' }).click()
    await page.getByText('5 rows').waitFor()
    assert.doesNotMatch(page.url(), /error_code/)
  })

  await t.test('groups are sorted by spend, then by what is clicked', async () => {
    await open('/usage?range=today&group=account')
    const first = () => page.getByRole('row').nth(1).getByRole('cell').first().innerText()
    await page.getByRole('row', { name: /Busy/ }).waitFor()
    assert.equal(await first(), 'Busy')
    await page.getByRole('button', { name: 'Sort by Requests' }).click()
    await page.getByRole('button', { name: 'Sort by Requests, sorted descending' }).click()
    await page.getByRole('button', { name: 'Sort by Requests, sorted ascending' }).waitFor()
    assert.equal(await first(), 'Quiet')

    const href = await page.getByRole('link', { name: 'Export CSV' }).getAttribute('href')
    assert.match(href ?? '', /^\/admin\/v1\/usage\/summary\?from=.*&group_by=account&format=csv$/)
  })

  await t.test('the list that groups hide is not read', async () => {
    const asked: string[] = []
    page.on('request', request => asked.push(new URL(request.url()).pathname))
    await open('/usage?group=account')
    await page.getByRole('row', { name: /Busy/ }).waitFor()
    assert.ok(asked.includes('/admin/v1/usage/summary'))
    assert.ok(!asked.includes('/admin/v1/usage'))
  })

  await t.test('a value of a tag leads to its requests', async () => {
    await open('/usage?group=tag%3Ateam')
    await page.getByRole('button', { name: 'quiet', exact: true }).click()
    await totals.getByText(/Requests\s*1\s*$/).waitFor()
    assert.match(page.url(), /tag=team%3Aquiet/)
    await page.getByText('1 rows').waitFor()
    assert.equal(await page.getByRole('row').count(), 2)
  })

  await t.test('a group has its provider cost and margin where they are known', async () => {
    await gateway.admin('POST', '/models', {
      id: 'sold/echo',
      context_length: 8192,
      max_output_tokens: 1024,
      pricing: { prompt: '0.000004', completion: '0.000004' },
      targets: [{ provider: 'demo', model: 'echo', cost: { prompt: '0.000001', completion: '0.000001' } }],
    })
    await gateway.chat({ model: 'sold/echo' }, { key: String(quiet) })
    await open('/usage?group=model')
    const cells = (name: string) => page.getByRole('row', { name }).getByRole('cell').allInnerTexts()
    await page.getByRole('row', { name: 'sold/echo' }).waitFor()
    const [sold, own] = [await cells('sold/echo'), await cells('demo/echo')]

    assert.match(sold.at(-1) ?? '', /^0\.0\d+ 75\.0 %$/)
    assert.deepEqual(own.slice(-2), ['–', '–'])
    await totals.getByText('75.0 % · cost unknown for 4 requests').waitFor()
  })

  await t.test('requests are sorted by cost, and by time again', async () => {
    await gateway.chat(
      { model: 'demo/echo', messages: [{ role: 'user', content: 'word '.repeat(500) }] },
      { key: String(quiet) },
    )
    await gateway.chat({ model: 'demo/echo' }, { key: String(busy) })
    await open('/usage')
    const first = page.getByRole('row').nth(1)
    await page.getByText('8 rows').waitFor()
    await first.getByText('Busy', { exact: true }).waitFor()
    await page.getByRole('button', { name: 'Sort by Cost' }).click()
    await first.getByText('Quiet', { exact: true }).waitFor()
    assert.match(page.url(), /sort=cost/)
    await page.getByRole('button', { name: 'Sort by Cost, sorted descending' }).waitFor()
    await page.screenshot({ path: join(SCREENSHOTS, 'usage-by-cost.png') })
    await page.getByRole('button', { name: 'Sort by Time' }).click()
    await first.getByText('Busy', { exact: true }).waitFor()
    assert.doesNotMatch(page.url(), /sort/)
  })
  await t.test('a wide list that is scrolled sideways keeps its first column in view', async () => {
    await page.setViewportSize({ width: 1000, height: 800 })
    await open('/usage')
    await page.getByText('8 rows').waitFor()
    const first = page.getByRole('row').nth(1).getByRole('cell').first()
    const [before] = [
      await first.boundingBox(),
      await page.evaluate('document.querySelector(".table-frame").scrollBy(120, 0)'),
    ]

    const after = await first.boundingBox()

    assert.ok(Number(await page.evaluate('document.querySelector(".table-frame").scrollLeft')) > 50)
    assert.deepEqual([after?.x, await page.evaluate('scrollX')], [before?.x, 0])
    await page.setViewportSize({ width: 1440, height: 900 })
  })

  await t.test('on a phone the filters are folded, unless one of them is set', async () => {
    const phone = await visit(browser, gateway.url, 'phone')
    await phone.signIn(gateway.adminToken)
    const outcome = phone.page.getByRole('combobox', { name: 'Outcome' })
    await phone.open('/usage')
    await phone.page.getByRole('button', { name: 'Filters' }).waitFor()
    assert.equal(await outcome.isVisible(), false)
    await phone.page.getByRole('button', { name: 'Filters' }).click()
    await outcome.waitFor()

    await phone.open('/usage?outcome=refused')
    await outcome.waitFor()
    assert.equal(await outcome.inputValue(), 'refused')
    await phone.page.close()
  })
  assert.deepEqual(complaints, [])
})
