// Wires the admin API: operations on keys and accounts, reports, authentication, and readiness.
import { randomBytes } from 'node:crypto'
import { accountVerbs } from '../admin/accounts.ts'
import { eventVerbs } from '../admin/events.ts'
import { keyVerbs } from '../admin/keys.ts'
import { nodeVerbs } from '../admin/nodes.ts'
import { operatorVerbs } from '../admin/operators.ts'
import { reportVerbs } from '../admin/reports.ts'
import { sessionsOf, sessionVerbs } from '../admin/sessions.ts'
import { type SettingsVerb, settingsVerb } from '../admin/settings.ts'
import type { Config } from '../config/config.ts'
import type { AdminNeeds } from '../http/admin/admin-api.ts'
import { addressOfRequest, tlsOfRequest } from '../http/client-ip.ts'
import { version } from '../lib/version.ts'
import { type FirstStart, firstStart } from './bootstrap.ts'
import type { Ground } from './context.ts'
import type { Drain } from './drain.ts'
import type { House } from './open-store.ts'
import { catalogVerbs } from './wire-catalog-api.ts'
import type { V1 } from './wire-chat-api.ts'

export type Operator = {
  readonly admin: AdminNeeds
  // The reason why not, or undefined.
  ready(): Promise<string | undefined>
  // First-start secrets are created once the address is bound: a failed start leaves nothing whose secret nobody has seen.
  begin(): Promise<FirstStart>
}

export function openOperator({ store, catalog, keeper }: House, v1: V1, drain: Drain, ground: Ground): Operator {
  const { config, clock, newId } = ground
  const { forget, relimit, forgetAccounts, abortStreams } = v1.changed
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
    relimit,
    abortStreams,
  })
  const { sessionsPerOperatorMax } = config.bounds
  const sessions = sessionVerbs({ sessions: store.sessions, sessionsPerOperatorMax, newId, randomBytes })

  return {
    admin: {
      clock,
      hasBegun: () => begun !== undefined,
      operatorsOf: store.operators.bearers,
      sessionsOf: sessionsOf(store.sessions),
      touchSession: store.sessions.touch,
      addressOf: addressOfRequest(ground.trustedProxies),
      cameByTls: tlsOfRequest(ground.trustedProxies),
      keys,
      accounts,
      reports: reportVerbs({ usage: store.usage, clock }),
      nodes: nodeVerbs(store),
      events: eventVerbs(store),
      operators: operatorVerbs({
        operators: store.operators,
        operatorsMax: config.bounds.operatorsMax,
        newId,
        randomBytes,
      }),
      sessions,
      settings: settingsOf(config, v1.redis),
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
      const first = await firstStart(config, { store, accounts, keys, newId })
      await store.operators.setRoot(first.adminTokenHash.toString('hex'))
      begun = first
      return first
    },
  }
}

function settingsOf(config: Config, redis: V1['redis']): SettingsVerb {
  const { adminListen } = config
  return settingsVerb({
    version: version(),
    engine: config.databaseUrl === undefined ? 'sqlite' : 'postgres',
    redis,
    brand: { key_prefix: config.brand.keyPrefix, header_prefix: config.brand.headerPrefix },
    defaults: config.defaults,
    usage_retention_days: config.usageRetentionDays ?? null,
    trusted_proxies: config.trustedProxies,
    cors_origins: config.corsOrigins,
    admin_listen: typeof adminListen === 'object' ? `${adminListen.host}:${adminListen.port}` : null,
    config_file: config.configFile ?? null,
    explain: config.explain,
    allow_private_upstreams: config.allowPrivateUpstreams,
  })
}
