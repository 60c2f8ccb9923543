// No customer reaches another account: every endpoint of the portal's table is called with the ids of another one, and whatever a
// customer reads is free of it and of what only operators may know.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TSchema } from 'typebox'
import { Compile } from 'typebox/compile'
import { PORTAL, PORTAL_ENDPOINTS } from '../../../src/http/portal/schemas.ts'
import { openFixture } from '../../support/fixture.ts'
import type { Loose } from '../../support/http-call.ts'
import { enterPortal } from '../../support/portal.ts'
import { PROVIDER_KEY_CANARY, standardConfig, standardModel } from '../../support/standard-config.ts'
import { settledRow } from '../../support/usage.ts'

const COST = { prompt: '0.000001', completion: '0.000002' }
const targets = [{ provider: 'up', model: 'upstream-model-canary', cost: COST }]
const { gateway, upstream } = await openFixture(url =>
  standardConfig(url, { models: [standardModel({ targets })], portal: { name: 'Shop' } }),
)

const [mine, theirs] = [
  await gateway.createKey({ name: 'mine' }),
  await gateway.createKey({ name: 'canary-of-others' }),
]
const requestOf = async (key: string) => {
  const { headers } = await gateway.chat({}, { key })
  return settledRow(gateway, headers['x-request-id'])
}
const [own, other] = [await requestOf(mine.secret), await requestOf(theirs.secret)]
await gateway.admin('PATCH', `/accounts/${mine.accountId}`, {
  contact_email: 'contact-canary@example.com',
  external_id: 'external-canary',
})
const customer = await enterPortal(gateway, mine.accountId)

// A new parameter must be added here, with an id of another account.
const FOREIGN: Readonly<Record<string, string>> = { id: theirs.id, request_id: String(other.request_id) }
const OWN: Readonly<Record<string, string>> = { id: mine.id, request_id: String(own.request_id) }

function pathOf(path: string, ids: Readonly<Record<string, string>>): string {
  return path.slice('/portal/v1'.length).replace(/\{(\w+)\}/g, (_, name: string) => {
    assert.ok(ids[name] !== undefined, `the parameter ${name} has no id of another account here`)
    return ids[name]
  })
}

for (const { method, path } of PORTAL_ENDPOINTS) {
  if (!path.includes('{')) continue
  test(`${method} ${path} with an id of another account is 404`, async () => {
    // Their own request may be noted at any time.
    const key = async () => ({ ...(await gateway.admin('GET', `/keys/${theirs.id}`)).body, last_used_at: undefined })
    const before = await key()

    const foreign = await customer.call(method, pathOf(path, FOREIGN), method === 'GET' ? undefined : {})
    const unknown = await customer.call(method, pathOf(path, UNKNOWN), method === 'GET' ? undefined : {})

    assert.deepEqual([foreign.status, foreign.body.error?.code], [404, 'not_found'])
    const shown = ({ body: { error } }: typeof foreign) => ({ ...error, metadata: undefined })
    assert.deepEqual(shown(foreign), shown(unknown), 'nothing tells it from an id that does not exist')
    assert.deepEqual(await key(), before)
  })
}

const UNKNOWN = { id: 'key_0', request_id: '00000000-0000-7000-8000-000000000000' }

test('everything that can be read is of the own account and nothing for operators', async () => {
  const read = PORTAL_ENDPOINTS.filter(({ method }) => method === 'GET')
  assert.ok(read.length >= 8)
  for (const { path, response } of read) {
    const query = path.endsWith('/summary') ? '?group_by=key' : ''
    const answer = await customer.call('GET', pathOf(path, OWN) + query)

    assert.equal(answer.status, 200, `${path}: ${answer.text}`)
    assertHasShape(response, answer.body, path)
    for (const canary of [
      theirs.accountId,
      theirs.id,
      String(other.request_id),
      'canary-of-others',
      PROVIDER_KEY_CANARY,
      'upstream-model-canary',
      gateway.adminToken,
      'upstream_cost',
      'margin',
      'error_detail',
      'error_message',
      'low_balance',
      'contact-canary',
      'external-canary',
      'attempts',
      'routing',
      'upstream_id',
    ])
      assert.ok(!answer.text.includes(canary), `${path} contains ${canary}`)
  }
})

