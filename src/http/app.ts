// Everything outside /v1, as one Fastify application: operations, admin API, documents, dashboard. Errors have the standard
// shape.
import { type FastifyInstance, type FastifyRequest, fastify } from 'fastify'
import { errorBody, Refusal } from '../domain/refusal.ts'
import { parseAddress } from '../lib/ip-address.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import { type AdminNeeds, adminApi } from './admin/admin-api.ts'
import { hasLeft } from './admin/answers.ts'
import { adminGuard, bearsToken, sessionCookies, tokenHash } from './admin/guard.ts'
import type { Brand } from './openapi/document.ts'
import { documents } from './openapi/documents.ts'
import { portalPages } from './portal/pages.ts'
import { type PortalNeeds, portalApi } from './portal/portal-api.ts'
import { securityHeaders, sendSecurityHeaders } from './security-headers.ts'
import { assets, dashboard, isForPeople, sendNotFoundPage } from './static.ts'

export type AppNeeds = OperationsNeeds & {
  readonly newRequestId: () => string
  readonly admin: AdminNeeds
  // Undefined: switched off.
  readonly portal: PortalNeeds | undefined
  readonly brand: Brand
  // The folder of the dashboard's files, if it is built.
  readonly dashboardFolder: string
  // Where the script of the page at /docs is.
  readonly referenceFolder: string
  // A model that is served, for the examples of the API reference.
  readonly exampleModel: () => string | undefined
  readonly bodyBytesMax: number
  // While draining every response asks the caller to use a new connection.
  readonly closing: () => boolean
  readonly onBug: (error: unknown, requestId: string) => void
}

export type AppParts = { readonly admin: boolean; readonly portal: boolean }

// Probes, metrics and documents are on every listener. The admin API and the dashboard may be on another than the portal, which is for
// the callers of /v1.
export async function openApp(parts: AppParts, needs: AppNeeds): Promise<FastifyInstance> {
  const closing = () => (needs.closing() ? { connection: 'close' } : {})
  const app = fastify({
    genReqId: needs.newRequestId,
    requestIdHeader: false,
    // The admin API has its own not-found response.
    exposeHeadRoutes: true,
    return503OnClosing: false,
    bodyLimit: needs.bodyBytesMax,
    routerOptions: { maxParamLength: 512 },
    // Not a path, although the router matches it with every page.
    rewriteUrl: ({ url = '' }) => (url.startsWith('*') ? `/${url}` : url),
    // A path that cannot be decoded does not exist.
    frameworkErrors: (_error, request, { raw }) => {
      const refusal = new Refusal('not_found')
      raw.writeHead(refusal.status, {
        'content-type': 'application/json; charset=utf-8',
        'x-request-id': request.id,
        ...securityHeaders(request, needs.admin),
        ...closing(),
      })
      raw.end(JSON.stringify(errorBody(refusal, request.id)))
    },
  })
  app.addHook('onRequest', async (request, reply) => {
    reply.header('x-request-id', request.id)
    reply.headers(closing())
  })
  sendSecurityHeaders(app, needs.admin)
  app.setNotFoundHandler(async (request, reply) => {
    if (isForPeople(request)) return sendNotFoundPage(reply, parts.admin)
    // A client whose base URL lacks /v1.
    const detail = request.method === 'POST' ? { message: 'Unknown path. The API is under /v1.' } : {}
    return reply.code(404).send(errorBody(new Refusal('not_found', detail), request.id))
  })
  app.setErrorHandler(async (error, request, reply) => {
    const status = hasLeft(error, request) ? 400 : ((error as { statusCode?: number }).statusCode ?? 500)
    const refusal = new Refusal(status < 500 ? 'malformed_request' : 'internal_error')
    if (status >= 500) needs.onBug(error, request.id)
    return reply.code(refusal.status).send(errorBody(refusal, request.id))
  })
  operations(app, needs)
  sessionCookies(app)
  const { isOperator } = adminGuard(needs.admin)
  documents(app, {
    ...needs,
    cameByTls: needs.admin.cameByTls,
    isOperator: async request => parts.admin && needs.admin.hasBegun() && isOperator(request),
  })
  if (parts.admin) {
    adminApi(app, needs.admin)
    dashboard(app, needs.dashboardFolder)
  }
  if (parts.portal && needs.portal !== undefined) {
    portalApi(app, needs.portal)
    portalPages(app, needs.dashboardFolder, needs.portal)
  }
  if (parts.admin || parts.portal) assets(app, needs.dashboardFolder)
  await app.ready()
  return app
}

// Endpoints for operators and probes: health, readiness and metrics.
type OperationsNeeds = {
  readonly ready: () => Promise<string | undefined>
  readonly metrics: Metrics
  readonly metricsToken: string | undefined
}

function operations(app: FastifyInstance, needs: OperationsNeeds): void {
  app.get('/health', async () => ({ status: 'ok' }))
  app.get('/ready', async (_request, reply) => {
    const why = await needs.ready()
    if (why === undefined) return { status: 'ready' }
    return reply.code(503).header('retry-after', '1').send({ status: 'not_ready', reason: why })
  })
  app.get('/metrics', async (request, reply) => {
    if (!mayScrape(request, needs.metricsToken)) {
      const refusal = new Refusal('invalid_api_key', { message: 'Send the metrics token as "Authorization: Bearer".' })
      return reply.code(401).header('www-authenticate', 'Bearer').send(errorBody(refusal, request.id))
    }
    return reply.type(needs.metrics.contentType).send(await needs.metrics.text())
  })
}

// With the token, or from a loopback peer without a proxy.
function mayScrape(request: FastifyRequest, token: string | undefined): boolean {
  if (token !== undefined && bearsToken(request.headers.authorization, tokenHash(token))) return true
  const forwarded = Object.keys(request.headers).some(name => FORWARDING.test(name))
  return !forwarded && isLoopback(request.socket.remoteAddress)
}

const FORWARDING = /^(?:x-forwarded-.*|forwarded|via|x-real-ip|(?:x-|true-)client-ip|cf-connecting-ip)$/

function isLoopback(peer: string | undefined): boolean {
  const address = peer === undefined ? undefined : parseAddress(peer)
  return address !== undefined && (address.text === '::1' || (address.family === 4 && address.text.startsWith('127.')))
}
