// Every dialog of the dashboard, opened as an operator would: no serious accessibility violation by axe, reachable by
// keyboard, closed by Escape where nothing can be lost; with a screenshot of each.
import assert from 'node:assert/strict'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { barriers, hasBrowser, LOOKS, lookAt, openBrowser, SCREENSHOTS, visit } from '../support/browser.ts'
import { type Gateway, startGateway } from '../support/gateway.ts'

type Dialog = {
  readonly path: string
  readonly open: (page: Page) => Promise<void>
  // Escape would discard a secret that is shown only once.
  readonly stays?: boolean
}

test('every dialog is accessible and logs no error', { skip: !hasBrowser() }, async t => {
  await using gateway = await startGateway({ env: { TURNPIKE_WEBHOOKS_ALLOW_PRIVATE: '1' } })
  await using browser = await openBrowser()
  const dialogs = await furnish(gateway)
  await mkdir(SCREENSHOTS, { recursive: true })

  for (const screen of ['desktop', 'phone'] as const) {
    await t.test(screen, async () => {
      const { page, complaints, open, signIn } = await visit(browser, gateway.url, screen)
      const found: string[] = []
      await signIn(gateway.adminToken)

      let path = ''
      for (const [name, dialog] of Object.entries(dialogs)) {
        if (dialog.path !== path) await open(dialog.path)
        await dialog.open(page)
        await page.getByRole('dialog').first().waitFor()
        for (const look of LOOKS[screen]) {
          await lookAt(page, look)
          await page.screenshot({ path: join(SCREENSHOTS, `dialog-${name}-${look}.png`) })
          found.push(...(await barriers(page, look)).map(barrier => `${name}, ${look}: ${barrier}`))
        }
        await page.keyboard.press('Escape')
        if (dialog.stays === true) assert.equal(await page.getByRole('dialog').count(), 1, name)
        else await page.getByRole('dialog').first().waitFor({ state: 'detached' })
        // The next dialog of the same page is opened without loading it again.
        path = dialog.stays === true ? '' : dialog.path
      }

      assert.deepEqual(found, [])
      assert.deepEqual(complaints, [])
      await page.close()
    })
  }
})

async function furnish(gateway: Gateway): Promise<Readonly<Record<string, Dialog>>> {
  const { id, accountId } = await gateway.createKey({ name: 'ci' })
  await gateway.admin('POST', '/operators', { name: 'vera', role: 'viewer' })
  await gateway.admin('POST', '/models', {
    id: 'own/model',
    context_length: 200_000,
    max_output_tokens: 8192,
    pricing: { prompt: '0.000003', completion: '0.000015' },
    targets: [{ provider: 'demo', model: 'echo' }],
  })
  const url = `http://127.0.0.1:${new URL(gateway.url).port}/nowhere`
  const { body: webhook } = await gateway.admin('POST', '/webhooks', { url, events: ['key.*'] })
  await gateway.admin('POST', `/keys/${id}/rotate`, {})
  const press = (name: string) => (page: Page) => page.getByRole('button', { name, exact: true }).first().click()
  return {
    'key-new': { path: '/keys', open: press('Create key') },
    'key-secret': { path: '/keys', open: makeKey, stays: true },
    'key-edit': { path: `/keys/${id}`, open: press('Edit') },
    'key-rotate': { path: `/keys/${id}`, open: press('Rotate') },
    'key-revoke': { path: `/keys/${id}`, open: press('Revoke') },
    'account-new': { path: '/accounts', open: press('Create account') },
    'account-edit': { path: `/accounts/${accountId}`, open: press('Edit') },
    'credits-add': { path: `/accounts/${accountId}`, open: press('Add credits') },
    'credits-adjust': { path: `/accounts/${accountId}`, open: press('Adjust') },
    'model-new': { path: '/models', open: press('Add model') },
    'model-own': { path: '/models', open: press('Open own/model') },
    'model-file': { path: '/models', open: press('Open demo/echo') },
    'model-import': { path: '/models', open: compare },
    'provider-new': { path: '/providers', open: press('Add provider') },
    'provider-file': { path: '/providers', open: press('Details of demo') },
    'webhook-new': { path: '/webhooks', open: press('Create webhook') },
    'webhook-secret': { path: '/webhooks', open: makeWebhook, stays: true },
    'webhook-edit': { path: `/webhooks/${webhook.id}`, open: press('Edit') },
    'webhook-delivery': {
      path: `/webhooks/${webhook.id}`,
      open: page => page.getByText('key.rotated').first().click(),
    },
    'webhook-rotate': { path: `/webhooks/${webhook.id}`, open: pick('Rotate secret') },
    'webhook-delete': { path: `/webhooks/${webhook.id}`, open: pick('Delete') },
    'operator-new': { path: '/settings', open: press('Add operator') },
    'operator-token': { path: '/settings', open: makeOperator, stays: true },
  }
}

async function makeKey(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Create key' }).first().click()
  const dialog = page.getByRole('dialog')
  await dialog.getByRole('textbox', { name: 'Name' }).fill('created here')
  await dialog.getByRole('combobox', { name: 'Account' }).click()
  await page.getByRole('option').first().click()
  await dialog.getByRole('button', { name: 'Create key' }).click()
  await page.getByText('Shown only once').waitFor()
}

function pick(item: string): (page: Page) => Promise<void> {
  return async page => {
    await page.getByRole('button', { name: 'More' }).click()
    await page.getByRole('menuitem', { name: item }).click()
  }
}

async function makeWebhook(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Create webhook' }).first().click()
  const dialog = page.getByRole('dialog')
  await dialog.getByRole('textbox', { name: 'URL' }).fill('http://127.0.0.1:9/hooks')
  await dialog.getByRole('button', { name: 'Select all' }).click()
  await dialog.getByRole('button', { name: 'Create', exact: true }).click()
  await page.getByText('Shown only once').waitFor()
}

async function makeOperator(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Add operator' }).click()
  await page.getByRole('dialog').getByRole('textbox', { name: 'Name' }).fill(`olga ${Math.random()}`)
  await page.getByRole('button', { name: 'Add', exact: true }).click()
  await page.getByText('Shown only once').waitFor()
}

async function compare(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Import list prices' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Vendor').first().fill('openai')
  await dialog.getByLabel('Provider').first().click()
  await page.getByRole('option', { name: 'demo' }).click()
  await dialog.getByLabel('Filter').fill('gpt-4*')
  await dialog.getByRole('button', { name: 'Preview changes' }).click()
  await dialog.getByRole('button', { name: /Apply \d+ changes/ }).waitFor()
}
