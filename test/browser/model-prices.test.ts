// The model dialog states the currency of its prices: US dollars as an operator entered them, or the credits that the
// file declares. Saving without a change does not apply the markup twice.
import assert from 'node:assert/strict'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { hasBrowser, openBrowser, SCREENSHOTS, visit } from '../support/browser.ts'
import { standardConfig, startGateway } from '../support/gateway.ts'
import type { Loose } from '../support/http-call.ts'
import { startUpstream } from '../support/upstream.ts'

const OWN = {
  id: 'own/model',
  context_length: 200_000,
  max_output_tokens: 8192,
  pricing: { prompt: '0.000002', completion: '0.00001' },
  targets: [{ provider: 'up', model: 'x' }],
}

test('prices in the dialog have their currency', { skip: !hasBrowser() }, async t => {
  await using upstream = await startUpstream()
  // A credit is a cent; the markup is 25 %.
  await using gateway = await startGateway({
    config: { ...standardConfig(upstream.url), credits_per_usd: '100', markup: '1.25' },
  })
  const made = await gateway.admin('POST', '/models', OWN)
  assert.equal(made.status, 201, made.text)
  await using browser = await openBrowser()
  const { page, complaints, open, signIn } = await visit(browser, gateway.url, 'desktop')
  await signIn(gateway.adminToken)
  await mkdir(SCREENSHOTS, { recursive: true })

  await t.test("an operator's model: dollars as entered, and what callers pay", async () => {
    await openModel('own/model')

    assert.deepEqual(await pricesOf(page), ['Prices, US dollars per million tokens', '2', '10'])
    await page.getByText('Clients pay, in credits per million tokens: prompt 250, completion 1250').waitFor()
    await page.screenshot({ path: join(SCREENSHOTS, 'model-prices-own.png') })
  })

  await t.test('saved with another name, its price is unchanged', async () => {
    await page.getByRole('textbox', { name: 'Name', exact: true }).fill('Renamed')
    await save()

    const { body } = await gateway.admin('GET', '/models/own/model')
    assert.equal(body.name, 'Renamed')
    assert.deepEqual([body.pricing?.prompt, body.price_version], ['0.00025', made.body.price_version])
  })

  await t.test('a price tier and a cost are added, kept by another change, and removed', async () => {
    const field = (name: string) => page.getByRole('textbox', { name, exact: true })
    await openModel('own/model')
    await page.getByRole('button', { name: 'Add price tier' }).click()
    await field('Prompt tokens above').fill('100000')
    await field('Prompt').nth(1).fill('4')
    await field('Completion').nth(1).fill('15')
    await field('Cost, prompt').fill('1.5')
    await field('Cost, completion').fill('7')
    await page.screenshot({ path: join(SCREENSHOTS, 'model-prices-tier.png') })
    await save()

    const added = await gateway.admin<Loose>('GET', '/models/own/model')
    const tier = (added.body.pricing?.tiers as unknown as Loose[] | undefined)?.[0]
    assert.deepEqual([tier?.above_prompt_tokens, tier?.prompt, tier?.completion], [100_000, '0.0005', '0.001875'])
    const [target] = added.body.targets as unknown as Loose[]
    assert.deepEqual(target?.entered_cost, { prompt: '0.0000015', completion: '0.000007' })
    // Without markup.
    assert.equal(target?.cost?.prompt, '0.00015')

    await openModel('own/model')
    await page.getByText('above 100,000 prompt tokens: prompt 500').waitFor()
    await page.getByRole('textbox', { name: 'Name', exact: true }).fill('Twice')
    await page.getByRole('textbox', { name: 'Weight' }).fill('2')
    await save()
    const changed = await gateway.admin<Loose>('GET', '/models/own/model')
    assert.deepEqual([changed.body.pricing, changed.body.price_version], [added.body.pricing, added.body.price_version])
    const [again] = changed.body.targets as unknown as Loose[]
    assert.deepEqual([again?.weight, again?.cost], [2, target?.cost])

    await openModel('own/model')
    await page.getByRole('button', { name: 'Remove tier 1' }).click()
    await save()
    const removed = await gateway.admin<Loose>('GET', '/models/own/model')
    assert.equal(removed.body.pricing?.tiers, undefined)
  })

  await t.test('many prices are changed by a percentage, after a preview', async () => {
    await open('/models')
    await page.getByRole('button', { name: 'Change prices' }).click()
    await page.getByRole('textbox', { name: 'Change in percent' }).fill('10')
    await page.getByRole('button', { name: 'Preview' }).click()
    await page.getByRole('dialog').getByText('275').first().waitFor()
    await page.getByRole('button', { name: 'Change 1 model' }).click()
    await page.getByRole('dialog').first().waitFor({ state: 'detached' })

    const { body } = await gateway.admin<Loose>('GET', '/models/own/model')
    assert.deepEqual([body.pricing?.prompt, body.entered_pricing?.prompt], ['0.000275', '0.0000022'])
    // The cost of its target is now below the price, and stays as it was.
    const [target] = body.targets as unknown as Loose[]
    assert.equal(target?.cost?.prompt, '0.00015')
  })

  await t.test('a cost above the price is flagged', async () => {
    const targets = [{ provider: 'up', model: 'x', cost: { prompt: '0.01', completion: '0.01' } }]
    await gateway.admin('PATCH', '/models/own/model', { targets })
    await open('/models')
    await page.getByText('sold at a loss').waitFor()
  })

  await t.test('a model of the file: the credits that callers pay, read-only', async () => {
    const { body } = await gateway.admin('GET', '/models/test/m1')
    const million = (price: unknown) => String(Number(price) * 1_000_000)
    await openModel('test/m1')

    assert.deepEqual(await pricesOf(page), [
      'Prices, credits per million tokens',
      million(body.pricing?.prompt),
      million(body.pricing?.completion),
    ])
    assert.ok(await page.getByRole('textbox', { name: 'Prompt', exact: true }).isDisabled())
    await page.screenshot({ path: join(SCREENSHOTS, 'model-prices-file.png') })
  })
  assert.deepEqual(complaints, [])

  async function save(): Promise<void> {
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('dialog').first().waitFor({ state: 'detached' })
  }

  async function openModel(id: string): Promise<void> {
    await open('/models')
    await page.getByRole('button', { name: `Open ${id}` }).click()
    await page.getByRole('dialog').first().waitFor()
  }
})

async function pricesOf(page: Page): Promise<readonly (string | null)[]> {
  const value = (name: string) => page.getByRole('textbox', { name, exact: true }).inputValue()
  const legend = page.getByRole('dialog').locator('legend', { hasText: 'Prices' })
  return [await legend.textContent(), await value('Prompt'), await value('Completion')]
}
