// The provider dialog sets which of OpenAI's APIs is called, and sends it only where it applies and has changed.
import assert from 'node:assert/strict'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { hasBrowser, openBrowser, SCREENSHOTS, visit } from '../support/browser.ts'
import { standardConfig, startGateway } from '../support/gateway.ts'

test('the API of a provider is chosen in its dialog', { skip: !hasBrowser() }, async t => {
  const config = { ...standardConfig('http://127.0.0.1:9/v1'), allow_private_upstreams: true }
  await using gateway = await startGateway({ config })
  await using browser = await openBrowser()
  const { page, complaints, open, signIn } = await visit(browser, gateway.url, 'desktop')
  await signIn(gateway.adminToken)
  await mkdir(SCREENSHOTS, { recursive: true })
  const api = page.getByLabel('API', { exact: true }).first()
  const save = async (name: string) => {
    await page.getByRole('button', { name, exact: true }).click()
    await page.getByRole('dialog').first().waitFor({ state: 'detached' })
  }

  await t.test('a new provider without a choice has the API of its preset', async () => {
    await open('/providers')
    await page.getByRole('button', { name: 'Add provider' }).click()
    await page.getByRole('textbox', { name: 'ID', exact: true }).fill('own')
    await page.getByLabel('Preset').first().fill('openai')
    await page.keyboard.press('Escape')
    await page.getByLabel('Base URL').fill('http://127.0.0.1:9/v1')
    await page.getByLabel('API key').first().fill('a-secret-of-the-test')
    await page.screenshot({ path: join(SCREENSHOTS, 'provider-api.png') })
    await save('Add')

    const { body } = await gateway.admin('GET', '/providers/own')
    assert.deepEqual([body.kind, body.api], ['openai', 'auto'])
  })

  await t.test('it is changed, and the credentials stay', async () => {
    await page.getByRole('button', { name: 'Edit own' }).click()
    await api.click()
    await page.getByRole('option', { name: 'Responses', exact: true }).click()
    await save('Save')

    const { body } = await gateway.admin('GET', '/providers/own')
    assert.deepEqual([body.api, (body.credentials as unknown as unknown[]).length], ['responses', 1])
  })

  await t.test('with another API type it is removed', async () => {
    const moved = { id: 'moved', kind: 'openai', api: 'responses', base_url: 'http://127.0.0.1:9/v1' }
    assert.equal((await gateway.admin('POST', '/providers', moved)).status, 201)
    await open('/providers')
    await page.getByRole('button', { name: 'Edit moved' }).click()
    await page.getByLabel('API type').first().click()
    await page.getByRole('option', { name: 'Anthropic' }).click()
    await api.waitFor({ state: 'detached' })
    await save('Save')

    const { body } = await gateway.admin('GET', '/providers/moved')
    assert.deepEqual([body.kind, body.api], ['anthropic', null])
  })
  assert.deepEqual(complaints, [])
})
