// GET /v1/models and /v1/models/{id}: the active models with their prices.
import { hash as digest } from 'node:crypto'
import type { EndpointRule } from '../../admit/authorize.ts'
import { type Model, modelNotFound } from '../../domain/catalog.ts'
import { formatPrice } from '../../domain/credits.ts'
import {
  below,
  exactly,
  type UnbilledHandler,
  type UnbilledNeeds,
  unbilledEndpoint,
  type V1Endpoint,
} from './endpoint.ts'

export type ModelsNeeds = UnbilledNeeds & {
  readonly catalog: () => { readonly models: readonly Model[]; model(name: string): Model | undefined }
}

const rule: EndpointRule = { endpoint: 'models', method: 'GET', scope: 'models.read', evenIfSuspended: false }

export function listModels(needs: ModelsNeeds): V1Endpoint {
  const work: UnbilledHandler = async ctx => {
    const body = { object: 'list', data: needs.catalog().models.map(modelEntry) }
    const etag = `"${digest('sha256', JSON.stringify(body)).slice(0, 32)}"`
    return {
      status: knows(ctx.req.headers['if-none-match'], etag) ? 304 : 200,
      headers: ['ETag', etag, 'Cache-Control', 'private, no-cache'],
      body: () => body,
    }
  }
  return unbilledEndpoint(rule, exactly('/v1/models'), work, needs)
}

export function oneModel(needs: ModelsNeeds): V1Endpoint {
  const work: UnbilledHandler = async (_it, _pass, id) => {
    const model = needs.catalog().model(id)
    if (model === undefined) throw modelNotFound(id)
    return { status: 200, body: () => modelEntry(model) }
  }
  return unbilledEndpoint(rule, below('/v1/models/'), work, needs)
}

// If-None-Match compares weakly, and `*` matches anything.
function knows(tags: string | undefined, etag: string): boolean {
  return (tags ?? '').split(',').some(tag => tag.trim() === '*' || tag.trim().replace(/^W\//, '') === etag)
}

export function modelEntry(model: Model) {
  return {
    id: model.id,
    object: 'model',
    created: Math.floor(model.createdAt / 1000),
    owned_by: model.ownedBy,
    name: model.name,
    description: model.description,
    context_length: model.contextLength,
    max_output_tokens: model.maxOutputTokens,
    architecture: { input_modalities: model.inputModalities, output_modalities: ['text'] },
    pricing: {
      currency: 'credits',
      unit: 'token',
      prompt: formatPrice(model.prices.prompt),
      completion: formatPrice(model.prices.completion),
      input_cache_read: formatPrice(model.prices.cacheRead),
      input_cache_write: formatPrice(model.prices.cacheWrite),
      request: formatPrice(model.prices.request),
    },
    price_version: model.priceVersion,
    supported_parameters: model.supportedParameters,
    providers: [...new Set(model.targets.map(target => target.provider))],
    status: 'active',
  }
}