test('a filter by an id of another account finds nothing, and no filter widens the scope', async () => {
  for (const path of [`/usage?key_id=${theirs.id}`, `/usage/summary?group_by=model&key_id=${theirs.id}`]) {
    const { status, body } = await customer.call('GET', path)
    assert.deepEqual([status, body.data], [200, []])
  }
  const all = await customer.call<{ data: { request_id: string }[] }>('GET', '/usage?endpoint=all')
  assert.deepEqual(
    all.body.data.map(row => row.request_id),
    [own.request_id],
  )
  for (const query of [
    `account_id=${theirs.accountId}`,
    'provider=up',
    `after=${theirs.id}`,
    'group_by=account',
    'group_by=provider',
  ]) {
    const path = query.startsWith('group_by') ? '/usage/summary' : '/usage'
    assert.equal((await customer.call('GET', `${path}?${query}`)).status, 400, query)
  }
  const keys = await customer.call<{ data: { id: string }[] }>('GET', '/keys?q=canary')
  assert.deepEqual(keys.body.data, [])
})

test('CSV has the same rows and no column for operators', async () => {
  const { text, headers } = await customer.call('GET', '/usage?format=csv')
  const [columns = '', row = '', end] = text.split('\r\n')

  assert.match(String(headers['content-type']), /^text\/csv/)
  assert.ok(row.startsWith(String(own.request_id)) && end === '', text)
  assert.ok(columns.split(',').includes('reason'))
  assert.doesNotMatch(columns, /upstream|error_message|error_detail|attempts|routing/)
})

test("a failure says why in our words, a refusal in the caller's", async () => {
  upstream.next({ status: 500, body: JSON.stringify({ error: { message: 'provider-words-canary' } }) })
  upstream.next({ status: 500, body: JSON.stringify({ error: { message: 'provider-words-canary' } }) })
  const failed = await gateway.chat({}, { key: mine.secret })
  const refused = await gateway.chat({ model: 'no/such' }, { key: mine.secret })
  const rowOf = async (answer: typeof failed) =>
    (await customer.call('GET', `/usage/${answer.headers['x-request-id']}`)).body
  await settledRow(gateway, failed.headers['x-request-id'])
  await settledRow(gateway, refused.headers['x-request-id'])

  const [of500, of404] = [await rowOf(failed), await rowOf(refused)]

  assert.equal(of500.outcome, 'upstream_failed')
  assert.equal(of500.reason, 'No provider could serve this request.')
  assert.ok(!JSON.stringify(of500).includes('provider-words-canary'))
  assert.equal(of404.reason, refused.body.error?.message)
  assert.equal((await customer.call('GET', `/usage/${own.request_id}`)).body.reason, null)
})

test('without a session every endpoint but the brand is 401', async () => {
  for (const { method, path, access } of PORTAL_ENDPOINTS) {
    const { status } = await customer.call(method, pathOf(path, OWN), method === 'GET' ? undefined : {}, { cookie: '' })
    assert.equal(status, access === 'open' ? 200 : 401, `${method} ${path}`)
  }
  assert.equal(PORTAL.getBrand.access, 'open')
})

// Every field of the schema, and none that is not in it.
function assertHasShape(schema: TSchema, body: Loose, path: string): void {
  const [fault] = Compile(schema).Errors(body)
  assert.equal(fault, undefined, `${path}: ${JSON.stringify(fault)}`)
  const { properties } = schema as { readonly properties?: Readonly<Record<string, { readonly items?: TSchema }>> }
  assert.deepEqual(Object.keys(body).sort(), Object.keys(properties ?? {}).sort(), path)
  const first = (body.data as unknown as Loose[] | undefined)?.[0]
  if (first !== undefined) assertHasShape(properties?.data?.items as TSchema, first, `${path} data`)
}
