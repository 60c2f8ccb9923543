// The OpenAPI 3.1 document: the whole HTTP interface, made from the schemas that validate and the table of refusals.
import { adminPaths } from './admin.ts'
import type { Brand, OpenApi } from './document.ts'
import { errorExamples, sharedErrors } from './errors.ts'
import { componentHeaders } from './headers.ts'
import { operationsPaths } from './operations.ts'
import { componentSchemas } from './schemas.ts'
import { v1Paths } from './v1.ts'

const built = new Map<string, OpenApi>()

// Built once, since it never changes while the process runs.
export function openApiDocument(brand: Brand): OpenApi {
  const name = `${brand.keyPrefix} ${brand.headerPrefix}`
  const known = built.get(name)
  if (known !== undefined) return known
  const document = build(brand)
  built.set(name, document)
  return document
}

const written = new WeakMap<OpenApi, Buffer>()

// Serialised once too: it takes longer than serving a hundred chats.
export function openApiText(brand: Brand): Buffer {
  const document = openApiDocument(brand)
  const text = written.get(document) ?? Buffer.from(JSON.stringify(document))
  written.set(document, text)
  return text
}

function build(brand: Brand): OpenApi {
  return {
    openapi: '3.1.1',
    info: {
      title: 'Turnpike',
      license: { name: 'MIT', identifier: 'MIT' },
      version: '1',
      summary: 'One OpenAI-compatible key in front of many providers, billed exactly.',
      description:
        "Send OpenAI's chat requests with one key; each goes to a provider that serves its model, and is billed in credits to the last digit. " +
        '`/v1` only grows: new fields, new endpoints, new codes. Anything else would be `/v2`, announced by `Deprecation` and `Sunset` at least 180 days ahead.',
    },
    servers: [{ url: '/', description: 'The gateway that serves this document.' }],
    tags: TAGS,
    paths: { ...v1Paths(brand), ...adminPaths(), ...operationsPaths() },
    components: {
      schemas: componentSchemas(),
      headers: componentHeaders(brand),
      responses: sharedErrors(brand),
      examples: errorExamples(),
      securitySchemes: {
        apiKey: bearer(`A key: \`${brand.keyPrefix}\` and 43 characters. Cookies are never read under \`/v1\`.`),
        adminToken: bearer("The admin token (`TURNPIKE_ADMIN_TOKEN`), or an operator's own."),
        adminSession: {
          type: 'apiKey',
          in: 'cookie',
          name: 'turnpike_session',
          description: 'The session of the dashboard. Every change needs its `csrf_token` as `X-CSRF-Token` too.',
        },
        metricsToken: bearer('The token for scraping (`TURNPIKE_METRICS_TOKEN`).'),
      },
    },
  }
}

const TAGS = [
  { name: 'Chat', description: 'Chat completions, whole or streamed.' },
  { name: 'Models', description: 'What can be asked, and at which price.' },
  { name: 'Key', description: 'What the calling key is and has left.' },
  { name: 'Usage', description: "The calling key's own requests, one record each." },
  { name: 'Admin: keys', description: 'Keys: create, limit, rotate, revoke. A secret is shown once.' },
  { name: 'Admin: accounts', description: 'Accounts, their credits and their ledger.' },
  { name: 'Admin: providers', description: 'Upstreams, their credentials and their health.' },
  { name: 'Admin: models', description: 'Models with their prices and targets.' },
  { name: 'Admin: catalog', description: 'What the configuration file declares.' },
  { name: 'Admin: overview', description: 'What is going on, at a glance.' },
  { name: 'Admin: usage', description: 'Usage of all keys, row by row or summed.' },
  { name: 'Admin: events', description: 'What operators did, when and from where.' },
  { name: 'Admin: nodes', description: 'Who shares the database.' },
  { name: 'Admin: session', description: 'Log in and out: a token makes a session cookie.' },
  { name: 'Admin: sessions', description: 'Who is logged in, and from where.' },
  { name: 'Admin: operators', description: 'People with tokens of their own: admins, and viewers who change nothing.' },
  { name: 'Admin: settings', description: 'What the gateway was started with.' },
  { name: 'Operations', description: 'Probes, metrics and documents; no key needed.' },
]

function bearer(description: string): Readonly<Record<string, string>> {
  return { type: 'http', scheme: 'bearer', description }
}
