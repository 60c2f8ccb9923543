// The admin API: its endpoints behind the authentication of operators.
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { AccountMethods } from '../../admin/accounts.ts'
import type { EventMethods } from '../../admin/events.ts'
import type { KeyMethods } from '../../admin/keys.ts'
import type { NodeMethods } from '../../admin/nodes.ts'
import type { PlaygroundMethod } from '../../admin/playground.ts'
import type { ReportMethods } from '../../admin/reports.ts'
import type { SearchMethod } from '../../admin/search.ts'
import type { WebhookMethods } from '../../admin/webhooks.ts'
import { jsonApi } from '../json-api.ts'
import { type AccessNeeds, accessEndpoints } from './access.ts'
import { accountEndpoints } from './accounts.ts'
import type { OnBug } from './answers.ts'
import type { CatalogMethods } from './catalog.ts'
import { catalogEndpoints } from './catalog.ts'
import { ADMIN_PREFIX } from './endpoint-table.ts'
import { eventEndpoints } from './events.ts'
import { accessOf, adminGuard, type GuardNeeds } from './guard.ts'
import { keyEndpoints } from './keys.ts'
import { nodeEndpoints } from './nodes.ts'
import { type PortalSessionNeeds, portalSessionEndpoints } from './portal-sessions.ts'
import { ADMIN_ENDPOINTS } from './schemas.ts'
import { searchEndpoints } from './search.ts'
import { usageEndpoints } from './usage.ts'
import { webhookEndpoints } from './webhooks.ts'

export type AdminNeeds = GuardNeeds &
  Omit<AccessNeeds, 'guard'> &
  Omit<PortalSessionNeeds, 'guard'> & {
    // The listener is open before the valid tokens are known.
    hasBegun(): boolean
    readonly keys: KeyMethods
    readonly playgroundKey: PlaygroundMethod
    readonly accounts: AccountMethods
    readonly reports: ReportMethods
    readonly events: EventMethods
    readonly nodes: NodeMethods
    readonly search: SearchMethod
    readonly webhooks: WebhookMethods
    readonly catalog: CatalogMethods
    readonly jsonDepthMax: number
    readonly onBug: OnBug
  }

export function adminApi(app: FastifyInstance, needs: AdminNeeds): void {
  const inside = { ...needs, guard: adminGuard(needs) }
  const api = {
    ...needs,
    prefix: ADMIN_PREFIX,
    endpoints: ADMIN_ENDPOINTS,
    async check(request: FastifyRequest) {
      if (accessOf(request) !== 'open') await inside.guard.check(request)
    },
  }
  jsonApi(app, api, scope => {
    keyEndpoints(scope, inside)
    accountEndpoints(scope, inside)
    catalogEndpoints(scope, inside)
    usageEndpoints(scope, inside)
    eventEndpoints(scope, inside)
    nodeEndpoints(scope, inside)
    searchEndpoints(scope, inside)
    webhookEndpoints(scope, inside)
    accessEndpoints(scope, inside)
    portalSessionEndpoints(scope, inside)
  })
}
