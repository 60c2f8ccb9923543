// Wires the admin API: operations on keys, accounts and the catalog, reports, authentication, and readiness.
import { randomBytes } from 'node:crypto'
import { accountMethods } from '../admin/accounts.ts'
import { applyMethod } from '../admin/catalog-apply.ts'
import { importMethod } from '../admin/catalog-import.ts'
import type { CatalogNeeds, CatalogReader } from '../admin/catalog-input.ts'
import { modelMethods } from '../admin/catalog-models.ts'
import { providerMethods } from '../admin/catalog-providers.ts'
import { repriceMethod } from '../admin/catalog-reprice.ts'
import { type TargetNeeds, targetMethods } from '../admin/catalog-targets.ts'
import type { ProviderHealth } from '../admin/catalog-wire.ts'
import { eventMethods } from '../admin/events.ts'
import { refusalOfFault } from '../admin/input.ts'
import { keyMethods } from '../admin/keys.ts'
import { nodeMethods } from '../admin/nodes.ts'
import { operatorMethods } from '../admin/operators.ts'
import { playgroundMethod } from '../admin/playground.ts'
import { reportMethods, type Standing } from '../admin/reports.ts'
import { searchMethod } from '../admin/search.ts'
import { sessionMethods, sessionsOf } from '../admin/sessions.ts'
import { type SettingsFacts, type SettingsMethod, settingsMethod } from '../admin/settings.ts'
import { webhookMethods } from '../admin/webhooks.ts'
import { InvalidDocument, readModel, readProvider } from '../catalog/document.ts'
import { type CatalogService, requirePackages } from '../catalog/service.ts'
import { BadConfig } from '../config/bad-config.ts'
import type { Config } from '../config/config.ts'
import { Refusal } from '../domain/refusal.ts'
import type { AdminNeeds } from '../http/admin/admin-api.ts'
import type { CatalogMethods } from '../http/admin/catalog.ts'
import { addressOfRequest, tlsOfRequest } from '../http/client-ip.ts'
import type { PortalNeeds } from '../http/portal/portal-api.ts'
import type { Clock } from '../lib/clock.ts'
import { hostOf, NotPublic, requirePublic } from '../lib/egress.ts'
import { refreshed } from '../lib/refreshed.ts'
import { version } from '../lib/version.ts'
import type { CatalogStore } from '../store/contract/catalog.ts'
import { StoreUnavailable } from '../store/contract/store.ts'
import { newWebhookSecret } from '../webhooks/signature.ts'
import { type FirstStart, firstStart } from './bootstrap.ts'
import type { ServerContext } from './context.ts'
import type { Drain } from './drain.ts'
import type { OpenedStore } from './open-store.ts'
import { openUpdateCheck } from './open-update-check.ts'
import type { OpenedWebhooks } from './open-webhooks.ts'
import type { V1 } from './wire-chat-api.ts'
import { openPortal } from './wire-portal.ts'

export type Operator = {
  readonly admin: AdminNeeds
  readonly portal: PortalNeeds | undefined
  // The reason why not, or undefined.
  ready(): Promise<string | undefined>
  exampleModel(): string | undefined
  // First-start secrets are created once the address is bound: a failed start leaves nothing whose secret nobody has seen.
  begin(): Promise<FirstStart>
}

