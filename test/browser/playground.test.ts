// The playground without a pasted key: the server makes one for the operator, two models answer side by side, and what was sent can
// be seen without the key.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { hasBrowser, openBrowser, visit } from '../support/browser.ts'
import { startGateway } from '../support/gateway.ts'
import type { Loose } from '../support/http-call.ts'

test('the playground needs no key', { skip: !hasBrowser() }, async t => {
  await using gateway = await startGateway()
  await using browser = await openBrowser()
  const made = await gateway.admin('POST', '/models', {
    id: 'own/second',
    context_length: 8192,
    max_output_tokens: 1024,
    pricing: { prompt: '0.000001', completion: '0.000001' },
    targets: [{ provider: 'demo', model: 'echo' }],
  })
  assert.equal(made.status, 201, made.text)
  const { page, complaints, open, signIn } = await visit(browser, gateway.url)
  await signIn(gateway.adminToken)
  const keys = async () =>
    (await gateway.admin<{ data: Loose[] }>('GET', '/keys?q=Playground')).body.data as unknown as Loose[]
  const openKeyField = async () => {
    await page.getByRole('button', { name: /^System prompt/ }).click()
    return page.getByLabel('Key', { exact: true })
  }

  await t.test('two models answer with one key of the operator’s own', async () => {
    await open('/playground')
    await page.getByLabel('Compare with').first().click()
    await page.getByRole('option', { name: 'own/second' }).click()
    await page.getByRole('button', { name: /^System prompt/ }).click()
    await page.getByLabel('System prompt').fill('Be brief.')
    await page.getByLabel('Temperature').fill('0.5')
    await page.getByLabel('Max output tokens').fill('100')
    await page.getByLabel('Message').fill('one two three')
    await page.keyboard.press('Enter')
    await page.getByText('View request').nth(1).waitFor()

    const [key, ...others] = await keys()
    assert.equal(others.length, 0)
    assert.deepEqual([key?.name, key?.credit_limit], ['Playground', '1'])
    const left = Date.parse(String(key?.expires_at)) - Date.now()
    assert.ok(left > 0 && left <= 3_600_000)
  })

  await t.test('the raw request has every setting and not the key', async () => {
    await page.getByRole('button', { name: 'Raw request and response' }).first().click()
    const sent = JSON.parse(await page.getByRole('region', { name: 'Request' }).innerText()) as Loose
    assert.deepEqual([sent.temperature, sent.max_tokens], [0.5, 100])
    assert.match(JSON.stringify(sent), /Be brief\./)
    assert.match(await page.getByRole('region', { name: 'Response' }).innerText(), /data: .*\[DONE\]/s)
    assert.doesNotMatch(await page.locator('main').innerText(), /svc_live_/)
  })

  await t.test('a refusal says what to do', async () => {
    const poor = await gateway.createAccount({ name: 'Poor' })
    await page.reload()
    await page.getByLabel('Paid by').first().click()
    await page.getByRole('option', { name: /^Poor/ }).click()
    await page.getByLabel('Message').fill('hello')
    await page.keyboard.press('Enter')
    await page.getByText('Add credits to the account').waitFor()
    assert.equal((await keys()).filter(key => String(key.account_id) === poor.id).length, 1)
  })

  await t.test('a refused pasted key leaves the operator’s own key as it is', async () => {
    await page.reload()
    const key = await openKeyField()
    const send = async (text: string) => {
      await page.getByLabel('Message').fill(text)
      await page.keyboard.press('Enter')
    }
    await send('own key')
    await page.getByText('View request').first().waitFor()
    const before = (await keys()).length
    await key.fill('svc_live_wrong')
    await send('wrong key')
    await page
      .getByText(/invalid/i)
      .first()
      .waitFor()
    await key.fill('')
    await send('own key again')
    await page.getByText('View request').nth(1).waitFor()

    assert.equal((await keys()).length, before)
  })

  await t.test('no key of an operator is left for the next one', async () => {
    await page.getByLabel('Key', { exact: true }).fill('svc_live_pasted')
    await page.getByRole('button', { name: 'Signed in as admin' }).click()
    await page.getByRole('menuitem', { name: 'Sign out' }).click()
    await page.getByLabel('Operator token', { exact: true }).fill(gateway.adminToken)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByRole('link', { name: 'Playground' }).click()
    const before = (await keys()).length
    const key = await openKeyField()

    assert.equal(await key.inputValue(), '')
    await page.getByLabel('Message').fill('next operator')
    await page.keyboard.press('Enter')
    await page.getByText('View request').first().waitFor()
    assert.equal((await keys()).length, before + 1)
  })

  // The browser logs the 402 and the 401.
  assert.deepEqual(
    complaints.filter(line => !/40[12]/.test(line)),
    [],
  )
})

test('a viewer gets no key', async () => {
  await using gateway = await startGateway()
  const { body } = await gateway.admin<Loose>('POST', '/operators', { name: 'viewer', role: 'viewer' })
  const headers = { authorization: `Bearer ${body.token}` }

  assert.equal((await gateway.admin('POST', '/keys/playground', {}, headers)).status, 403)
})

test('an operator has at most four keys, which are named in lists and audit log', async () => {
  await using gateway = await startGateway()
  for (let i = 0; i < 6; i++) assert.equal((await gateway.admin('POST', '/keys/playground', {})).status, 201)

  const { body } = await gateway.admin<{ data: Loose[] }>('GET', '/keys?name=Playground&status=active')
  assert.equal(body.data.length, 4)
  assert.deepEqual(Object.keys(body.data[0]?.tags as unknown as object), ['playground'])
  assert.equal((await gateway.admin('POST', '/keys/playground', { account_id: 'acct_none' })).status, 400)
})
