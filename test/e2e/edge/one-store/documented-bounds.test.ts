// /openapi.json documents what is enforced: every bound of a query parameter, a header and a body field is tried on the
// running gateway, with the last value inside it and the first one outside.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { OpenApi, Operation, Schema } from '../../../../src/http/openapi/document.ts'
import { openFixture } from '../../../support/fixture.ts'
import { httpCall, type Loose } from '../../../support/http-call.ts'
import { enterPortal } from '../../../support/portal.ts'

type Probe = { readonly value: unknown; readonly fits: boolean }
type Case = {
  readonly name: string
  readonly param: string
  readonly probe: Probe
  send(): Promise<{ readonly status: number; readonly body: Loose; readonly text: string }>
}

const { gateway } = await openFixture()
const { body } = await gateway.get<OpenApi>('/openapi.json', gateway.adminToken)
const document = body as unknown as OpenApi
const { secret } = await gateway.createKey({ rpm_limit: 1_000_000, daily_limit: null })
// Resources to be changed.
const { id: keyId, accountId } = await gateway.createKey()
await gateway.admin('POST', '/providers', { id: 'own', kind: 'demo' })
await gateway.admin('POST', '/models', {
  id: 'own/model',
  context_length: 1000,
  max_output_tokens: 100,
  pricing: { prompt: '0', completion: '0' },
  targets: [{ provider: 'own', model: 'm' }],
})
const customer = await enterPortal(gateway, (await gateway.createAccount()).id)
const ids: Readonly<Record<string, string>> = {
  keys: keyId,
  accounts: accountId,
  providers: 'own',
  models: 'own/model',
}
// Its fields are probed through others, or have no length bound.
const SKIPPED = new Set(['POST /admin/v1/session'])
// Within their bounds they must also be known, fit the model, or be a URL, an address or a number.
const KNOWN_ONLY = [
  ...['account_id', 'list', 'provider', 'max_tokens', 'max_completion_tokens', 'max_output_tokens'],
  ...['dimensions', 'dimensions_min', 'url', 'return_url', 'contact_email', 'model', 'percent'],
]

const cases = Object.entries(document.paths).flatMap(([path, item]) =>
  Object.entries(item as Readonly<Record<string, Operation>>).flatMap(([method, operation]) =>
    SKIPPED.has(`${method.toUpperCase()} ${path}`) ? [] : casesOf(method.toUpperCase(), path, operation),
  ),
)

test('there are bounds of parameters, headers and bodies to test', () => {
  const places = (word: string) => cases.filter(({ name }) => name.includes(` ${word} `)).length
  assert.ok(
    places('query') > 50 && places('header') > 5 && places('body') > 60,
    [places('query'), places('header'), places('body')].join(),
  )
})

for (const { name, param, probe, send } of cases) {
  test(`${name} ${probe.fits ? 'accepts' : 'refuses'} ${shown(probe.value)}`, async () => {
    const { status, body, text } = await send()

    const isRefused = status === 400 && String(body.error?.param).toLowerCase() === param.toLowerCase()
    assert.ok(status < 500, text)
    // A value inside its bounds may still be unknown, which is another code.
    if (probe.fits && KNOWN_ONLY.includes(param) && name.includes(' body ')) return
    if (probe.fits) assert.ok(!isRefused || String(body.error?.code) !== 'invalid_value', text)
    else assert.ok(isRefused, `${status} ${text}`)
  })
}

test('headers without bounds accept any value, and store or use it only as documented', async () => {
  for (const [length, kept] of [
    [128, true],
    [129, false],
  ] as const) {
    const answer = await gateway.chat({}, { key: secret, headers: { 'x-client-request-id': 'i'.repeat(length) } })
    const row = await gateway.get(`/v1/usage/${answer.headers['x-request-id']}`, secret)
    assert.deepEqual([answer.status, row.body.client_request_id], [200, kept ? 'i'.repeat(length) : null])
  }
  for (const [value, explains] of [
    ['1', true],
    ['11', false],
    ['yes', false],
  ] as const) {
    const answer = await gateway.chat({}, { key: secret, headers: { 'x-svc-explain': value } })
    assert.deepEqual([answer.status, answer.body.metadata !== undefined], [200, explains])
  }
})

test('seed has no documented bounds, and integers of any length are accepted', async () => {
  const { minimum, maximum, type } = resolved(document.components.schemas.ChatRequest).properties?.seed ?? {}
  assert.deepEqual({ type, minimum, maximum }, { type: 'integer', minimum: undefined, maximum: undefined })
  for (const [value, fits] of [
    ['9007199254740991', true],
    ['9007199254740992', true],
    ['-9007199254740993', true],
    ['9'.repeat(300), true],
    ['1.5', false],
    ['9'.repeat(400), false], // no finite number
  ] as const) {
    const { status, text } = await httpCall(`${gateway.url}/v1/chat/completions`, {
      body: `{"model":"test/m1","messages":[{"role":"user","content":"x"}],"seed":${value}}`,
      headers: { authorization: `Bearer ${secret}` },
    })
    assert.equal(status, fits ? 200 : 400, `${value}: ${text}`)
  }
})

