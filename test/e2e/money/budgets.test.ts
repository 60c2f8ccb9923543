// Budgets through the API: what operators may set, what callers are told, what lists and introspection show.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openFixture } from '../../support/fixture.ts'
import { httpCall } from '../../support/http-call.ts'
import { standardConfig, standardModel } from '../../support/standard-config.ts'
import { settledRow } from '../../support/usage.ts'

// Priced per request only, so that a request holds and costs 0.01.
const flat = standardModel({ id: 'test/flat', pricing: { prompt: '0', completion: '0', request: '0.01' } })
const { gateway } = await openFixture(url => standardConfig(url, { models: [standardModel(), flat] }))

type Budget = Readonly<Record<string, unknown>>
const ask = (key: string, more: object = {}) => gateway.chat({ model: 'test/flat', ...more }, { key })
const monthEnds = () => {
  const now = new Date()
  return `${new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1)).toISOString().slice(0, 19)}Z`
}

test('a request that does not fit the budget gets 402 with the figures, and costs nothing', async () => {
  const budgets = [
    { amount: '0.025', window: 'month' },
    { amount: '5', window: 'day', action: 'alert', thresholds: [50] },
  ]
  const caller = await gateway.createKey({ credits: '10', budgets })

  const answers = [await ask(caller.secret), await ask(caller.secret), await ask(caller.secret)]

  assert.deepEqual(
    answers.map(({ status }) => status),
    [200, 200, 402],
  )
  const { body, headers } = answers[2] as (typeof answers)[number]
  const { request_id: _, ...metadata } = (body.error?.metadata ?? {}) as Budget
  assert.deepEqual([body.error?.code, body.error?.type], ['budget_exceeded', 'insufficient_quota'])
  assert.deepEqual([headers['x-should-retry'], headers['retry-after']], ['false', undefined])
  assert.deepEqual(metadata, {
    budget: 'key',
    window: 'month',
    amount: '0.025',
    spent: '0.02',
    held: '0',
    resets_at: monthEnds(),
    available: '0.005',
    required: '0.01',
    affordable_max_tokens: 0,
  })
  assert.match(String(body.error?.message), /the key's budget per month of 0\.025 has 0\.005 left and resets at/)
  const row = await settledRow(gateway, headers['x-request-id'])
  assert.deepEqual([row.outcome, row.error_code, row.cost], ['refused', 'budget_exceeded', '0'])
  const key = (await gateway.admin('GET', `/keys/${caller.id}`)).body
  assert.deepEqual(key.budgets, [
    {
      amount: '0.025',
      window: 'month',
      action: 'block',
      thresholds: [80, 100],
      spent: '0.02',
      held: '0',
      remaining: '0.005',
      resets_at: monthEnds(),
    },
    {
      ...budgets[1],
      spent: '0.02',
      held: '0',
      remaining: '4.98',
      resets_at: `${new Date(new Date().setUTCHours(24, 0, 0, 0)).toISOString().slice(0, 19)}Z`,
    },
  ])
  assert.deepEqual([key.spent, key.spent_this_month, key.state], ['0.02', '0.02', 'active'])
})

test('the budget of an account holds for all its keys, and a quote says so without spending', async () => {
  const first = await gateway.createKey({ credits: '10' })
  const second = await gateway.createKey({ account_id: first.accountId })
  const path = `/accounts/${first.accountId}`
  const set = await gateway.admin('PATCH', path, { budgets: [{ amount: '0.02', window: 'week' }], low_balance: '1' })
  assert.deepEqual([set.status, set.body.low_balance], [200, '1'])

  const statuses = [await ask(first.secret), await ask(second.secret), await ask(first.secret)].map(
    ({ status }) => status,
  )
  const quoted = await httpCall(`${gateway.url}/v1/chat/completions/quote`, {
    body: { model: 'test/flat', messages: MESSAGES },
    headers: { authorization: `Bearer ${second.secret}` },
  })

  assert.deepEqual(statuses, [200, 200, 402])
  const limits = quoted.body.limits as Record<string, Budget>
  assert.deepEqual([limits.credits?.verdict, limits.credits?.limit], ['budget_exceeded', 'budget'])
  const account = (await gateway.admin('GET', path)).body
  assert.deepEqual([account.spent, account.spent_this_month], ['0.02', '0.02'])
  assert.deepEqual([account.status, account.state], ['active', 'budget_reached'])
  const introspected = (await gateway.get('/v1/key/introspect', second.secret)).body
  assert.deepEqual([introspected.spent, introspected.balance?.remaining], ['0.01', '0'])
  assert.deepEqual(
    (introspected.budgets as unknown as Budget[]).map(({ owner, remaining }) => [owner, remaining]),
    [['account', '0']],
  )
})

test('an account without credits says so', async () => {
  const { id } = await gateway.createAccount()
  const stateOf = async () => (await gateway.admin('GET', `/accounts/${id}`)).body.state

  assert.equal(await stateOf(), 'out_of_credits')
  await gateway.addCredits(id, '1')
  assert.equal(await stateOf(), 'active')
  await gateway.admin('PATCH', `/accounts/${id}`, { status: 'suspended' })
  assert.equal(await stateOf(), 'suspended')
})

test('lists show which keys are stopped by a limit or a budget, and a change is in force with the next request', async () => {
  const budgeted = await gateway.createKey({ credits: '10', budgets: [{ amount: '0.01', window: 'total' }] })
  const limited = await gateway.createKey({ account_id: budgeted.accountId, credit_limit: '0.01' })
  const daily = await gateway.createKey({ account_id: budgeted.accountId, daily_limit: 1 })
  for (const { secret } of [budgeted, limited, daily]) assert.equal((await ask(secret)).status, 200)

  const { body } = await gateway.admin('GET', `/keys?account_id=${budgeted.accountId}`)

  const states = new Map((body.data as unknown as Budget[]).map(({ id, state, status }) => [id, [state, status]]))
  assert.deepEqual(
    [budgeted, limited, daily].map(({ id }) => states.get(id)),
    [
      ['budget_reached', 'active'],
      ['limit_reached', 'active'],
      ['limit_reached', 'active'],
    ],
  )
  assert.equal((await ask(budgeted.secret)).body.error?.code, 'budget_exceeded')
  await gateway.admin('PATCH', `/keys/${budgeted.id}`, { budgets: [{ amount: '0.02', window: 'total' }] })
  assert.deepEqual([(await ask(budgeted.secret)).status, (await ask(budgeted.secret)).status], [200, 402])
  await gateway.admin('PATCH', `/keys/${budgeted.id}`, { budgets: [] })
  assert.equal((await ask(budgeted.secret)).status, 200)
})

test('a budget without a maximum from the caller caps the output instead of refusing it', async () => {
  const caller = await gateway.createKey({ credits: '10', budgets: [{ amount: '0.02', window: 'hour' }] })

  const answer = await gateway.chat({ model: 'test/m1', messages: MESSAGES }, { key: caller.secret })

  assert.equal(answer.status, 200)
  assert.ok(Number(answer.headers['x-svc-output-cap']) < 1000, `${answer.headers['x-svc-output-cap']}`)
})

const MESSAGES = [{ role: 'user', content: 'Say hello' }]

const WRONG: readonly (readonly [unknown, RegExp])[] = [
  [Array.from({ length: 9 }, (_, i) => ({ amount: `${i + 1}`, window: 'day' })), /budgets/],
  [[{ amount: '0', window: 'day' }], /budgets\.0\.amount/],
  [[{ amount: '-1', window: 'day' }], /budgets\.0\.amount/],
  [[{ amount: '1e3', window: 'day' }], /budgets\.0\.amount/],
  [[{ amount: '10000000000', window: 'day' }], /budgets\.0\.amount/],
  [[{ amount: 5, window: 'day' }], /budgets\.0\.amount/],
  [[{ amount: '1', window: 'year' }], /budgets\.0\.window/],
  [[{ amount: '1' }], /budgets\.0\.window/],
  [[{ amount: '1', window: 'day', action: 'warn' }], /budgets\.0\.action/],
  [[{ amount: '1', window: 'day', thresholds: [0] }], /budgets\.0\.thresholds/],
  [[{ amount: '1', window: 'day', thresholds: [50.5] }], /budgets\.0\.thresholds/],
  [[{ amount: '1', window: 'day', limit: 3 }], /budgets\.0/],
  [[1, 2].map(() => ({ amount: '1', window: 'day' })), /budgets\.1/],
  [{ amount: '1', window: 'day' }, /budgets/],
]

test('wrong budgets are refused with the field, for keys and accounts', async () => {
  const caller = await gateway.createKey()
  for (const path of [`/keys/${caller.id}`, `/accounts/${caller.accountId}`]) {
    for (const [budgets, param] of WRONG) {
      const { status, body } = await gateway.admin('PATCH', path, { budgets })
      assert.deepEqual([status, body.error?.type], [400, 'invalid_request_error'], JSON.stringify(budgets))
      assert.match(String(body.error?.param), param)
    }
    assert.deepEqual((await gateway.admin('GET', path)).body.budgets, [])
  }
  const { status } = await gateway.admin('PATCH', `/accounts/${caller.accountId}`, { low_balance: '0' })
  assert.equal(status, 400)
})
