// The charts of the overview in a browser: every gridline has its label, times are those of the chosen zone, and a click zooms in.
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { hasBrowser, openBrowser, SCREENSHOTS, visit } from '../support/browser.ts'
import { startGateway } from '../support/gateway.ts'
import { until } from '../support/until.ts'
import { startUpstream } from '../support/upstream.ts'

test('without requests nothing is compared with the period before', { skip: !hasBrowser() }, async t => {
  await using upstream = await startUpstream()
  upstream.script({ body: '{"latest":"99.0.0"}' })
  await using gateway = await startGateway({ env: { TURNPIKE_UPDATE_URL: `${upstream.url}/latest` } })
  await using browser = await openBrowser()
  const { page, signIn, open } = await visit(browser, gateway.url)
  await signIn(gateway.adminToken)
  await open('/overview')
  await page.getByText('No requests in this range').first().waitFor()

  await t.test('a newer version is named in the navigation, with how to upgrade', async () => {
    // The answer of the check is there with the next read of the settings.
    await page.reload()
    await page.getByRole('link', { name: 'Update available: 99.0.0' }).click()
    await page.getByRole('alert').getByText('Turnpike 99.0.0 is available').waitFor()
    await page.screenshot({ path: join(SCREENSHOTS, 'update.png') })
    await page.getByRole('link', { name: 'Overview' }).click()
  })

  const totals = await page.getByRole('region', { name: 'Totals' }).innerText()

  assert.match(totals, /Requests\s+0/)
  assert.doesNotMatch(totals, /±|0 of 0/)
})

test('charts have honest axes in the chosen time zone', { skip: !hasBrowser() }, async t => {
  await using gateway = await startGateway()
  await using browser = await openBrowser()
  const { secret } = await gateway.createKey({ name: 'charts' })
  await gateway.chat({ model: 'demo/echo' }, { key: secret })
  await gateway.chat({ model: 'no/such' }, { key: secret })
  const { page, signIn, open } = await visit(browser, gateway.url, 'desktop', { timezoneId: 'Asia/Kolkata' })
  await signIn(gateway.adminToken)
  await open('/overview')

  await t.test('every horizontal gridline has a label at its height', async () => {
    await page.locator('.recharts-surface').first().waitFor()

    for (const chart of await page.locator('.recharts-wrapper').all()) {
      const lines = await chart.locator('.recharts-cartesian-grid-horizontal line').evaluateAll(middles)
      const labels = await chart
        .locator('.recharts-yAxis-tick-labels .recharts-cartesian-axis-tick-value')
        .evaluateAll(middles)
      assert.ok(lines.length >= 2, 'an axis has at least two lines')
      assert.equal(labels.length, lines.length)
      const apart = lines
        .toSorted((a, b) => a - b)
        .map((y, i) => Math.abs(y - (labels.toSorted((a, b) => a - b)[i] ?? 0)))
      assert.ok(Math.max(...apart) < 3, `labels are ${apart} pixels from their lines`)
    }
  })

  await t.test('errors by cause lead to the requests that failed for it', async () => {
    await page.getByText('All systems healthy').waitFor()

    await page.getByRole('link', { name: 'Caller 1' }).click()
    await page.waitForURL(/\/usage\?from=.*cause=caller/)
    await page.locator('.table-frame').getByText('no/such').first().waitFor()

    await open('/overview')
  })

  await t.test('the zone is stated, switched and remembered', async () => {
    await page
      .getByText(/Times in UTC\+5:30 \(Asia\/(Kolkata|Calcutta)\)/)
      .first()
      .waitFor()
    assert.match(await hourLabels(page), /:30/)

    await page.getByRole('button', { name: /Switch to UTC/ }).click()
    await page.getByText('Times in UTC.').first().waitFor()
    assert.doesNotMatch(await hourLabels(page), /:30/)

    await page.reload()
    await page.getByText('Times in UTC.').first().waitFor()
    await open('/usage')
    await page.getByRole('button', { name: /Switch to UTC\+5:30/ }).waitFor()
  })

  await t.test('a click on a chart zooms into that time, and a range ends the zoom', async () => {
    await open('/overview?range=7d')
    await page.locator('.recharts-surface').first().waitFor()

    await page
      .locator('.recharts-wrapper')
      .first()
      .click({ position: { x: 200, y: 80 } })
    await page.waitForURL(/from=.*to=/)
    const { searchParams } = new URL(page.url())
    assert.equal(Date.parse(searchParams.get('to') ?? '') - Date.parse(searchParams.get('from') ?? ''), 3_600_000)

    await page.getByLabel('Range').first().click()
    await page.getByRole('option', { name: 'This month' }).click()
    await page.waitForURL(/range=month$/)
  })
})

