// An operator's day at the dashboard: a key from creation to revocation, credits, and a search for a request.
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { hasBrowser, openBrowser, visit } from '../support/browser.ts'
import { freePort } from '../support/free-port.ts'
import { type Gateway, startGateway } from '../support/gateway.ts'
import { until } from '../support/until.ts'

const skip = !hasBrowser()

test('an operator creates a key, sees it used, rotates it, ends the old secret and revokes it', { skip }, async () => {
  await using gateway = await startGateway()
  await using browser = await openBrowser()
  const { page, complaints, open, signInByForm } = await visit(browser, gateway.url)
  await signInByForm(gateway.adminToken)

  const first = await createKey(page, 'checkout service')
  const used = await chat(gateway, first)
  await open('/usage')
  await page.getByRole('row', { name: /checkout service/ }).waitFor()
  const before = await page.locator('tbody tr').count()
  await chat(gateway, first)
  await until(
    'the second request appears without a reload',
    async () => (await page.locator('tbody tr').count()) > before,
  )

  await page
    .getByRole('row', { name: /checkout service/ })
    .first()
    .getByRole('link', { name: /checkout service/ })
    .click()
  const second = await rotate(page)
  await page.getByText('Old secrets in grace period').waitFor()
  const inGrace = await chat(gateway, first)
  await page.getByText(/still in use/).waitFor()
  const clock = page.getByRole('timer')
  const then = await clock.textContent()
  await until('the countdown runs', async () => (await clock.textContent()) !== then)
  await page.getByRole('button', { name: 'End now' }).click()
  await page.getByRole('button', { name: 'End grace period' }).click()
  await page.getByText('Old secrets in grace period').waitFor({ state: 'detached' })
  const ended = await chat(gateway, first)
  const current = await chat(gateway, second)

  await page.getByRole('button', { name: 'Revoke' }).click()
  const confirm = page.getByRole('button', { name: 'Revoke permanently' })
  assert.equal(await confirm.isDisabled(), true)
  await page.getByLabel('Type the name to confirm').fill('checkout')
  assert.equal(await confirm.isDisabled(), true)
  await page.getByLabel('Type the name to confirm').fill('checkout service')
  await confirm.click()
  await page.getByText('revoked', { exact: true }).waitFor()
  const revoked = await chat(gateway, second)

  assert.deepEqual(
    [used.status, inGrace.status, ended.status, current.status, revoked.status],
    [200, 200, 401, 200, 401],
  )
  assert.match(then ?? '', /^(1:00:00|59:\d\d)$/)
  assert.notEqual(inGrace.headers.deprecation, undefined)
  assert(!(await page.content()).includes(second))
  assert.deepEqual(complaints, [])
})

test('a top-up that is clicked twice is booked once', { skip }, async () => {
  await using gateway = await startGateway()
  await using browser = await openBrowser()
  const { page, complaints, open, signIn } = await visit(browser, gateway.url)
  const { id } = await gateway.createAccount({ name: 'acme' })
  await signIn(gateway.adminToken)

  await open(`/accounts/${id}`)
  await page.getByRole('button', { name: 'Add credits' }).click()
  await page.getByLabel('Amount in credits').fill('12.000000001')
  await page.getByRole('button', { name: 'Add', exact: true }).dblclick()
  await page.getByRole('row', { name: /Top-up/ }).waitFor()

  const { body } = await gateway.admin<{ readonly data: readonly { readonly amount: string }[] }>(
    'GET',
    `/accounts/${id}/ledger`,
  )
  assert.deepEqual(
    body.data.map(({ amount }) => amount),
    ['12.000000001'],
  )
  await page.locator('data[value="12.000000001"]').first().waitFor()
  assert.deepEqual(complaints, [])
})

