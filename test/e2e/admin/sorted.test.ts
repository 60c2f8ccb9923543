// Lists in another order than by time, and sums by error code, as operators ask for them: parameters, pages and bounds.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { withBounds } from '../../support/bounds.ts'
import { startGateway } from '../../support/gateway.ts'
import type { Loose } from '../../support/http-call.ts'

type List = {
  readonly data: readonly Loose[]
  readonly has_more: boolean
  readonly next_after?: string | null
  readonly error?: Loose
}

const gateway = await startGateway(withBounds({ reportRowsMax: 6 }))
test.after(() => gateway[Symbol.asyncDispose]())
const accounts = await Promise.all(
  ['Zeta', 'alpha', 'Mid'].map(async (name, index) => {
    const { id } = await gateway.createAccount({ name })
    await gateway.addCredits(id, String(10 * (index + 1)))
    return id
  }),
)
const { secret, id: keyId } = await gateway.createKey({ name: 'busy', account_id: accounts[0] })
const { secret: other } = await gateway.createKey({ name: 'idle', account_id: accounts[1] })
for (const words of [1, 30, 5])
  await gateway.chat(
    { model: 'demo/echo', messages: [{ role: 'user', content: 'word '.repeat(words) }] },
    { key: secret },
  )
await gateway.chat({ model: 'no/such' }, { key: secret })
await gateway.chat({ model: 'demo/echo' }, { key: other })
const list = async (path: string) => {
  const { status, body } = await gateway.admin<List>('GET', path)
  return { status, ...body }
}

test('requests are listed by cost, page by page', async () => {
  const first = await list('/usage?sort=cost&limit=2')
  const second = await list(`/usage?sort=cost&limit=10&after=${first.next_after}`)
  const byId = await list(`/usage?sort=cost&limit=10&after=${first.data[1]?.request_id}`)

  assert.match(String(first.next_after), /^[0-9a-f-]{36}~[0-9A-Za-z_-]+$/)
  assert.deepEqual([second.next_after, second.data], [null, byId.data])
  const newest = (await list('/usage')).data
  const byTime = await list(`/usage?after=${newest[1]?.request_id}~MQ`)
  assert.deepEqual(byTime.data, newest.slice(2))
  const costs = [...first.data, ...second.data].map(({ cost }) => Number(cost))
  assert.deepEqual([first.has_more, second.has_more, costs.length], [true, false, 5])
  assert.deepEqual(
    costs,
    costs.toSorted((a, b) => b - a),
  )
  assert.ok((costs[0] ?? 0) > (costs[1] ?? 0))
})

test('the filters of the list apply, and CSV has the same order', async () => {
  const ofKey = await list(`/usage?sort=cost&key_id=${keyId}&outcome=completed`)
  const { text } = await gateway.admin('GET', `/usage?sort=cost&key_id=${keyId}&outcome=completed&format=csv`)

  assert.equal(ofKey.data.length, 3)
  const ids = text
    .trim()
    .split('\r\n')
    .slice(1)
    .map(line => line.split(',')[0])
  assert.deepEqual(
    ids,
    ofKey.data.map(row => row.request_id),
  )
})

test('failures are summed by their code', async () => {
  const { data } = await list('/usage/summary?group_by=account&error_code=model_not_found')
  const both = await list('/usage/summary?group_by=day&error_code=model_not_found&error_code=insufficient_credits')

  assert.deepEqual(
    data.map(({ group, requests, errors }) => [group, requests, errors]),
    [[accounts[0], 1, 1]],
  )
  assert.deepEqual(
    both.data.map(({ requests }) => requests),
    [1],
  )
})

test('accounts and keys are sorted, in either direction', async () => {
  const names = async (path: string) => (await list(path)).data.map(({ name }) => String(name))

  assert.deepEqual(
    (await names('/accounts?sort=name')).filter(name => name !== 'default'),
    ['alpha', 'Mid', 'Zeta'],
  )
  assert.deepEqual((await names('/accounts?sort=available')).slice(0, 2), ['Mid', 'alpha'])
  assert.deepEqual((await names('/accounts?sort=available&order=asc')).slice(-2), ['alpha', 'Mid'])
  assert.equal((await names('/keys?sort=spent'))[0], 'busy')
  assert.deepEqual((await names('/keys?sort=name&order=desc')).slice(-1), ['busy'])
})

test('the next page of a sorted list begins where the last one ended', async () => {
  const first = await list('/keys?sort=spent&limit=1')
  const second = await list(`/keys?sort=spent&limit=100&after=${first.next_after}`)

  assert.match(String(first.next_after), /^key_[0-9a-z]+~/)
  assert.deepEqual(
    [...first.data, ...second.data].map(({ id }) => String(id)),
    (await list('/keys?sort=spent')).data.map(({ id }) => String(id)),
  )
  assert.equal(second.next_after, null)
  assert.equal('next_after' in (await list('/keys?limit=1')), false)
  assert.equal((await list('/keys?sort=spent&after=key_1~a.b')).status, 400)
})

test('what cannot be sorted is a 400 that names the parameter', async () => {
  const unknown = '019a91b2-6c1e-7d33-8f00-3a5be0c4d2f1'
  for (const [path, param] of [
    ['/usage?sort=price', 'sort'],
    [`/usage?sort=cost&after=${unknown}`, 'after'],
    ['/accounts?sort=owed', 'sort'],
    ['/keys?sort=name&order=up', 'order'],
  ] as const) {
    const { status, error } = await list(path)
    assert.deepEqual([status, error?.param], [400, param], path)
  }
})

test('a range with more requests than may be read says so, and one key or account may fit', async () => {
  for (let i = 0; i < 3; i++) await gateway.chat({ model: 'demo/echo' }, { key: other })

  for (const path of ['/usage?sort=cost', '/usage/summary?group_by=day&error_code=model_not_found']) {
    const { status, error } = await list(path)
    assert.deepEqual([status, error?.param], [400, 'from'])
    assert.match(String(error?.message), /at most 6 requests/)
    for (const owner of [`key_id=${keyId}`, `account_id=${accounts[0]}`])
      assert.equal((await list(`${path}&${owner}`)).status, 200, `${path} ${owner}`)
    assert.equal((await list(`${path}&from=2030-01-01T00:00:00Z`)).status, 200)
  }
})
