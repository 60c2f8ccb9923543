// The OpenAPI 3.1 document, made from the schemas that validate and the table of refusals: `/v1` for customers, everything for
// operators.
import { adminPaths } from './admin.ts'
import type { Brand, Media, OpenApi, Operation, PathItem, Paths, Response, Schema } from './document.ts'
import { ERROR_CODES, errorExamples, plainErrors, sharedErrors } from './errors.ts'
import { curlOf, MODEL, QUICK_START, SERVER } from './examples.ts'
import { guide } from './guide.ts'
import { componentHeaders, headerRefs } from './headers.ts'
import { messagesPaths } from './messages.ts'
import { portalPaths } from './portal.ts'
import { responsesPaths } from './responses.ts'
import { componentSchemas } from './schemas.ts'
import { v1Paths } from './v1.ts'

export type Audience = 'customers' | 'operators'

const built = new Map<string, { readonly document: OpenApi; readonly text: string }>()

export function openApiDocument(brand: Brand, audience: Audience): OpenApi {
  return known(brand, audience).document
}

// The examples name the gateway that is asked and a model that it serves. They are put into the finished text, since building the document
// takes as long as a hundred chats.
export function openApiText(brand: Brand, audience: Audience, examples: { server: string; model: string }): string {
  const { text } = known(brand, audience)
  // Inside of JSON strings.
  const escaped = (value: string) => JSON.stringify(value).slice(1, -1)
  return text.replaceAll(SERVER, () => escaped(examples.server)).replaceAll(MODEL, () => escaped(examples.model))
}

function known(brand: Brand, audience: Audience) {
  const name = `${audience} ${brand.keyPrefix} ${brand.headerPrefix}`
  let found = built.get(name)
  if (found === undefined) {
    const document = build(brand, audience)
    found = { document, text: JSON.stringify(document) }
    built.set(name, found)
  }
  return found
}

function build(brand: Brand, audience: Audience): OpenApi {
  const isOperator = audience === 'operators'
  const paths = withSamples({
    ...v1Paths(brand),
    ...messagesPaths(brand),
    ...responsesPaths(brand),
    ...(isOperator ? { ...adminPaths(), ...portalPaths(), ...operationsPaths() } : {}),
  })
  const groups = TAG_GROUPS.filter(({ name }) => isOperator || name === 'API')
  const all = {
    schemas: componentSchemas(),
    headers: componentHeaders(brand),
    responses: sharedErrors(brand),
    examples: errorExamples(),
    securitySchemes: securitySchemes(brand),
  }
  const components = isOperator ? all : usedBy(paths, all)
  // The one code that no described operation has: it is about methods that are not described.
  const codes = ERROR_CODES.filter(code => code in components.examples || code === 'method_not_allowed')
  return {
    openapi: '3.1.1',
    info: {
      title: 'Turnpike',
      license: { name: 'MIT', identifier: 'MIT' },
      version: 'v1',
      summary: 'One OpenAI-compatible API for many providers, with exact billing.',
      description: guide(brand, components.headers, codes),
    },
    servers: [{ url: SERVER, description: 'The gateway that serves this document.' }],
    tags: groups.flatMap(group => group.tags),
    'x-tagGroups': groups.map(({ name, tags }) => ({ name, tags: tags.map(tag => tag.name) })),
    paths,
    components,
  }
}

function securitySchemes(brand: Brand): OpenApi['components']['securitySchemes'] {
  return {
    apiKey: bearer(
      `An API key: \`${brand.keyPrefix}\` followed by 43 characters. Cookies are never read under \`/v1\`.`,
    ),
    adminToken: bearer('The admin token (`TURNPIKE_ADMIN_TOKEN`) or the token of an operator.'),
    adminSession: {
      type: 'apiKey',
      in: 'cookie',
      name: 'turnpike_session',
      description: 'The dashboard session. Changes also require its `csrf_token` as `X-CSRF-Token`.',
    },
    portalSession: {
      type: 'apiKey',
      in: 'cookie',
      name: 'turnpike_portal',
      description: 'A session of the customer portal. Changes also require its `csrf_token` as `X-CSRF-Token`.',
    },
    metricsToken: bearer('The metrics token (`TURNPIKE_METRICS_TOKEN`).'),
  }
}

function withSamples(paths: Paths): Paths {
  const sampled = ([method, operation]: [string, Operation], path: string) => [
    method,
    {
      ...operation,
      'x-codeSamples':
        operation.operationId === 'createChatCompletion'
          ? QUICK_START
          : [{ lang: 'Shell', label: 'curl', source: curlOf(path, method, operation) }],
    },
  ]
  const all = Object.entries(paths).map(([path, item]) => [
    path,
    Object.fromEntries(Object.entries<Operation>(item).map(entry => sampled(entry, path))) as PathItem,
  ])
  return Object.fromEntries(all)
}