test('a request is found by its pasted id and shown in full, and usage is exported as CSV', { skip }, async () => {
  await using gateway = await startGateway()
  await using browser = await openBrowser()
  const { page, complaints, open, signIn } = await visit(browser, gateway.url)
  const { secret } = await gateway.createKey({ name: 'finder' })
  const answer = await chat(gateway, secret)
  const id = String(answer.headers['x-request-id'])
  const cost = String(answer.headers['x-svc-cost'])
  await signIn(gateway.adminToken)
  await open('/keys')

  await page.keyboard.press('ControlOrMeta+k')
  await page.getByRole('combobox', { name: 'Search' }).fill(`chatcmpl-${id}`)
  await page.getByRole('option', { name: id }).waitFor()
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { name: 'Timeline' }).waitFor()
  await page.getByRole('link', { name: /finder/ }).waitFor()
  const shown = (await page.locator('main').innerText()).replaceAll(/\s+/g, ' ')
  await open('/usage?model=demo%2Fecho')
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('link', { name: 'Export CSV' }).click(),
  ])
  const csv = await readFile(await download.path(), 'utf8')

  for (const text of [id, 'Received', 'First byte', 'Finished', 'priority in the catalog', cost, 'finder']) {
    assert(shown.includes(text), `${text} is missing in: ${shown}`)
  }
  assert(csv.startsWith('request_id,'))
  assert(csv.includes(id))
  assert.deepEqual(complaints, [])
})

test('usage is filtered by key name, and by id for an unlisted key', { skip }, async () => {
  await using gateway = await startGateway()
  await using browser = await openBrowser()
  const { page, complaints, open, signIn } = await visit(browser, gateway.url)
  const [wanted, other] = await Promise.all(['billing job', 'other'].map(name => gateway.createKey({ name })))
  for (const key of [wanted, other]) await chat(gateway, key?.secret ?? '')
  await signIn(gateway.adminToken)

  await open('/usage')
  await page.getByRole('row', { name: /other/ }).waitFor()
  const field = page.getByRole('combobox', { name: 'Key' })
  await field.fill('billing')
  await page.getByRole('option', { name: /billing job/ }).click()
  await page.getByRole('row', { name: /other/ }).waitFor({ state: 'detached' })
  await page.getByRole('row', { name: /billing job/ }).waitFor()
  const byName = new URL(page.url()).searchParams.get('key_id')
  await field.fill('key_nobody')
  await page.getByRole('option', { name: 'key_nobody' }).click()
  await page.getByRole('row', { name: /billing job/ }).waitFor({ state: 'detached' })
  const byId = new URL(page.url()).searchParams.get('key_id')

  assert.deepEqual([byName, byId], [wanted?.id, 'key_nobody'])
  assert.deepEqual(complaints, [])
})

