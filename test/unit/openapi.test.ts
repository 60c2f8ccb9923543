// The OpenAPI document, its page and docs/api.md describe what the code does: every schema compiles, every reference resolves,
// every code of the table of refusals is listed.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { ModelSchema, ProviderSchema } from '../../src/catalog/schema.ts'
import { ChatRequest } from '../../src/chat/request-schema.ts'
import type { Model } from '../../src/domain/catalog.ts'
import { REFUSALS } from '../../src/domain/refusal.ts'
import { ADMIN_ENDPOINTS } from '../../src/http/admin/schemas.ts'
import type { Operation, Response, Schema } from '../../src/http/openapi/document.ts'
import { docsPage } from '../../src/http/openapi/documents.ts'
import { openApiDocument, openApiText } from '../../src/http/openapi/openapi.ts'
import { NOTES } from '../../src/http/openapi/schemas.ts'
import { PORTAL_ENDPOINTS } from '../../src/http/portal/schemas.ts'
import { modelEntry } from '../../src/http/v1/models.ts'

const CODES = Object.entries(REFUSALS)
const BRAND = { keyPrefix: 'svc_live_', headerPrefix: 'X-Svc-' }
const text = JSON.stringify(openApiDocument(BRAND, 'operators'))
const document = JSON.parse(text) as ReturnType<typeof openApiDocument>
const customers = openApiDocument(BRAND, 'customers')
const ajv = new Ajv2020({ strict: true, strictTypes: false, allErrors: true })
ajv.addVocabulary(['components'])
ajv.addSchema({ $id: 'document', components: { schemas: document.components.schemas } })

test('the document is built once and survives JSON unchanged', () => {
  assert.equal(openApiDocument(BRAND, 'operators'), openApiDocument(BRAND, 'operators'))
  assert.deepEqual(document, openApiDocument(BRAND, 'operators'))
})

