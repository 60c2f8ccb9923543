// The portal on several nodes that share a database: a link of one is used once on any, and a session that ends on one has ended on all.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Gateway } from '../../../support/gateway.ts'
import { httpCall } from '../../../support/http-call.ts'
import { startNodes } from '../../../support/nodes.ts'
import { cookieOf, customerOf, enterPortal, portalLink } from '../../../support/portal.ts'
import { hasPostgres } from '../../../support/postgres.ts'

if (hasPostgres())
  test('a link made on one node opens one session, whichever node is asked', async () => {
    await using nodes = await startNodes(2)
    const [a, b] = nodes.all as [Gateway, Gateway]
    const { id } = await a.createAccount({ portal_key_limits: { max_keys: 5 } })
    const at = (node: Gateway, url: string) => httpCall(node.url + new URL(url).pathname)

    const url = await portalLink(a, id)
    const uses = await Promise.all(Array.from({ length: 10 }, (_, i) => at(i % 2 === 0 ? a : b, url)))

    const opened = uses.filter(({ status }) => status === 303)
    assert.equal(opened.length, 1, String(uses.map(({ status }) => status)))
    const cookie = cookieOf(opened[0]!)
    const [onA, onB] = [await customerOf(a, cookie), await customerOf(b, cookie)]
    assert.equal(onA.csrf, onB.csrf)

    const made = await Promise.all(
      Array.from({ length: 40 }, (_, i) => (i % 2 === 0 ? onA : onB).call('POST', '/keys', { name: `k${i}` })),
    )
    assert.equal(made.filter(({ status }) => status === 201).length, 5)
    assert.ok(made.every(({ status }) => status === 201 || status === 409))

    const second = await enterPortal(b, id)
    await a.admin('PATCH', `/accounts/${id}`, { status: 'suspended' })
    for (const { call } of [onB, second]) assert.equal((await call('GET', '/account')).status, 403)
    await b.admin('PATCH', `/accounts/${id}`, { status: 'active' })
    for (const { call } of [onA, onB, second]) assert.equal((await call('GET', '/account')).status, 401)
  })
