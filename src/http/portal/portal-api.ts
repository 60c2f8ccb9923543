// The customer portal's API: its endpoints behind the session of an account. Handlers get nothing but the scope of that account.
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { type AccountScope, accountScope, type ScopeNeeds } from '../../portal/account-scope.ts'
import { type PortalSummary, type PortalUsage, SUMMARY_FIELDS, USAGE_FIELDS } from '../../portal/objects.ts'
import { ownPortalSession, type PortalSessionMethods } from '../../portal/sessions.ts'
import type { OnBug } from '../admin/answers.ts'
import { type Ask, pageOf, serve } from '../admin/endpoint.ts'
import { type Endpoint, PORTAL_PREFIX } from '../admin/endpoint-table.ts'
import { accessOf } from '../admin/guard.ts'
import { csvHeader, csvHeaders, csvLine, isCsv, sendCsv, usageCsv } from '../csv.ts'
import { jsonApi } from '../json-api.ts'
import { clearPortalCookie, type PortalGuard, type PortalGuardNeeds, portalGuard } from './guard.ts'
import { PORTAL, PORTAL_ENDPOINTS } from './schemas.ts'

export type PortalNeeds = PortalGuardNeeds & {
  readonly sessions: PortalSessionMethods
  readonly scope: ScopeNeeds
  readonly brand: PortalBrand
  // Where customers reach the API.
  originOf(request: FastifyRequest): string
  cameByTls(request: FastifyRequest): boolean
  exampleModel(): string | undefined
  hasBegun(): boolean
  readonly jsonDepthMax: number
  readonly onBug: OnBug
}

export type PortalBrand = { readonly name: string; readonly logo: string | null; readonly color: string | null }

export function portalApi(app: FastifyInstance, needs: PortalNeeds): void {
  const guard = portalGuard(needs)
  const api = {
    ...needs,
    prefix: PORTAL_PREFIX,
    endpoints: PORTAL_ENDPOINTS,
    async check(request: FastifyRequest) {
      if (accessOf(request) !== 'open') await guard.check(request)
    },
  }
  jsonApi(app, api, inside => {
    const { name, logo, color } = needs.brand
    serve(inside, PORTAL.getBrand, async () => ({ object: 'portal_brand', name, logo, color }), { guard })
    serve(
      inside,
      PORTAL.getSession,
      async ({ request }) => {
        const { session, secret } = guard.whoOf(request)
        const base_url = `${needs.originOf(request)}/v1`
        return { ...ownPortalSession(session, secret), base_url, example_model: needs.exampleModel() ?? null }
      },
      { guard },
    )
    serve(
      inside,
      PORTAL.endSession,
      async ({ request, reply, actor }) => {
        const { session } = guard.whoOf(request)
        await needs.sessions.end(session.account.id, session.id, actor)
        clearPortalCookie(reply, needs.cameByTls(request))
      },
      { guard },
    )
    scopedEndpoints(guard, (endpoint, handle) =>
      serve(
        inside,
        endpoint,
        ask => handle(ask, accountScope(guard.whoOf(ask.request).session.account.id, needs.scope)),
        { guard },
      ),
    )
  })
}

type ServeScoped = <E extends Endpoint>(
  endpoint: E,
  handle: (ask: Ask<E>, scope: AccountScope) => Promise<unknown>,
) => void

function scopedEndpoints(guard: PortalGuard, on: ServeScoped): void {
  on(PORTAL.getAccount, (_ask, scope) => scope.account())
  on(PORTAL.listKeys, ({ query: { limit, after, q, status } }, scope) => {
    const search = q === undefined ? {} : { q: q.toWellFormed() }
    return scope.keys({ ...search, ...(status === undefined ? {} : { status }) }, pageOf({ limit, after }))
  })
  on(PORTAL.createKey, ({ body, actor }, scope) => scope.createKey(body, actor))
  on(PORTAL.getKey, ({ params }, scope) => scope.key(params.id ?? ''))
  on(PORTAL.rotateKey, ({ params, actor }, scope) => scope.rotateKey(params.id ?? '', actor))
  on(PORTAL.endGrace, ({ params, body, actor }, scope) => scope.endGrace(params.id ?? '', body.last4, actor))
  on(PORTAL.revokeKey, ({ params, body, actor }, scope) =>
    scope.revokeKey(params.id ?? '', body.abort_streams === true, actor),
  )
  on(PORTAL.listUsage, async ({ query: { limit, after, format, ...filter }, request, reply }, scope) => {
    reply.header('vary', 'Accept')
    if (!isCsv(format, request.headers.accept)) return scope.usage(filter, pageOf({ limit, after }))
    return sendCsv(reply, usageCsv(USAGE_CSV), { limit, after, guard }, page => scope.usage(filter, page))
  })
  on(PORTAL.summariseUsage, async ({ query: { group_by, format, ...filter }, request, reply }, scope) => {
    reply.header('vary', 'Accept')
    const summary = await scope.summary(filter, group_by)
    if (!isCsv(format, request.headers.accept)) return summary
    csvHeaders(reply, 'usage-summary')
    return csvHeader(SUMMARY_CSV) + summary.data.map(row => csvLine(SUMMARY_CSV, row)).join('')
  })
  on(PORTAL.getUsage, ({ params }, scope) => scope.usageOf(params.request_id ?? ''))
}

const USAGE_CSV: readonly (keyof PortalUsage)[] = [...USAGE_FIELDS, 'reason']
const SUMMARY_CSV: readonly (keyof PortalSummary)[] = SUMMARY_FIELDS.filter(name => name !== 'object')