test('the document has the outline of OpenAPI 3.1', () => {
  assert.match(document.openapi, /^3\.1\.\d+$/)
  assert.ok(document.info.title !== '' && document.info.version !== '')
  for (const names of Object.values(document.components).map(Object.keys)) {
    for (const name of names) assert.match(name, /^[a-zA-Z0-9._-]+$/)
  }
  for (const { path, operation } of operations()) {
    assert.match(path, /^\//)
    for (const [status, response] of Object.entries(operation.responses)) {
      assert.match(status, /^[1-5]\d\d$/)
      assert.ok('$ref' in response || response.description !== '', `${path} ${status} has a description`)
    }
    for (const tag of operation.tags) assert.ok(document.tags.some(({ name }) => name === tag))
    for (const scheme of operation.security.flatMap(Object.keys))
      assert.ok(scheme in document.components.securitySchemes)
  }
})

test('every operation has a unique id, and its path parameters are described', () => {
  const ids = operations().map(({ operation }) => operation.operationId)

  assert.ok(ids.every(id => /^[a-z]\w+$/i.test(id)))
  assert.equal(new Set(ids).size, ids.length)
  for (const { path, operation } of operations()) {
    const named = [...path.matchAll(/\{(\w+)\}/g)].map(found => found[1])
    const inPath = (operation.parameters ?? []).filter(parameter => parameter.in === 'path')
    assert.deepEqual(
      inPath.map(({ name }) => name),
      named,
    )
    assert.ok(inPath.every(({ required }) => required))
  }
})

test('every endpoint is included: /v1, the admin and portal tables, operations', () => {
  const there = operations().map(({ path, method }) => `${method.toUpperCase()} ${path}`)

  const admin = ADMIN_ENDPOINTS.map(({ method, path }) => `${method} ${path}`)
  const portal = PORTAL_ENDPOINTS.map(({ method, path }) => `${method} ${path}`)
  const others = ['/health', '/ready', '/metrics', '/openapi.json', '/docs'].map(path => `GET ${path}`)
  const reads = ['/models', '/models/{id}', '/key/introspect', '/usage', '/usage/{request_id}'].map(
    path => `GET /v1${path}`,
  )
  const posts = [
    '/chat/completions',
    '/chat/completions/quote',
    '/embeddings',
    '/messages',
    '/messages/count_tokens',
    '/responses',
  ].map(path => `POST /v1${path}`)
  assert.deepEqual(there.toSorted(), [...posts, ...reads, ...admin, ...portal, ...others].toSorted())
})

test('the portal: refusals that a session may get, and only those; lists that are offered as CSV', () => {
  const at = (path: string, method: 'get' | 'post' | 'delete' = 'get') =>
    document.paths[path]?.[method]?.responses ?? {}
  const codesAt = (path: string, status: string, method?: 'get' | 'post' | 'delete') =>
    Object.keys((at(path, method)[status] as Response | undefined)?.content?.['application/json']?.examples ?? {})

  for (const { method, path, access } of PORTAL_ENDPOINTS) {
    if (method !== 'GET' || access === 'open') continue
    assert.ok(codesAt(path, '403').includes('account_suspended'), path)
  }
  assert.ok(codesAt('/portal/v1/usage', '403').includes('permission_missing'))
  for (const path of ['/keys', '/usage', '/usage/summary'])
    assert.deepEqual(codesAt(`/portal/v1${path}`, '429'), ['concurrency_exceeded'])
  assert.deepEqual(codesAt('/portal/v1/keys', '429', 'post'), ['rate_limit_exceeded'])
  assert.equal(at('/portal/v1/session', 'delete')['429'], undefined)
  for (const path of ['/portal/v1/usage', '/admin/v1/usage', '/admin/v1/accounts/{id}/ledger'])
    assert.ok('text/csv' in ((at(path)['200'] as Response).content ?? {}), path)
})

test('every reference resolves', () => {
  const refs = [...text.matchAll(/"\$ref":"#\/([^"]+)"/g)].map(found => found[1] ?? '')

  assert.ok(refs.length > 100)
  for (const ref of new Set(refs)) {
    const target = ref
      .split('/')
      .reduce<unknown>((value, step) => (value as Record<string, unknown> | undefined)?.[step], document)
    assert.ok(target !== undefined, `#/${ref} is there`)
  }
})

test('every schema compiles, and every example matches its schema', () => {
  for (const schema of inlineSchemas()) compile(schema)
  for (const name of Object.keys(document.components.schemas)) compile({ $ref: `#/components/schemas/${name}` })
  for (const { value } of Object.values(document.components.examples)) fits('Error', value)

  for (const { operation } of operations()) {
    for (const { schema = {}, example } of mediaOf(operation)) {
      if (example !== undefined && typeof example !== 'string') assertFits(schema, example)
    }
  }
})

test('the chat request is the schema that validates, with its parts written out', () => {
  const { example } = document.paths['/v1/chat/completions']?.post?.requestBody?.content['application/json'] ?? {}
  const { properties = {}, required } = document.components.schemas.ChatRequest ?? {}

  fits('ChatRequest', example)
  assert.deepEqual(Object.keys(properties), Object.keys(ChatRequest.properties))
  assert.deepEqual(required, ChatRequest.required)
  const picture = { type: 'image_url', image_url: { url: 'data:image/png;base64,AA==' } }
  fits('ChatRequest', { model: 'm', messages: [{ role: 'user', content: [picture] }] })
  const wrong = { model: 'm', messages: [{ role: 'user', content: [{ type: 'image_url' }] }] }
  assert.equal(compile({ $ref: '#/components/schemas/ChatRequest' })(wrong), false)
})

test('providers and models use the schema of the configuration file', () => {
  const bodyOf = (path: string) => document.paths[path]?.post?.requestBody?.content['application/json']?.schema ?? {}
  const plain = (value: unknown) => JSON.parse(JSON.stringify(value))
  const { properties: provider, required: ofProvider } = bodyOf('/admin/v1/providers')
  const { properties: model, required: ofModel } = bodyOf('/admin/v1/models')

  assert.deepEqual(provider, { ...plain(ProviderSchema.properties), status: provider?.status })
  assert.deepEqual(model, { ...plain(ModelSchema.properties), status: model?.status })
  assert.deepEqual(ofProvider, ['id', 'kind'])
  assert.deepEqual(ofModel, ['id', 'context_length', 'pricing', 'targets'])
})

test('the events of the stream example are chunks, and it ends with [DONE]', () => {
  const answer = document.paths['/v1/chat/completions']?.post?.responses['200'] as Response | undefined
  const stream = String(answer?.content?.['text/event-stream']?.example)
  const events = stream
    .split('\n\n')
    .slice(0, -1)
    .map(event => event.slice('data: '.length))

  assert.equal(events.pop(), '[DONE]')
  assert.ok(events.length > 2)
  for (const event of events) fits('ChatCompletionChunk', JSON.parse(event))
})

test('the response of the models endpoint matches its schema', () => {
  const entry = modelEntry({
    id: 'acme/m1',
    name: 'M1',
    description: '',
    ownedBy: 'acme',
    createdAt: 1_750_000_000_000,
    contextLength: 128_000,
    maxOutputTokens: 16_384,
    embedding: { dimensions: 8, dimensionsMin: 4 },
    inputModalities: ['text'],
    prices: { prompt: 2_500_000n, completion: 10_000_000n, cacheRead: 1_250_000n, cacheWrite: 3_125_000n, request: 0n },
    priceVersion: 'v1',
    supportedParameters: ['tools'],
    targets: [{ provider: 'a' }, { provider: 'b' }],
  } as unknown as Model)

  fits('Model', entry)
  assert.deepEqual(Object.keys(entry), Object.keys(document.components.schemas.Model?.properties ?? {}))
})

test('every explained field exists, and every field of a chat request is explained', () => {
  for (const [name, { fields = {} }] of Object.entries(NOTES)) {
    const { properties = {} } = document.components.schemas[name] ?? assert.fail(`${name} is a schema`)
    for (const field of Object.keys(fields)) assert.ok(field in properties, `${name}.${field} is a field`)
  }
  const explained = NOTES.ChatRequest?.fields ?? {}
  for (const field of Object.keys(ChatRequest.properties))
    assert.ok(field in explained, `openapi-notes.ts explains ${field}`)
})

test('operations under /v1 name their possible errors, each under its own status', () => {
  for (const { path, operation } of operations()) {
    for (const [status, codes] of errorsOf(operation)) {
      for (const code of codes) assert.equal(String(REFUSALS[code as keyof typeof REFUSALS].status), status)
    }
    const all = [...errorsOf(operation).values()].flat()
    if (path.startsWith('/v1/')) assert.ok(all.includes('invalid_api_key') && all.includes('rate_limit_exceeded'))
  }
  const told = new Set(operations().flatMap(({ operation }) => [...errorsOf(operation).values()].flat()))
  const untold = CODES.map(([code]) => code).filter(code => !told.has(code))
  // The one that no described call can get: it is for calls that are not described.
  assert.deepEqual(untold, ['method_not_allowed'])
})

test('the headers have the prefix that the operator set', () => {
  const document = openApiDocument({ keyPrefix: 'tp_', headerPrefix: 'X-Tp-' }, 'operators')
  const { components } = document

  assert.ok('X-Tp-Cost' in components.headers && !('X-Svc-Cost' in components.headers))
  assert.doesNotMatch(JSON.stringify(document), /X-Svc-|svc_live_/)
})

test('the introduction lists every header, and every code with its status and type', () => {
  const { description } = document.info

  for (const name of Object.keys(document.components.headers)) assert.ok(description.includes(`| \`${name}\` |`), name)
  for (const [code, { status, type }] of CODES) {
    assert.ok(description.includes(`| \`${code}\` | ${status} | \`${type}\` |`), code)
  }
})

test('every operation has a code sample that names its path', () => {
  for (const { path, operation } of operations()) {
    const samples = operation['x-codeSamples'] ?? []
    assert.ok(samples.length > 0, path)
    assert.match(samples[0]?.source ?? '', /^curl /)
    assert.ok(samples[0]?.source.includes(path.split('{')[0] ?? ''), path)
  }
})

test('customers get only /v1, with exactly the components that it uses', () => {
  const shared = Object.keys(document.paths).filter(path => path.startsWith('/v1/'))
  const names = ({ components }: typeof document) =>
    Object.entries(components).flatMap(([kind, all]) => Object.keys(all).map(name => `${kind}/${name}`))
  const all = JSON.stringify(customers)
  const isUsed = (name: string) => all.includes(`"#/components/${name}"`) || all.includes(`"${name.split('/')[1]}":[]`)

  assert.deepEqual(Object.keys(customers.paths), shared)
  assert.deepEqual(
    customers.tags.map(({ name }) => name),
    ['Chat', 'Messages', 'Responses', 'Embeddings', 'Models', 'Key', 'Usage'],
  )
  assert.deepEqual(
    names(customers).filter(name => !isUsed(name)),
    [],
  )
  assert.ok(names(customers).length < names(document).length)
  assert.deepEqual(Object.keys(customers.components.securitySchemes), ['apiKey'])
  assert.doesNotMatch(JSON.stringify(customers.paths), /\/admin\/|\/portal\/|TURNPIKE_/)
  assert.doesNotMatch(customers.info.description, /operator_is_viewer|csrf_failed/)
})

test('the text names the given gateway and model in every example', () => {
  const examples = { server: 'https://llm.example.com', model: 'acme/m1' }

  const given = openApiText(BRAND, 'customers', examples)

  assert.doesNotMatch(given, /127\.0\.0\.1|demo\/echo/)
  const { servers, paths } = JSON.parse(given) as typeof document
  const chat = paths['/v1/chat/completions']?.post
  assert.equal(servers[0]?.url, examples.server)
  const { example } = chat?.requestBody?.content['application/json'] ?? {}
  assert.equal((example as { model: string } | undefined)?.model, examples.model)
  for (const { source } of chat?.['x-codeSamples'] ?? []) {
    assert.ok(source.includes(`${examples.server}/v1`) && source.includes(examples.model))
  }
})

test('the page at /docs loads one script of its own, and reports if that is not built', () => {
  const page = docsPage('reference-0123abcd.js')

  assert.deepEqual(page.match(/(?:src|href)="[^"]*"/g), [
    'href="data:,"',
    'href="/openapi.json"',
    'src="/docs/reference-0123abcd.js"',
  ])
  assert.match(docsPage(undefined), /npm run build/)
  assert.doesNotMatch(docsPage(undefined), /<script/)
})

