// Wires the customer portal: sessions of accounts, and the scope in which each of them works.
import { randomBytes } from 'node:crypto'
import type { AccountMethods } from '../admin/accounts.ts'
import type { KeyMethods } from '../admin/keys.ts'
import type { ReportMethods } from '../admin/reports.ts'
import type { PortalLinks } from '../http/admin/portal-sessions.ts'
import { addressOfRequest, tlsOfRequest } from '../http/client-ip.ts'
import type { PortalNeeds } from '../http/portal/portal-api.ts'
import { originOfRequest } from '../http/request-origin.ts'
import { fairQueue } from '../lib/fair-queue.ts'
import { newPortalKey } from '../portal/new-key.ts'
import { portalSessionMethods } from '../portal/sessions.ts'
import type { Store } from '../store/contract/store.ts'
import type { ServerContext } from './context.ts'

type Methods = {
  readonly accounts: AccountMethods
  readonly keys: KeyMethods
  readonly reports: ReportMethods
  exampleModel(): string | undefined
  hasBegun(): boolean
}

// Undefined: switched off.
export function openPortal(
  store: Store,
  methods: Methods,
  context: ServerContext,
): (PortalNeeds & PortalLinks) | undefined {
  const { config, clock, newId } = context
  const { bounds, portal: brand } = config
  if (brand === undefined) return undefined
  const cameByTls = tlsOfRequest(context.trustedProxies)
  const ownOrigin = `http://${config.host.includes(':') ? `[${config.host}]` : config.host}:${config.port}`
  const isSecure = brand.url?.startsWith('https:') === true
  const needs: PortalNeeds & PortalLinks = {
    clock,
    brand,
    // The links say so, even where the proxy that ends TLS is not listed as trusted.
    cameByTls: request => isSecure || cameByTls(request),
    addressOf: addressOfRequest(context.trustedProxies),
    originOf: request => brand.url ?? originOfRequest(request, cameByTls) ?? ownOrigin,
    // Customers do not reach a separate listener for operators.
    linkOriginOf: request => (config.adminListen === undefined ? needs.originOf(request) : (brand.url ?? ownOrigin)),
    sessions: portalSessionMethods({ portal: store.portal, ...bounds, newId, randomBytes }),
    portalChangesPerMinute: bounds.portalChangesPerMinute,
    scope: {
      ...methods,
      createKey: newPortalKey({
        keys: store.keys,
        accounts: store.accounts,
        clock,
        brand: config.brand,
        defaults: config.defaults,
        newId,
        randomBytes,
      }),
      reading: fairQueue({
        concurrent: bounds.usageListsAtOnceMax,
        waitingMax: bounds.usageListsWaitingMax,
        waitingPerOwnerMax: bounds.portalReportsWaitingMax,
      }),
    },
    exampleModel: methods.exampleModel,
    hasBegun: methods.hasBegun,
    jsonDepthMax: bounds.jsonDepthMax,
    onBug: context.onBug,
  }
  return needs
}
