// The API reference at /docs: offline, with search, with this gateway in its examples; customers see /v1 and operators the admin API too.
import assert from 'node:assert/strict'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { hasBrowser, openBrowser, SCREENSHOTS, type Visit, visit } from '../support/browser.ts'
import { startGateway } from '../support/gateway.ts'

test('the API reference', { skip: !hasBrowser() }, async t => {
  await using gateway = await startGateway()
  await using browser = await openBrowser()
  await mkdir(SCREENSHOTS, { recursive: true })

  await t.test('shows customers /v1 with the address of this gateway and a model that it serves', async () => {
    const visitor = await visit(browser, gateway.url)
    await openReference(visitor)

    const samples = await visitor.page.locator('pre').first().innerText()

    assert.ok(samples.includes(`curl ${gateway.url}/v1/chat/completions`), samples)
    assert.ok(samples.includes('"model":"demo/echo"'), samples)
    assert.equal(await visitor.page.getByText('Admin API', { exact: true }).count(), 0)
    await visitor.page.screenshot({ path: join(SCREENSHOTS, 'reference-light.png') })
    assert.deepEqual(visitor.complaints, [])
  })

  await t.test('shows operators the admin API, and follows a dark screen', async () => {
    const visitor = await visit(browser, gateway.url)
    await visitor.signIn(gateway.adminToken)
    await visitor.page.emulateMedia({ colorScheme: 'dark' })
    await openReference(visitor)

    await visitor.page.getByText('Admin API', { exact: true }).first().waitFor()

    const background = await visitor.page.evaluate<string>('getComputedStyle(document.body).backgroundColor')
    const light = /\d+/.exec(background)?.[0]
    assert.ok(Number(light) < 80, background)
    await visitor.page.screenshot({ path: join(SCREENSHOTS, 'reference-dark.png') })
    assert.deepEqual(visitor.complaints, [])
  })

  await t.test('finds an operation by a word of its path', async () => {
    const visitor = await visit(browser, gateway.url)
    await openReference(visitor)

    await visitor.page
      .getByText(/^Search/)
      .first()
      .click()
    await visitor.page.getByPlaceholder('Search docs...').fill('introspect')
    await visitor.page.getByText('/v1/key/introspect').first().waitFor()

    assert.deepEqual(visitor.complaints, [])
  })

  await t.test('fits a phone', async () => {
    const visitor = await visit(browser, gateway.url, 'phone')
    await openReference(visitor)

    const width = await visitor.page.evaluate<number>('document.documentElement.scrollWidth')

    assert.ok(width <= 390, `${width} pixels wide`)
    await visitor.page.screenshot({ path: join(SCREENSHOTS, 'reference-phone.png') })
    assert.deepEqual(visitor.complaints, [])
  })
})

async function openReference({ page, open }: Visit): Promise<void> {
  await open('/docs')
  await page.getByRole('heading', { name: 'Quick start' }).waitFor()
}