test('docs/api.md lists every code with its status and type, in the order of refusals', () => {
  const guide = readFileSync(new URL('../../docs/api.md', import.meta.url), 'utf8')

  const rows = [...guide.matchAll(/^\| (\d{3}) \| `(\w+)` \| (\w+) \|/gm)].map(([, status, code, type]) => [
    code,
    Number(status),
    type,
  ])
  assert.deepEqual(
    rows,
    CODES.map(([code, { status, type }]) => [code, status, type]),
  )
})

function operations() {
  return Object.entries(document.paths).flatMap(([path, item]) =>
    Object.entries(item as Record<string, Operation>).map(([method, operation]) => ({ path, method, operation })),
  )
}

function mediaOf({ requestBody, responses }: Operation) {
  const answers = Object.values(responses).flatMap(response =>
    '$ref' in response ? [] : Object.values(response.content ?? {}),
  )
  return [...Object.values(requestBody?.content ?? {}), ...answers]
}

function inlineSchemas(): Schema[] {
  const inOperations = operations().flatMap(({ operation }) => [
    ...(operation.parameters ?? []).map(({ schema }) => schema),
    ...mediaOf(operation).map(({ schema = {} }) => schema),
  ])
  return [...inOperations, ...Object.values(document.components.headers).map(({ schema }) => schema)]
}

function errorsOf({ responses }: Operation): Map<string, string[]> {
  const entries = Object.entries(responses).map(([status, response]) => {
    const found = '$ref' in response ? document.components.responses[response.$ref.split('/').at(-1) ?? ''] : response
    return [status, Object.keys(found?.content?.['application/json']?.examples ?? {})] as const
  })
  return new Map(entries)
}

// The whole document is registered under one name, so that references resolve as for a reader.
function compile(schema: Schema) {
  return ajv.compile<unknown>(JSON.parse(JSON.stringify(schema).replaceAll('"#/', '"document#/')))
}

function fits(name: string, value: unknown): void {
  assertFits({ $ref: `#/components/schemas/${name}` }, value)
}

function assertFits(schema: Schema, value: unknown): void {
  const check = compile(schema)
  assert.ok(check(value), `${JSON.stringify(check.errors)} in ${JSON.stringify(value)}`)
}
