// The API described: the OpenAPI document and the page at /docs that shows it. Customers get `/v1`, operators the admin API too.
import { readdir } from 'node:fs/promises'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { originOfRequest } from '../request-origin.ts'
import { REFERENCE_CSP } from '../security-headers.ts'
import { FOR_A_YEAR, sendNamedFile } from '../static.ts'
import type { Brand } from './document.ts'
import { MODEL, SERVER } from './examples.ts'

export type DocumentsNeeds = {
  readonly brand: Brand
  // A model that is served, for the examples.
  readonly exampleModel: () => string | undefined
  // Where the script of the page is.
  readonly referenceFolder: string
  isOperator(request: FastifyRequest): Promise<boolean>
  cameByTls(request: FastifyRequest): boolean
}

export function documents(app: FastifyInstance, needs: DocumentsNeeds): void {
  app.get('/openapi.json', async (request, reply) => {
    const { openApiText } = await import('./openapi.ts')
    // A customer's key is no admin token: looking it up would only count and delay a failure.
    const isCustomer = request.headers.authorization?.includes(needs.brand.keyPrefix) ?? false
    const audience = !isCustomer && (await needs.isOperator(request)) ? 'operators' : 'customers'
    const examples = {
      server: originOfRequest(request, needs.cameByTls) ?? SERVER,
      model: needs.exampleModel() ?? MODEL,
    }
    // The answer depends on who asks and at which address.
    reply.headers({ 'cache-control': 'private, no-cache', vary: 'authorization, cookie' })
    return reply.type('application/json; charset=utf-8').send(openApiText(needs.brand, audience, examples))
  })
  app.get('/docs', async (_request, reply) => {
    reply.headers({ 'content-security-policy': REFERENCE_CSP, 'cache-control': 'no-cache' })
    return reply.type('text/html; charset=utf-8').send(docsPage(await scriptIn(needs.referenceFolder)))
  })
  app.get('/docs/:file', (request, reply) => sendNamedFile(request, reply, needs.referenceFolder, FOR_A_YEAR))
}

// Undefined in a checkout that was never built.
async function scriptIn(folder: string): Promise<string | undefined> {
  const names = await readdir(folder).catch(() => [])
  return names.find(name => name.endsWith('.js'))
}

// The page at /docs: loads the reference and its document from this gateway, and nothing from other hosts. The style hides a menu
// that leads to chat assistants elsewhere.
export function docsPage(script: string | undefined): string {
  const body =
    script === undefined
      ? '<p>The reference is not built here: <code>npm run build</code> builds it. The same as OpenAPI 3.1: <a href="/openapi.json">/openapi.json</a>.</p>'
      : `<noscript>This reference needs JavaScript. The same as OpenAPI 3.1: <a href="/openapi.json">/openapi.json</a>.</noscript>
<div id="reference"></div>
<script type="module" src="/docs/${script}"></script>`
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<link rel="icon" href="data:,">
<title>Turnpike API</title>
<style>[data-testid="page-actions"] { display: none }</style>
</head>
<body>
${body}
</body>
</html>
`
}
