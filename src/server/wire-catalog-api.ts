// Wires the admin operations on the catalog: how documents are read, encryption, and the rules for upstream addresses.

import { applyMethod } from '../admin/catalog-apply.ts'
import { importMethod } from '../admin/catalog-import.ts'
import type { CatalogNeeds, CatalogReader } from '../admin/catalog-input.ts'
import { modelMethods } from '../admin/catalog-models.ts'
import { providerMethods } from '../admin/catalog-providers.ts'
import type { ProviderHealth } from '../admin/catalog-wire.ts'
import { refusalOfFault } from '../admin/input.ts'
import { InvalidDocument, readModel, readProvider } from '../catalog/document.ts'
import { type CatalogService, requirePackages } from '../catalog/service.ts'
import { BadConfig } from '../config/bad-config.ts'
import type { Config } from '../config/config.ts'
import { Refusal } from '../domain/refusal.ts'
import type { CatalogMethods } from '../http/admin/catalog.ts'
import type { Clock } from '../lib/clock.ts'
import { hostOf, NotPublic, requirePublic } from '../lib/egress.ts'
import type { CatalogStore } from '../store/contract/catalog.ts'

export type CatalogMethodNeeds = {
  readonly catalog: CatalogStore
  readonly catalogService: Omit<CatalogService, 'live' | 'revision'>
  readonly config: Pick<Config, 'allowPrivateUpstreams' | 'bounds'>
  healthOf(providerId: string): ProviderHealth
  newId(): string
  readonly clock: Clock
}

export function catalogMethods({
  catalog,
  catalogService,
  config,
  healthOf,
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
    models: modelMethods(needs),
    importModels: importMethod({ ...needs, clock }),
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

async function checkAddress(url: string, param: string): Promise<void> {
  const host = hostOf(new URL(url))
  try {
    await requirePublic(host)
  } catch (error) {
    const why = error instanceof NotPublic ? 'is not a public address' : 'cannot be resolved'
    const way = 'declare the provider in the configuration file, or set allow_private_upstreams'
    throw new Refusal('invalid_value', { param, message: `${param}: ${host} ${why}; ${way}.` })
  }
}
