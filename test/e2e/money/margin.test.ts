// Revenue, upstream cost and margin in sums: by model, provider, key, account, tag and time; requests with an unknown upstream
// cost are counted, and are not part of the margin.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openFixture } from '../../support/fixture.ts'
import type { Loose } from '../../support/http-call.ts'
import { standardConfig, standardModel } from '../../support/standard-config.ts'
import { credits, nano, settledRow } from '../../support/usage.ts'

// In nano-credits per token: what callers pay, and what the provider charges, more above a thousand prompt tokens.
const [PAID, CHARGED, CHARGED_LONG] = [1000n, 400n, 1500n] as const
const pricing = { prompt: credits(PAID), completion: credits(PAID) }
const cost = {
  prompt: credits(CHARGED),
  completion: credits(CHARGED),
  tiers: [{ above_prompt_tokens: 1000, prompt: credits(CHARGED_LONG), completion: credits(CHARGED_LONG) }],
}
const { gateway, upstream } = await openFixture(url =>
  standardConfig(url, {
    models: [
      standardModel({ id: 'test/costed', pricing, targets: [{ provider: 'up', model: 'costed', cost }] }),
      standardModel({ id: 'test/silent', pricing, targets: [{ provider: 'up2', model: 'silent' }] }),
      standardModel({
        id: 'test/free',
        pricing,
        targets: [{ provider: 'up', model: 'free', cost: { prompt: '0', completion: '0' } }],
      }),
    ],
  }),
)
const from = new Date(Date.now() - 60_000).toISOString()
const alice = await gateway.createKey({ credits: '100', tags: { team: 'a' } })
const bob = await gateway.createKey({ credits: '100', tags: { team: 'b' } })
const poor = await gateway.createKey({ credits: '0.0000001' })

// 110 tokens each, and one of 2,010 whose upstream charges more than its caller pays.
const usage = { prompt_tokens: 100, completion_tokens: 10 }
await chat('test/costed', alice.secret)
await chat('test/costed', bob.secret)
await chat('test/silent', alice.secret)
await chat('test/free', bob.secret)
await chat('test/costed', bob.secret, { prompt_tokens: 2000, completion_tokens: 10 })
assert.equal((await gateway.chat({ model: 'test/costed' }, { key: poor.secret })).status, 402)

const ONE = 110n
const LOSS = 2010n * (PAID - CHARGED_LONG)
const known = (count: bigint) => count * ONE * (PAID - CHARGED)

test('by model: a margin, an unknown one, one without cost', async () => {
  const rows = await summary('model')

  assert.deepEqual(
    rows['test/costed'],
    sums(3, 2n * ONE * PAID + 2010n * PAID, 2n * ONE * CHARGED + 2010n * CHARGED_LONG, known(2n) + LOSS, 0, 1),
  )
  assert.deepEqual(rows['test/silent'], sums(1, ONE * PAID, null, null, 1))
  assert.deepEqual(rows['test/free'], sums(1, ONE * PAID, 0n, ONE * PAID, 0))
})

test('by provider, key, account and tag', async () => {
  const providers = await summary('provider')
  const keys = await summary('key')
  const accounts = await summary('account')
  const tags = await summary('tag:team')

  assert.equal(providers.up?.margin, signed(known(2n) + LOSS + ONE * PAID))
  assert.equal(providers.up2?.margin, null)
  // The request without a known cost is revenue, and no margin.
  const ofAlice = sums(2, 2n * ONE * PAID, ONE * CHARGED, known(1n), 1)
  assert.deepEqual(keys[alice.id], ofAlice)
  assert.deepEqual(accounts[alice.accountId], ofAlice)
  assert.deepEqual(tags.a, ofAlice)
  assert.equal(tags.b?.margin, signed(known(1n) + ONE * PAID + LOSS))
  assert.deepEqual(keys[poor.id], { ...sums(1, 0n, 0n, 0n, 0), errors: 1 })
})

test('by day and hour, in the overview, and as CSV', async () => {
  const [days, hours] = [Object.values(await summary('day')), Object.values(await summary('hour'))]
  const { body: overview } = await gateway.admin<Loose>('GET', `/overview?from=${from}`)
  const csv = await gateway.admin('GET', `/usage/summary?group_by=model&from=${from}&format=csv`)
  const accepted = await gateway.admin('GET', `/usage/summary?group_by=key&from=${from}`, undefined, {
    accept: 'text/csv',
  })

  const margin = known(2n) + LOSS + ONE * PAID
  for (const rows of [days, hours]) {
    assert.equal(
      rows.reduce((sum, row) => sum + nano(row.margin), 0n),
      margin,
    )
    assert.equal(
      rows.reduce((sum, row) => sum + Number(row.requests_without_upstream_cost), 0),
      1,
    )
  }
  const totals = overview.totals as Loose
  assert.deepEqual([totals.margin, totals.requests_without_upstream_cost], [signed(margin), 1])
  const top = (overview.top as Loose).models as unknown as Loose[]
  assert.equal(top.find(({ id }) => String(id) === 'test/costed')?.margin, signed(known(2n) + LOSS))
  assert.match(String(csv.headers['content-type']), /^text\/csv/)
  const lines = csv.text.trim().split('\r\n')
  assert.equal(
    lines[0],
    'group,requests,errors,prompt_tokens,completion_tokens,cost,upstream_cost,margin,requests_without_upstream_cost,failovers',
  )
  const spent = 2n * ONE * CHARGED + 2010n * CHARGED_LONG
  const line = `test/costed,4,1,2200,30,${credits(2230n * PAID)},${credits(spent)},${signed(known(2n) + LOSS)},0,0`
  assert.ok(lines.includes(line), csv.text)
  assert.ok(lines.includes(`test/silent,1,0,100,10,${credits(ONE * PAID)},,,1,0`), csv.text)
  assert.match(accepted.text, /^group,requests/)
})

type Sums = Readonly<Record<string, unknown>>

function sums(
  requests: number,
  paid: bigint,
  charged: bigint | null,
  margin: bigint | null,
  unknown: number,
  refused = 0,
): Sums {
  return {
    requests: requests + refused,
    errors: refused,
    cost: signed(paid),
    upstream_cost: charged === null ? null : signed(charged),
    margin: margin === null ? null : signed(margin),
    requests_without_upstream_cost: unknown,
    failovers: 0,
  }
}

async function summary(group: string): Promise<Readonly<Record<string, Loose>>> {
  const { body } = await gateway.admin<{ data: Loose[] }>('GET', `/usage/summary?group_by=${group}&from=${from}`)
  return Object.fromEntries(
    body.data.map(
      ({ group: name, object: _, prompt_tokens: __, completion_tokens: ___, errors_by_cause: ____, ...rest }) => [
        String(name),
        rest as Loose,
      ],
    ),
  )
}

async function chat(model: string, secret: string, counted = usage): Promise<void> {
  upstream.next({ usage: counted })
  const { headers } = await gateway.chat({ model }, { key: secret })
  await settledRow(gateway, headers['x-request-id'])
}

function signed(amount: bigint): string {
  return amount < 0n ? `-${credits(-amount)}` : credits(amount)
}