// The components that the paths refer to, directly or through each other; the set grows while it is walked.
function usedBy(paths: Paths, components: OpenApi['components']): OpenApi['components'] {
  const refsIn = (value: unknown) =>
    [...JSON.stringify(value).matchAll(/"#\/components\/([\w-]+\/[\w.-]+)"/g)].map(found => found[1] ?? '')
  const used = new Set(refsIn(paths))
  const named = new Map(
    Object.entries(components).flatMap(([kind, all]) =>
      Object.entries<unknown>(all).map(([name, part]) => [`${kind}/${name}`, part]),
    ),
  )
  for (const name of used) for (const inner of refsIn(named.get(name) ?? null)) used.add(inner)
  const schemes = new Set(
    Object.values(paths).flatMap(item =>
      Object.values<Operation>(item).flatMap(({ security }) => security.flatMap(scheme => Object.keys(scheme))),
    ),
  )
  const kept = Object.entries(components).map(([kind, all]) => [
    kind,
    Object.fromEntries(
      Object.entries<unknown>(all).filter(([name]) =>
        kind === 'securitySchemes' ? schemes.has(name) : used.has(`${kind}/${name}`),
      ),
    ),
  ])
  return Object.fromEntries(kept) as OpenApi['components']
}

const TAG_GROUPS = [
  {
    name: 'API',
    tags: [
      { name: 'Chat', description: 'Chat completions, as JSON or as a stream.' },
      { name: 'Messages', description: "Anthropic's Messages, as JSON or as a stream." },
      { name: 'Responses', description: "OpenAI's Responses, as JSON or as a stream." },
      { name: 'Embeddings', description: 'Vectors for texts.' },
      { name: 'Models', description: 'Available models and their prices.' },
      { name: 'Key', description: 'Status, limits and balance of the API key.' },
      { name: 'Usage', description: 'Usage records of the API key.' },
    ],
  },
  {
    name: 'Admin API',
    tags: [
      { name: 'Admin: keys', description: 'Create, limit, rotate and revoke API keys.' },
      { name: 'Admin: accounts', description: 'Accounts, their credits and their ledger.' },
      { name: 'Admin: providers', description: 'Providers, their credentials and their health.' },
      { name: 'Admin: models', description: 'Models with their prices and targets.' },
      { name: 'Admin: catalog', description: 'Apply the configuration file.' },
      { name: 'Admin: overview', description: 'Totals, series and rankings of a time range.' },
      { name: 'Admin: usage', description: 'Usage records and sums of all keys.' },
      { name: 'Admin: search', description: 'Find accounts, keys, models and requests.' },
      { name: 'Admin: events', description: 'The audit log.' },
      { name: 'Admin: webhooks', description: 'Endpoints that receive events, and what was delivered to them.' },
      { name: 'Admin: nodes', description: 'The nodes that share the database.' },
      { name: 'Admin: operator', description: 'The operator of a token or session.' },
      { name: 'Admin: session', description: 'Sign in and out of the dashboard.' },
      { name: 'Admin: sessions', description: 'Open dashboard sessions.' },
      {
        name: 'Admin: operators',
        description: 'Operators with their own tokens, as admins or viewers.',
      },
      { name: 'Admin: settings', description: 'Settings of the gateway.' },
    ],
  },
  {
    name: 'Customer portal',
    tags: [{ name: 'Portal', description: 'What the pages under `/portal` use: one account, its keys and its usage.' }],
  },
  {
    name: 'Operations',
    tags: [{ name: 'Operations', description: 'Health checks, metrics and documentation; no API key required.' }],
  },
]

function bearer(description: string): Readonly<Record<string, string>> {
  return { type: 'http', scheme: 'bearer', description }
}

// Probes, metrics and documents as OpenAPI operations.
function operationsPaths(): Paths {
  return {
    '/health': get('getHealth', 'Liveness check', 'Returns 200 while the process is running.', {
      '200': answer('It does.', json(status('ok'))),
    }),
    '/ready': get('getReadiness', 'Readiness check', 'For readiness probes and load balancers.', {
      '200': answer('The database is available, migrations are done and a model is active.', json(status('ready'))),
      '503': answer('Not ready; `reason` gives the cause. Also returned while draining.', json(NOT_READY), [
        'Retry-After',
      ]),
    }),
    '/metrics': get(
      'getMetrics',
      'Metrics in Prometheus format',
      'Requires the metrics token, except from a loopback address without a forwarding header.',
      {
        '200': answer('The metrics.', { 'text/plain': { schema: { type: 'string' } } }),
        ...plainErrors(['invalid_api_key'], ['X-Request-Id']),
      },
      // The empty one: a loopback peer without a forwarding header needs no token.
      [{ metricsToken: [] }, {}],
    ),
    '/openapi.json': get(
      'getOpenApi',
      'This document',
      '`/v1` for everyone; with an operator’s token or session the admin API and these operations too.',
      {
        '200': answer('OpenAPI 3.1.', json({ type: 'object' })),
      },
    ),
    '/docs': get('getDocs', 'This document as a page', 'A reference with search; it loads nothing from other hosts.', {
      '200': answer('The page.', { 'text/html': { schema: { type: 'string' } } }),
    }),
  }
}

const NOT_READY: Schema = {
  type: 'object',
  required: ['status', 'reason'],
  properties: { status: { const: 'not_ready' }, reason: { type: 'string' } },
}

function get(
  operationId: string,
  summary: string,
  description: string,
  responses: Operation['responses'],
  security: Operation['security'] = [],
): PathItem {
  return { get: { operationId, tags: ['Operations'], summary, description, security, responses } }
}

function answer(description: string, content: Readonly<Record<string, Media>>, more: readonly string[] = []): Response {
  return { description, headers: headerRefs(['X-Request-Id', ...more]), content }
}

function json(schema: Schema): Readonly<Record<string, Media>> {
  return { 'application/json': { schema } }
}

function status(word: string): Schema {
  return { type: 'object', required: ['status'], properties: { status: { const: word } } }
}
