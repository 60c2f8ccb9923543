// The dashboard of several nodes: provider health names the node that reports it.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { hasBrowser, openBrowser, visit } from '../support/browser.ts'
import { startNodes } from '../support/nodes.ts'
import { hasPostgres } from '../support/postgres.ts'

test('the health of providers names the node it was seen from', {
  skip: !hasBrowser() || !hasPostgres(),
}, async () => {
  await using nodes = await startNodes(2)
  await using browser = await openBrowser()
  const gateway = nodes.all[0]!
  const visitor = await visit(browser, gateway.url)
  await visitor.signIn(gateway.adminToken)

  for (const path of ['/overview', '/providers']) {
    await visitor.open(path)
    await visitor.page.getByText('one of 2 nodes.').first().waitFor()
    assert.ok(await visitor.page.getByText(`:${gateway.port},`).first().isVisible(), path)
  }
  assert.deepEqual(visitor.complaints, [])
})