export function openOperator(
  { store, catalog, catalogService }: OpenedStore,
  { v1, webhooks }: { readonly v1: V1; readonly webhooks: OpenedWebhooks },
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

  const { reportRowsMax } = config.bounds
  const reports = reportMethods({ usage: store.usage, clock, standing: standingOf(store, v1, context), reportRowsMax })
  const hasBegun = () => begun !== undefined
  const exampleModel = () => catalog.current().models[0]?.id
  const portal = openPortal(store, { accounts, keys, reports, exampleModel, hasBegun }, context)

  return {
    portal,
    admin: {
      clock,
      hasBegun,
      portal,
      operatorsOf: store.operators.bearers,
      sessionsOf: sessionsOf(store.sessions),
      touchSession: store.sessions.touch,
      addressOf: addressOfRequest(context.trustedProxies),
      cameByTls: tlsOfRequest(context.trustedProxies),
      keys,
      playgroundKey: playgroundMethod({ keys, clock }),
      accounts,
      reports,
      nodes: nodeMethods(store),
      search: searchMethod({ finder: store.finder, usage: store.usage, models: () => catalog.current().models }),
      webhooks: webhookMethods({
        webhooks: store.webhooks,
        webhooksMax: config.bounds.webhooksMax,
        newId,
        newSecret: () => newWebhookSecret(randomBytes),
        encrypt: webhooks.encrypt,
        checkAddress: config.webhooksAllowPrivate ? async () => undefined : checkWebhook,
        sendSample: webhooks.sendSample,
        wake: webhooks.wake,
      }),
      events: eventMethods(store),
      operators: operatorMethods({
        operators: store.operators,
        operatorsMax: config.bounds.operatorsMax,
        newId,
        randomBytes,
      }),
      sessions,
      settings: settingsOf(config, {
        redis: v1.redis,
        creditsPerUsd: catalogService.creditsPerUsd,
        updateCheck: openUpdateCheck(context),
      }),
      catalog: catalogMethods({
        catalog: store.catalog,
        catalogService,
        config,
        healthOf: v1.healthOf,
        test: v1.testTarget,
        newId,
        clock,
      }),
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
    exampleModel,
    async begin() {
      const first = await firstStart(config, { store, accounts, keys, newId })
      await store.operators.setRoot(first.adminTokenHash.toString('hex'))
      begun = first
      return first
    },
  }
}

// Limits and webhooks are read at most once in a few seconds, however many dashboards are open.
function standingOf(
  { gauges, webhooks }: OpenedStore['store'],
  v1: V1,
  { config, clock, onBug }: ServerContext,
): Standing {
  const { bounds } = config
  const others = refreshed({
    async read() {
      const nearLimits = await gauges.nearLimits(bounds.attentionLimitsMax)
      const { data } = await webhooks.list({ limit: bounds.webhooksMax })
      return { nearLimits, webhooks: data }
    },
    everyMs: bounds.attentionReadEveryMs,
    waitMsMax: bounds.gaugesWaitMsMax,
    keptMs: bounds.gaugesKeptMs,
    clock,
    // The overview reads from the same store and fails with it.
    onError: error => error instanceof StoreUnavailable || onBug(error),
  })
  return { targets: v1.health, others: async () => (await others.get()) ?? { nearLimits: [], webhooks: [] } }
}

function settingsOf(
  config: Config,
  current: Pick<SettingsFacts, 'redis' | 'creditsPerUsd' | 'updateCheck'>,
): SettingsMethod {
  const { adminListen } = config
  return settingsMethod({
    version: version(),
    engine: config.databaseUrl === undefined ? 'sqlite' : 'postgres',
    ...current,
    brand: { key_prefix: config.brand.keyPrefix, header_prefix: config.brand.headerPrefix },
    defaults: config.defaults,
    usage_retention_days: config.usageRetentionDays ?? null,
    trusted_proxies: config.trustedProxies,
    cors_origins: config.corsOrigins,
    admin_listen: typeof adminListen === 'object' ? `${adminListen.host}:${adminListen.port}` : null,
    config_file: config.configFile ?? null,
    explain: config.explain,
    show_upstream_cost: config.showUpstreamCost,
    allow_private_upstreams: config.allowPrivateUpstreams,
    portal: config.portal === undefined ? null : portalSettings(config.portal),
  })
}

const portalSettings = ({ url, name, color }: NonNullable<Config['portal']>) => ({ url, name, color })

// The admin operations on the catalog: how documents are read, encryption, and the rules for upstream addresses.
type CatalogMethodNeeds = {
  readonly catalog: CatalogStore
  readonly catalogService: Omit<CatalogService, 'live' | 'revision' | 'creditsPerUsd'>
  readonly config: Pick<Config, 'allowPrivateUpstreams' | 'bounds'>
  healthOf(providerId: string): ProviderHealth
  readonly test: TargetNeeds['test']
  newId(): string
  readonly clock: Clock
}

export function catalogMethods({
  catalog,
  catalogService,
  config,
  healthOf,
  test,
  newId,
  clock,
}: CatalogMethodNeeds): CatalogMethods {
  const reader: CatalogReader = {
    provider: document =>
      asRefusal(() => {
        const provider = readProvider(document)
        requirePackages([provider])
        return provider
      }),
    model: (document, providers, markup) =>
      asRefusal(() => {
        const exchange = catalogService.exchange()
        return readModel(document, {
          providers,
          exchange: markup === undefined ? exchange : { ...exchange, markup },
        })
      }),
  }
  const { providersMax, modelsMax } = config.bounds
  const needs: CatalogNeeds = { catalog, reader, newId, providersMax, modelsMax, refresh: catalogService.refresh }
  return {
    providers: providerMethods({
      ...needs,
      encryption: catalogService.encryption,
      credentialsMax: config.bounds.credentialsPerProviderMax,
      checkAddress: config.allowPrivateUpstreams ? async () => undefined : checkAddress,
      healthOf,
      declaredCredentials: catalogService.credentialsOf,
    }),
    targets: targetMethods({ ...needs, ...config.bounds, healthOf, test, clock }),
    models: modelMethods(needs),
    importModels: importMethod({ ...needs, clock }),
    repriceModels: repriceMethod(needs),
    apply: applyMethod({
      async apply(dryRun, actor) {
        try {
          return await catalogService.apply(dryRun, actor)
        } catch (error) {
          throw error instanceof BadConfig ? new Refusal('invalid_value', { message: error.message }) : error
        }
      },
    }),
  }
}

function asRefusal<T>(read: () => T): T {
  try {
    return read()
  } catch (error) {
    if (error instanceof InvalidDocument) throw refusalOfFault(error.fault)
    throw error instanceof BadConfig ? new Refusal('invalid_value', { message: `${error.message}.` }) : error
  }
}

const checkAddress = (url: string, param: string) =>
  checkPublic(url, param, 'declare the provider in the configuration file, or set allow_private_upstreams')
const checkWebhook = (url: string, param: string) =>
  checkPublic(url, param, 'to allow private addresses, set TURNPIKE_WEBHOOKS_ALLOW_PRIVATE=1')

async function checkPublic(url: string, param: string, way: string): Promise<void> {
  const host = hostOf(new URL(url))
  try {
    await requirePublic(host)
  } catch (error) {
    const why = error instanceof NotPublic ? 'is not a public address' : 'cannot be resolved'
    throw new Refusal('invalid_value', { param, message: `${param}: ${host} ${why}; ${way}.` })
  }
}