test('on a phone the charts are in a carousel', { skip: !hasBrowser() }, async t => {
  await using gateway = await startGateway()
  await using browser = await openBrowser()
  const { secret } = await gateway.createKey({ name: 'charts' })
  await gateway.chat({ model: 'demo/echo' }, { key: secret })
  const { page, signIn, open, complaints } = await visit(browser, gateway.url, 'phone')
  await signIn(gateway.adminToken)
  await open('/overview')
  const charts = page.getByRole('region', { name: 'Charts' })
  const list = charts.getByRole('list')
  const chart = (name: string) => charts.getByRole('region', { name })
  const shows = async (name: string, position: string) => {
    await charts.getByRole('status').getByText(position).waitFor()
    assert.equal(await charts.getByRole('status').textContent(), `${name}, ${position}`)
    await until(`${name} is in view`, async () => isWithin(await chart(name).boundingBox(), 390))
  }

  await t.test('one at a time, with its position among all', async () => {
    await shows('Requests', '1 of 6')
    assert.equal(await list.getByRole('listitem').count(), 6)
    assert.ok(!isWithin(await chart('Revenue').boundingBox(), 390))
  })

  await t.test('moved by buttons, the keyboard and scrolling', async () => {
    const next = charts.getByRole('button', { name: 'Next chart' })
    await next.click()
    await shows('Revenue', '2 of 6')
    await charts.getByRole('button', { name: 'Show Tokens' }).click()
    await shows('Tokens', '6 of 6')
    assert.equal(await next.getAttribute('aria-disabled'), 'true')

    await list.focus()
    await page.keyboard.press('ArrowLeft')
    await shows('Latency', '5 of 6')
    await page.evaluate('document.querySelector("ol[tabindex]").scrollTo({ left: 0 })')
    await shows('Requests', '1 of 6')
  })

  await t.test('each press is a step, even while the one before still scrolls', async () => {
    await page.emulateMedia({ reducedMotion: 'no-preference' })
    const next = charts.getByRole('button', { name: 'Next chart' })
    for (let press = 0; press < 3; press += 1) await next.click()
    await shows('Error rate', '4 of 6')

    // Scrolled by hand, the next step is from there.
    await page.evaluate(`new Promise(ended => {
      const slides = document.querySelector('ol[tabindex]')
      slides.addEventListener('scrollend', ended, { once: true })
      slides.scrollTo({ left: 0 })
    }).then(() => undefined)`)
    await shows('Requests', '1 of 6')
    await next.click()
    await shows('Revenue', '2 of 6')
    await charts.getByRole('button', { name: 'Previous chart' }).click()
    await shows('Requests', '1 of 6')
    await page.emulateMedia({ reducedMotion: 'reduce' })
  })

  await t.test('a tap zooms in, and the page does not scroll sideways', async () => {
    assert.equal(await page.evaluate('document.documentElement.scrollWidth'), 390)
    await chart('Requests').scrollIntoViewIfNeeded()
    const { x, y } = (await chart('Requests').locator('.recharts-surface').first().boundingBox()) ?? { x: 0, y: 0 }

    await page.touchscreen.tap(x + 200, y + 80)

    await page.waitForURL(/from=.*to=/)
  })
  assert.deepEqual(complaints, [])
})

test('a custom range stays as it is typed while the time moves on', { skip: !hasBrowser() }, async () => {
  await using gateway = await startGateway()
  await using browser = await openBrowser()
  const { page, signIn, open } = await visit(browser, gateway.url)
  await signIn(gateway.adminToken)
  await open('/overview?range=1h')
  const refreshed = () => page.waitForResponse(response => response.url().includes('/admin/v1/overview'))

  await page.getByRole('button', { name: 'Custom' }).click()
  const from = page.getByLabel(/^From, /)
  await from.fill('2026-01-02T03:04')
  await page.clock.setFixedTime(Date.now() + 2 * 3_600_000)
  await refreshed()
  await refreshed()

  assert.equal(await from.inputValue(), '2026-01-02T03:04')
})

type Area = { readonly x: number; readonly width: number }

function isWithin(box: Area | null, width: number): boolean {
  return box !== null && box.x >= 0 && box.x + box.width <= width
}

type Box = { getBoundingClientRect(): { readonly top: number; readonly bottom: number } }

function middles(elements: readonly Box[]): number[] {
  return elements.map(element => element.getBoundingClientRect()).map(({ top, bottom }) => (top + bottom) / 2)
}

async function hourLabels(page: Page): Promise<string> {
  const labels = page.locator('.recharts-xAxis-tick-labels .recharts-cartesian-axis-tick-value')
  return (await labels.allTextContents()).join(' ')
}
