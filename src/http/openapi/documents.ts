// The API described: the OpenAPI document, made from the schemas that validate, and a page that shows it offline.
import type { FastifyInstance } from 'fastify'
import { PLAIN_PAGE_CSP } from '../security-headers.ts'
import type { Brand } from './document.ts'

export function documents(app: FastifyInstance, brand: Brand): void {
  app.get('/openapi.json', async (_request, reply) => {
    const { openApiText } = await import('./openapi.ts')
    return reply.type('application/json; charset=utf-8').send(openApiText(brand))
  })
  app.get('/docs', async (_request, reply) => {
    const { docsPage } = await import('./docs-page.ts')
    reply.header('content-security-policy', PLAIN_PAGE_CSP)
    return reply.type('text/html; charset=utf-8').send(docsPage(brand))
  })
}
