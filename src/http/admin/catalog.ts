// The endpoints of the catalog: providers, their credentials and health, models, the price list and the configuration file.
import type { FastifyInstance } from 'fastify'
import type { ApplyMethod } from '../../admin/catalog-apply.ts'
import type { ImportMethod } from '../../admin/catalog-import.ts'
import type { ModelMethods } from '../../admin/catalog-models.ts'
import type { ProviderMethods } from '../../admin/catalog-providers.ts'
import type { RepriceMethod } from '../../admin/catalog-reprice.ts'
import type { TargetMethods } from '../../admin/catalog-targets.ts'
import { ifMatchOf, pageOf, serve } from './endpoint.ts'
import type { Guard } from './guard.ts'
import { ADMIN } from './schemas.ts'

export type CatalogMethods = {
  readonly providers: ProviderMethods
  readonly targets: TargetMethods
  readonly models: ModelMethods
  readonly importModels: ImportMethod
  readonly repriceModels: RepriceMethod
  readonly apply: ApplyMethod
}

type Needs = { readonly guard: Guard; readonly catalog: CatalogMethods }

export function catalogEndpoints(app: FastifyInstance, needs: Needs): void {
  const { apply } = needs.catalog
  providerEndpoints(app, needs)
  modelEndpoints(app, needs)
  serve(app, ADMIN.applyCatalog, ({ body, actor }) => apply(body.dry_run === true, actor), needs)
}

function providerEndpoints(app: FastifyInstance, needs: Needs): void {
  const { providers } = needs.catalog
  serve(app, ADMIN.createProvider, ({ body, actor }) => providers.create(body, actor), needs)
  serve(app, ADMIN.listProviders, ({ query }) => providers.list(pageOf(query)), needs)
  serve(app, ADMIN.getProvider, ({ params }) => providers.get(params.id ?? ''), needs)
  serve(
    app,
    ADMIN.updateProvider,
    ({ params, body, actor, request }) => providers.update(params.id ?? '', body, ifMatchOf(request), actor),
    needs,
  )
  serve(
    app,
    ADMIN.deleteProvider,
    ({ params, actor, request }) => providers.delete(params.id ?? '', ifMatchOf(request), actor),
    needs,
  )
  serve(
    app,
    ADMIN.addCredential,
    ({ params, body, actor, request }) =>
      providers.addCredential(params.id ?? '', body.api_key, ifMatchOf(request), actor),
    needs,
  )
  serve(
    app,
    ADMIN.removeCredential,
    ({ params, actor }) => providers.removeCredential(params.id ?? '', params.credential_id ?? '', actor),
    needs,
  )
  const { targets } = needs.catalog
  serve(app, ADMIN.getProviderHealth, ({ params }) => targets.health(params.id ?? ''), needs)
  serve(app, ADMIN.setTarget, ({ params, body, actor }) => targets.setTarget(params.id ?? '', body, actor), needs)
  serve(app, ADMIN.testTarget, ({ params, body, actor }) => targets.testTarget(params.id ?? '', body, actor), needs)
}

function modelEndpoints(app: FastifyInstance, needs: Needs): void {
  const { models, importModels, repriceModels } = needs.catalog
  serve(app, ADMIN.createModel, ({ body, actor }) => models.create(body, actor), needs)
  serve(app, ADMIN.importModels, ({ body, actor }) => importModels(body, actor), needs)
  serve(app, ADMIN.repriceModels, ({ body, actor }) => repriceModels(body, actor), needs)
  serve(app, ADMIN.listModels, ({ query }) => models.list(pageOf(query)), needs)
  serve(app, ADMIN.getModel, ({ params }) => models.get(params.id ?? ''), needs)
  serve(
    app,
    ADMIN.updateModel,
    ({ params, body, actor, request }) => models.update(params.id ?? '', body, ifMatchOf(request), actor),
    needs,
  )
  serve(
    app,
    ADMIN.deleteModel,
    ({ params, actor, request }) => models.delete(params.id ?? '', ifMatchOf(request), actor),
    needs,
  )
}
