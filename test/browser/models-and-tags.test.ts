// Models and tags of a key in its dialog and on its page; tags and reasons of requests on the usage pages.
import assert from 'node:assert/strict'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { hasBrowser, openBrowser, SCREENSHOTS, visit } from '../support/browser.ts'
import { standardConfig, startGateway } from '../support/gateway.ts'
import { startUpstream } from '../support/upstream.ts'
import { settledRow } from '../support/usage.ts'

test('operators set models and tags, and see tags and reasons', { skip: !hasBrowser() }, async t => {
  await using upstream = await startUpstream()
  await using gateway = await startGateway({ config: standardConfig(upstream.url) })
  await using browser = await openBrowser()
  const { page, complaints, open, signIn } = await visit(browser, gateway.url, 'desktop')
  await signIn(gateway.adminToken)
  await mkdir(SCREENSHOTS, { recursive: true })
  const fill = async (label: string, texts: readonly string[]) => {
    for (const text of texts) {
      await page.getByLabel(label, { exact: true }).first().fill(text)
      await page.keyboard.press('Enter')
    }
  }
  const { id, secret } = await gateway.createKey({ name: 'search' })

  await t.test('the dialog of a key sets them, and its page shows them', async () => {
    await open(`/keys/${id}`)
    await page.getByRole('button', { name: 'Edit' }).click()
    await fill('Models', ['test/*', 'gpt-4o*'])
    await fill('Tags', ['untagged'])
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('is not a tag such as team=search').waitFor()
    await page.getByLabel('Tags', { exact: true }).first().press('Backspace')
    await fill('Tags', ['team=search', 'stage=prod'])
    await page.screenshot({ path: join(SCREENSHOTS, 'key-models-and-tags.png') })
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('dialog').first().waitFor({ state: 'detached' })

    const { body } = await gateway.admin('GET', `/keys/${id}`)
    assert.deepEqual([body.allowed_models, body.tags], [['test/*', 'gpt-4o*'], { stage: 'prod', team: 'search' }])
    await page.getByText('test/*, gpt-4o*').waitFor()
    await page.getByText('stage=prod, team=search').waitFor()
  })

  const chat = await gateway.chat({}, { key: secret, headers: { 'x-svc-tags': 'run=7' } })
  await settledRow(gateway, chat.headers['x-request-id'])
  upstream.next({ status: 400, body: JSON.stringify({ error: { message: 'The tool list is too long' } }) })
  const failed = await gateway.chat({}, { key: secret, headers: { 'x-svc-tags': 'run=8' } })
  await settledRow(gateway, failed.headers['x-request-id'])

  await t.test('the usage page filters by tag and shows tags', async () => {
    await open('/usage')
    await page.getByText('run=7, stage=prod, team=search').waitFor()
    await page.getByLabel('Tag', { exact: true }).fill('run=8')
    await page.keyboard.press('Enter')
    await page.getByText('run=7, stage=prod, team=search').waitFor({ state: 'detached' })
    assert.match(page.url(), /tag=run%3A8/)
    assert.equal(await page.getByText('run=8, stage=prod, team=search').count(), 1)
    await page.screenshot({ path: join(SCREENSHOTS, 'usage-by-tag.png') })
  })

  await t.test('the page of a request shows why it failed', async () => {
    await open(`/usage/${failed.headers['x-request-id']}`)
    await page.getByText('upstream_rejected').first().waitFor()
    await page.getByText(/rejected the request as invalid: The tool list is too long/).waitFor()
    await page.getByRole('cell', { name: 'The tool list is too long' }).waitFor()
    await page.getByText('run=8, stage=prod, team=search').waitFor()
    await page.screenshot({ path: join(SCREENSHOTS, 'request-reason.png') })
  })
  assert.deepEqual(complaints, [])
})
