// Wires the operator's side: verbs on keys and accounts, reports, who may call them, and whether the gateway is ready.
import { randomBytes } from 'node:crypto'
import { accountVerbs } from './admin/accounts.ts'
import { keyVerbs } from './admin/keys.ts'
import { nodeVerbs } from './admin/nodes.ts'
import { reportVerbs } from './admin/reports.ts'
import type { Drain } from './drain.ts'
import { type FirstStart, firstStart } from './first-start.ts'
import type { AdminNeeds } from './http/admin/admin-api.ts'
import { addressOfRequest } from './http/peer.ts'
import { catalogVerbs } from './main-catalog-verbs.ts'
import type { Ground } from './main-ground.ts'
import type { House } from './main-store.ts'
import type { V1 } from './main-v1.ts'

export type Operator = {
  readonly admin: AdminNeeds
  // Why not, or undefined.
  ready(): Promise<string | undefined>
  // What a first start makes is made once the address is ours: a start that fails leaves nothing whose secret nobody saw.
  begin(): Promise<FirstStart>
}

export function openOperator({ store, catalog, keeper }: House, v1: V1, drain: Drain, ground: Ground): Operator {
  const { config, clock, newId } = ground
  const { forget, forgetAccounts, abortStreams } = v1.changed
  // The listener is open before the admin token is known; until then nobody bears it.
  const nobody = randomBytes(32)
  let begun: FirstStart | undefined
  const accounts = accountVerbs({ accounts: store.accounts, newId, forgetAccount: forgetAccounts })
  const keys = keyVerbs({
    keys: store.keys,
    clock,
    brand: config.brand,
    defaults: config.defaults,
    defaultAccountId: () => begun?.accountId,
    newId,
    randomBytes,
    forget,
    abortStreams,
  })

  return {
    admin: {
      clock,
      adminTokenHash: () => begun?.adminTokenHash ?? nobody,
      addressOf: addressOfRequest(ground.trustedProxies),
      keys,
      accounts,
      reports: reportVerbs(store),
      nodes: nodeVerbs(store),
      catalog: catalogVerbs({ catalog: store.catalog, keeper, config, healthOf: v1.healthOf, newId, clock }),
      jsonDepthMax: config.bounds.jsonDepthMax,
      onBug: ground.onBug,
    },
    async ready() {
      if (begun === undefined) return 'starting'
      if (drain.closing()) return 'draining'
      if (catalog.current().models.length === 0) return 'no model is active'
      return store.ping().then(
        () => undefined,
        () => 'the store does not answer',
      )
    },
    async begin() {
      begun = await firstStart(config, { store, accounts, keys, newId })
      return begun
    },
  }
}
