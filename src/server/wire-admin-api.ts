// Wires the admin API: operations on keys and accounts, reports, authentication, and readiness.
import { randomBytes } from 'node:crypto'
import { accountMethods } from '../admin/accounts.ts'
import { eventMethods } from '../admin/events.ts'
import { keyMethods } from '../admin/keys.ts'
import { nodeMethods } from '../admin/nodes.ts'
import { operatorMethods } from '../admin/operators.ts'
import { reportMethods } from '../admin/reports.ts'
import { sessionMethods, sessionsOf } from '../admin/sessions.ts'
import { type SettingsMethod, settingsMethod } from '../admin/settings.ts'
import type { Config } from '../config/config.ts'
import type { AdminNeeds } from '../http/admin/admin-api.ts'
import { addressOfRequest, tlsOfRequest } from '../http/client-ip.ts'
import { version } from '../lib/version.ts'
import { type FirstStart, firstStart } from './bootstrap.ts'
import type { ServerContext } from './context.ts'
import type { Drain } from './drain.ts'
import type { OpenedStore } from './open-store.ts'
import { catalogMethods } from './wire-catalog-api.ts'
import type { V1 } from './wire-chat-api.ts'

export type Operator = {
  readonly admin: AdminNeeds
  // The reason why not, or undefined.
  ready(): Promise<string | undefined>
  exampleModel(): string | undefined
  // First-start secrets are created once the address is bound: a failed start leaves nothing whose secret nobody has seen.
  begin(): Promise<FirstStart>
}

export function openOperator(
  { store, catalog, catalogService }: OpenedStore,
  v1: V1,
  drain: Drain,
  context: ServerContext,
): Operator {
  const { config, clock, newId } = context
  const { forget, onKeyChanged, forgetAccounts, abortStreams } = v1.changed
  let begun: FirstStart | undefined
  const accounts = accountMethods({ accounts: store.accounts, newId, forgetAccount: forgetAccounts })
  const keys = keyMethods({
    keys: store.keys,
    clock,
    brand: config.brand,
    defaults: config.defaults,
    defaultAccountId: () => begun?.accountId,
    newId,
    randomBytes,
    forget,
    onKeyChanged,
    abortStreams,
  })
  const { sessionsPerOperatorMax } = config.bounds
  const sessions = sessionMethods({ sessions: store.sessions, sessionsPerOperatorMax, newId, randomBytes })

  return {
    admin: {
      clock,
      hasBegun: () => begun !== undefined,
      operatorsOf: store.operators.bearers,
      sessionsOf: sessionsOf(store.sessions),
      touchSession: store.sessions.touch,
      addressOf: addressOfRequest(context.trustedProxies),
      cameByTls: tlsOfRequest(context.trustedProxies),
      keys,
      accounts,
      reports: reportMethods({ usage: store.usage, clock }),
      nodes: nodeMethods(store),
      events: eventMethods(store),
      operators: operatorMethods({
        operators: store.operators,
        operatorsMax: config.bounds.operatorsMax,
        newId,
        randomBytes,
      }),
      sessions,
      settings: settingsOf(config, v1.redis),
      catalog: catalogMethods({ catalog: store.catalog, catalogService, config, healthOf: v1.healthOf, newId, clock }),
      jsonDepthMax: config.bounds.jsonDepthMax,
      onBug: context.onBug,
    },
    async ready() {
      if (begun === undefined) return 'starting'
      if (drain.closing()) return 'draining'
      if (catalog.current().models.length === 0) return 'no active model'
      return store.ping().then(
        () => undefined,
        () => 'database unavailable',
      )
    },
    exampleModel: () => catalog.current().models[0]?.id,
    async begin() {
      const first = await firstStart(config, { store, accounts, keys, newId })
      await store.operators.setRoot(first.adminTokenHash.toString('hex'))
      begun = first
      return first
    },
  }
}

function settingsOf(config: Config, redis: V1['redis']): SettingsMethod {
  const { adminListen } = config
  return settingsMethod({
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