test('the bounds of provider.max_price hold for numbers and for decimals', async () => {
  const bounds = [
    ...([0, 999_999_999_999, '2.5', '1'.padEnd(12, '0'), `0.${'1'.repeat(30)}`] as const).map(value => [value, true]),
    ...([-1, 1_000_000_000_000, '', '-1', 'abc', '1e3', '.5', '1'.padEnd(13, '0'), `0.${'1'.repeat(31)}`] as const).map(
      value => [value, false],
    ),
  ]
  for (const [value, fits] of bounds) {
    const { status, text } = await gateway.chat({ provider: { max_price: { prompt: value } } }, { key: secret })
    const isRefused = status === 400 && text.includes('invalid_value') && text.includes('provider.max_price')
    assert.equal(isRefused, !fits, `${value}: ${status} ${text}`)
  }
})

function casesOf(method: string, path: string, operation: Operation): Case[] {
  const resource = path.split('/')[3] ?? ''
  const url = gateway.url + path.replace(/\{\w+\}/g, encodeURIComponent(ids[resource] ?? 'none'))
  const identity = identityFor(path)
  const media = operation.requestBody?.content['application/json']
  const example = bodyOf(path, media?.example)
  const required = Object.fromEntries(
    (operation.parameters ?? []).filter(each => each.in === 'header' && each.required).map(({ name }) => [name, name]),
  )
  const call = (query: string, headers: Readonly<Record<string, string>>, body: unknown) =>
    httpCall<Loose>(`${url}${query}`, {
      method,
      headers: { ...identity, ...required, ...headers },
      ...(body === undefined ? {} : { body }),
    })

  const ofParameters = (operation.parameters ?? [])
    .filter(({ in: place }) => place !== 'path')
    .flatMap(({ name, in: place, schema }) =>
      probesOf(schema).map(probe => ({
        name: `${method} ${path} ${place} ${name}`,
        param: name,
        probe,
        send: () =>
          place === 'query'
            ? call(`?${new URLSearchParams({ ...groupBy(path), [name]: String(probe.value) })}`, {}, undefined)
            : call('', { [name]: String(probe.value) }, example),
      })),
    )
  const ofBody = Object.entries(resolved(media?.schema).properties ?? {}).flatMap(([name, schema]) =>
    probesOf(resolved(schema)).map(probe => ({
      name: `${method} ${path} body ${name}`,
      param: name,
      probe,
      send: () => call('', { 'idempotency-key': crypto.randomUUID() }, { ...(example as object), [name]: probe.value }),
    })),
  )
  return [...ofParameters, ...ofBody]
}

function identityFor(path: string): Readonly<Record<string, string>> {
  if (path.startsWith('/portal/')) return { cookie: customer.cookie, 'x-csrf-token': customer.csrf }
  return { authorization: `Bearer ${path.startsWith('/admin/') ? gateway.adminToken : secret}` }
}

// A parameter that the sums require.
function groupBy(path: string): Readonly<Record<string, string>> {
  return path.endsWith('/summary') ? { group_by: 'day' } : {}
}

function bodyOf(path: string, example: unknown): unknown {
  if (path.startsWith('/v1/')) return { ...(example as object), model: 'test/m1' }
  if (path === '/portal/v1/keys') return { name: 'probe' }
  return example
}

// The branch of a union that is neither null nor a union itself.
function resolved(schema: Schema | undefined): Schema {
  if (schema?.$ref !== undefined) return resolved(document.components.schemas[schema.$ref.split('/').at(-1) ?? ''])
  const parts = (schema?.anyOf ?? []).filter(part => part.type !== 'null')
  return parts.length === 1 ? resolved(parts[0]) : (schema ?? {})
}

function probesOf(schema: Schema): Probe[] {
  const probes: Probe[] = []
  const add = (value: unknown, fits: boolean) => probes.push({ value, fits })
  const { type, minimum, maximum, minLength, maxLength, maxItems, pattern } = schema
  if (type === 'string' && pattern !== undefined) add('é', false)
  else if (type === 'string') {
    if (maxLength !== undefined) add('a'.repeat(maxLength), true)
    if (maxLength !== undefined) add('a'.repeat(maxLength + 1), false)
    if (schema.enum !== undefined) add('~', false)
    if (minLength !== undefined && minLength > 1) add('a'.repeat(minLength - 1), false)
  }
  if (type === 'integer' || type === 'number') {
    if (minimum !== undefined) add(minimum, true)
    if (minimum !== undefined) add(minimum - 1, false)
    if (maximum !== undefined) add(maximum, true)
    if (maximum !== undefined) add(maximum + 1, false)
  }
  if (type === 'array' && maxItems !== undefined && resolved(schema.items).type === 'string' && !schema.items?.enum)
    add(Array(maxItems + 1).fill('a'), false)
  return probes
}

function shown(value: unknown): string {
  const text = JSON.stringify(value)
  return text.length > 20 ? `${text.slice(0, 8)}… (${text.length})` : text
}
