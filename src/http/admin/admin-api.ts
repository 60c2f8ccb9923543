// The admin API as one Fastify plugin: authentication first, then paths, then bodies, then the operation.
import type { FastifyInstance } from 'fastify'
import type { AccountMethods } from '../../admin/accounts.ts'
import type { EventMethods } from '../../admin/events.ts'
import type { KeyMethods } from '../../admin/keys.ts'
import type { NodeMethods } from '../../admin/nodes.ts'
import type { ReportMethods } from '../../admin/reports.ts'
import type { WebhookMethods } from '../../admin/webhooks.ts'
import { Refusal } from '../../domain/refusal.ts'
import { type AccessNeeds, accessEndpoints } from './access.ts'
import { accountEndpoints } from './accounts.ts'
import { nothingHere, type OnBug, refusalOfError, replyRefusal, takeJsonOnly } from './answers.ts'
import type { CatalogMethods } from './catalog.ts'
import { catalogEndpoints } from './catalog.ts'
import { ADMIN_PREFIX } from './endpoint-table.ts'
import { eventEndpoints } from './events.ts'
import { accessOf, adminGuard, type GuardNeeds } from './guard.ts'
import { keyEndpoints } from './keys.ts'
import { nodeEndpoints } from './nodes.ts'
import { usageEndpoints } from './usage.ts'
import { webhookEndpoints } from './webhooks.ts'

export type AdminNeeds = GuardNeeds &
  Omit<AccessNeeds, 'guard'> & {
    // The listener is open before the valid tokens are known.
    hasBegun(): boolean
    readonly keys: KeyMethods
    readonly accounts: AccountMethods
    readonly reports: ReportMethods
    readonly events: EventMethods
    readonly nodes: NodeMethods
    readonly webhooks: WebhookMethods
    readonly catalog: CatalogMethods
    readonly jsonDepthMax: number
    readonly onBug: OnBug
  }

// The server must make `request.id` a UUIDv7 (`genReqId`): it is sent as X-Request-Id.
export function adminApi(app: FastifyInstance, needs: AdminNeeds): void {
  app.register(
    async scope => {
      const inside = { ...needs, guard: adminGuard(needs) }
      scope.setErrorHandler((error, request, reply) =>
        replyRefusal(reply, refusalOfError(error, request, needs.onBug), request.id),
      )
      scope.setNotFoundHandler(async request => {
        throw nothingHere(request)
      })
      takeJsonOnly(scope, needs.jsonDepthMax)

      // Before any body is read. Answers may contain a secret, so no cache may store them.
      scope.addHook('onRequest', async (request, reply) => {
        reply.headers({
          'x-request-id': request.id,
          'cache-control': 'no-store',
        })
        if (!needs.hasBegun()) throw stillStarting()
        if (accessOf(request) !== 'open') await inside.guard.check(request)
        if (request.is404) throw nothingHere(request)
        if (request.headers['content-encoding'] !== undefined) throw new Refusal('unsupported_media_type')
      })
      scope.addHook('preParsing', async (request, reply) => {
        if (request.headers.expect !== undefined) reply.raw.writeContinue()
      })

      keyEndpoints(scope, inside)
      accountEndpoints(scope, inside)
      catalogEndpoints(scope, inside)
      usageEndpoints(scope, inside)
      eventEndpoints(scope, inside)
      nodeEndpoints(scope, inside)
      webhookEndpoints(scope, inside)
      accessEndpoints(scope, inside)
    },
    { prefix: ADMIN_PREFIX },
  )
}

// A caller with a valid token must not be told that it is wrong, nor must their address be counted.
function stillStarting(): Refusal {
  return new Refusal('service_unavailable', { retryAfter: 1, message: 'The gateway is still starting.' })
}
