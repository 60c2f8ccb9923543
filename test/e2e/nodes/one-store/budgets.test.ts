// A budget on three nodes: a hundred racing requests spend what fits and not one credit more.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Gateway } from '../../../support/gateway.ts'
import { startNodes } from '../../../support/nodes.ts'
import { hasPostgres } from '../../../support/postgres.ts'
import { standardConfig, standardModel } from '../../../support/standard-config.ts'
import { startUpstream } from '../../../support/upstream.ts'

if (hasPostgres()) {
  test('a hundred racing requests on three nodes spend exactly what fits the budgets of key and account', async () => {
    await using upstream = await startUpstream()
    const flat = standardModel({ id: 'test/flat', pricing: { prompt: '0', completion: '0', request: '0.01' } })
    await using nodes = await startNodes(3, { config: standardConfig(upstream.url, { models: [flat] }) })
    const [first] = nodes.all as [Gateway]
    const unlimited = { rpm_limit: 100_000, daily_limit: null, max_concurrent: 1000 }
    const budgets = [
      { amount: '0.109', window: 'month' },
      { amount: '0.2', window: 'day' },
    ]
    const one = await first.createKey({ credits: '100', budgets, ...unlimited })
    const two = await first.createKey({ account_id: one.accountId, budgets: budgets.slice(1), ...unlimited })
    await first.admin('PATCH', `/accounts/${one.accountId}`, { budgets: [{ amount: '0.255', window: 'hour' }] })
    upstream.script({ delayMs: 20 })

    const callers = Array.from(
      { length: 100 },
      (_, i) => [nodes.all[i % 3] as Gateway, i % 2 === 0 ? one : two] as const,
    )
    const answers = await Promise.all(
      callers.map(([node, key]) => node.chat({ model: 'test/flat' }, { key: key.secret })),
    )

    const served = (key: typeof one) =>
      answers.filter(({ status }, i) => status === 200 && callers[i]?.[1] === key).length
    assert.deepEqual([served(one) <= 10, served(one) + served(two)], [true, 25])
    for (const { body } of answers.filter(({ status }) => status !== 200))
      assert.equal(body.error?.code, 'budget_exceeded')
    const spent = (await first.admin('GET', `/accounts/${one.accountId}`)).body
    assert.deepEqual([spent.spent, spent.spent_this_month], ['0.25', '0.25'])
    assert.equal(upstream.journal.length, 25)
    const { ok, output } = await first.audit()
    assert.ok(ok, JSON.stringify(output))
  })
}