test('the features of a model are entered next to its prices', { skip }, async () => {
  await using gateway = await startGateway()
  await using browser = await openBrowser()
  const { page, complaints, open, signIn } = await visit(browser, gateway.url)
  await gateway.admin('POST', '/models', {
    id: 'own/model',
    context_length: 200_000,
    max_output_tokens: 8192,
    pricing: { prompt: '0.000003', completion: '0.000015' },
    targets: [{ provider: 'demo', model: 'echo', cost: { prompt: '0.000001', completion: '0.000002' } }],
  })
  await signIn(gateway.adminToken)

  await open('/models')
  await page.getByRole('button', { name: 'Open own/model' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByRole('combobox', { name: 'Input modalities' }).press('ArrowDown')
  await page.getByRole('option', { name: 'image' }).click()
  await page.keyboard.press('Tab')
  await dialog.getByRole('button', { name: 'Save' }).click()
  await dialog.getByText('Required for models that accept images or files').waitFor()
  await dialog.getByLabel('Max tokens per image or file').fill('1500')
  await dialog.getByRole('switch', { name: 'Hidden reasoning' }).click()
  await dialog.getByRole('button', { name: 'Save' }).click()
  await dialog.waitFor({ state: 'detached' })

  const { body } = await gateway.admin('GET', '/models/own%2Fmodel')
  assert.deepEqual(
    [body.input_modalities, body.media_max_tokens, body.hidden_reasoning, body.context_length],
    [['text', 'image'], 1500, true, 200_000],
  )
  assert.deepEqual(complaints, [])
})

test('the playground streams an answer and shows its provider, tokens and exact cost', { skip }, async () => {
  await using gateway = await startGateway()
  await using browser = await openBrowser()
  const { page, complaints, open, signIn } = await visit(browser, gateway.url)
  const { secret, id } = await gateway.createKey({ name: 'play' })
  await signIn(gateway.adminToken)

  await open('/playground')
  await page.getByRole('button', { name: /^System prompt/ }).click()
  await page.getByLabel('Key', { exact: true }).fill(secret)
  await page.getByLabel('Message').fill('one two three four')
  await page.keyboard.press('Enter')
  await page.getByText('View request').waitFor()

  const { body } = await gateway.admin<{ readonly data: readonly { readonly cost: string }[] }>(
    'GET',
    `/usage?key_id=${id}`,
  )
  const shown = (await page.locator('main').innerText()).replaceAll(/\s+/g, ' ')
  assert.equal(body.data.length, 1)
  assert(shown.includes('provider demo'), shown)
  assert(shown.includes(`cost ${body.data[0]?.cost} credits`), shown)
  await page.reload()
  await page.getByRole('heading', { name: 'Playground' }).waitFor()
  await page.getByRole('button', { name: /^System prompt/ }).click()
  assert.equal(await page.getByLabel('Key', { exact: true }).inputValue(), '')
  assert.deepEqual(complaints, [])
})

test('the playground also works with a separate admin listener', { skip }, async () => {
  const port = await freePort()
  await using gateway = await startGateway({ env: { TURNPIKE_ADMIN_LISTEN: `127.0.0.1:${port}` } })
  await using browser = await openBrowser()
  const { page, complaints, open, signIn } = await visit(browser, `http://127.0.0.1:${port}`)
  await signIn(gateway.adminToken)

  await open('/playground')
  for (const [turn, api] of ['Chat Completions', 'Messages', 'Responses'].entries()) {
    await page.getByRole('combobox', { name: 'API' }).click()
    await page.getByRole('option', { name: api }).click()
    await page.getByLabel('Message').fill('one two three four')
    await page.keyboard.press('Enter')
    await page.getByText('View request').nth(turn).waitFor()
  }

  const shown = await page.locator('main').innerText()
  assert.equal(shown.split('You said: one two three four').length - 1, 3, shown)
  assert.deepEqual(complaints, [])
})

async function createKey(page: Page, name: string): Promise<string> {
  await page.getByRole('link', { name: 'Keys', exact: true }).click()
  await page.getByRole('button', { name: 'Create key' }).first().click()
  const dialog = page.getByRole('dialog')
  await dialog.getByRole('textbox', { name: 'Name' }).fill(name)
  await dialog.getByRole('button', { name: 'Create key' }).click()
  return takeSecret(page)
}

async function rotate(page: Page): Promise<string> {
  await page.getByRole('button', { name: 'Rotate' }).click()
  await page.getByRole('button', { name: 'Create new secret' }).click()
  return takeSecret(page)
}

// As a person would: the secret is shown once, with snippets, and disappears with the dialog.
async function takeSecret(page: Page): Promise<string> {
  const dialog = page.getByRole('dialog')
  await dialog.getByText('Shown only once').waitFor()
  const secret = (await dialog.locator('pre').first().textContent()) ?? ''
  assert.match(secret, /^svc_live_[0-9A-Za-z]{43}$/)
  for (const language of ['Python', 'TypeScript', 'Claude Code', 'Codex', 'curl']) {
    await dialog.getByRole('tab', { name: language }).click()
    assert.match((await dialog.getByRole('tabpanel').innerText()) ?? '', new RegExp(secret))
  }
  await dialog.getByRole('button', { name: 'I have copied it' }).click()
  await dialog.waitFor({ state: 'detached' })
  assert(!(await page.content()).includes(secret))
  return secret
}

function chat(gateway: Gateway, key: string) {
  return gateway.chat({ model: 'demo/echo' }, { key })
}
