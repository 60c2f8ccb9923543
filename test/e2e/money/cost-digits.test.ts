// The cost as text: the same exact digits in header, body, trailer, row and ledger, where a float would lose some.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Gateway, standardConfig, startGateway } from '../../support/gateway.ts'
import type { Loose } from '../../support/http-call.ts'
import { standardModel } from '../../support/standard-config.ts'
import { startUpstream } from '../../support/upstream.ts'
import { chargedTo, nano } from '../../support/usage.ts'

// The given number of prompt tokens, and one output token.
const COSTS: readonly (readonly [pricing: Readonly<Record<string, string>>, promptTokens: number, cost: string])[] = [
  [{ prompt: '0.000000000001', completion: '0' }, 1, '0.000000001'],
  [{ prompt: '8999999.123456781', completion: '0' }, 7, '62999993.864197467'],
  [{ prompt: '0', completion: '0' }, 1, '0'],
  [{ prompt: '0.1', completion: '0.2' }, 1, '0.3'],
  [{ prompt: '0', completion: '0', request: '0.0000000001' }, 1, '0.000000001'],
  [{ prompt: '0.0000000004', completion: '0.0000000007' }, 1, '0.000000002'],
  [{ prompt: '3', completion: '7' }, 1, '10'],
]
// So that even its most expensive request stays within the price bound.
const SMALL = { context_length: 8, max_output_tokens: 1 }

test('a cost has the same exact digits everywhere', async () => {
  await using upstream = await startUpstream()
  const models = COSTS.map(([pricing], i) => standardModel({ id: `test/p${i}`, pricing, ...SMALL }))
  await using gateway = await startGateway({ config: standardConfig(upstream.url, { models }) })
  const key = await gateway.createKey({ credits: '1000000000' })

  for (const [index, [, promptTokens, cost]] of COSTS.entries()) {
    const body = { model: `test/p${index}`, max_tokens: 1 }
    upstream.script({ chunks: 1, promptTokens })

    const json = await gateway.chat(body, { key: key.secret })
    const stream = await gateway.openChat({ ...body, stream_options: { include_usage: true } }, { key: key.secret })
    const { raw } = await stream.rest()

    assert.equal(json.headers['x-svc-cost'], cost)
    assert.equal(costText(json.text), cost)
    assert.equal(stream.trailers['x-svc-cost'], cost)
    assert.equal(costText(raw), cost)
    for (const { headers } of [json, stream]) await assertBooked(gateway, key.accountId, headers['x-request-id'], cost)
  }

  assert.ok((await gateway.audit()).ok)
})

function costText(text: string): string | undefined {
  return /"cost":([^,}]+)/.exec(text)?.[1]
}

async function assertBooked(gateway: Gateway, accountId: string, id: unknown, cost: string): Promise<void> {
  const { body: row } = await gateway.admin('GET', `/usage/${id}`)
  const { body: account } = await gateway.admin<{ balance: Loose }>('GET', `/accounts/${accountId}`)
  assert.equal(row.cost, cost)
  assert.equal(await chargedTo(gateway, accountId), nano(account.balance.spent))
}
