// GET /v1/models and /v1/models/{id}: the active models with their prices; in Anthropic's shape for its clients, which name the
// version of its API.
import { hash as digest } from 'node:crypto'
import type { EndpointRule } from '../../admit/authorize.ts'
import { byCurrentKey } from '../../admit/reserve.ts'
import { isAllowed, modelNotAllowed } from '../../domain/allowed-models.ts'
import { type Model, modelNotFound, typeOf, writePrices } from '../../domain/catalog.ts'
import type { Pass } from '../../domain/handoff.ts'
import { isoSecond } from '../../domain/wire-time.ts'
import type { RequestContext } from '../response.ts'
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
  const work: UnbilledHandler = async (ctx, pass) => {
    const { allowedModels } = pass.caller.key
    const models = needs.catalog().models.filter(model => isAllowed(allowedModels, model))
    const body = isAnthropic(ctx) ? anthropicList(models) : { object: 'list', data: models.map(modelEntry) }
    const etag = `"${digest('sha256', JSON.stringify(body)).slice(0, 32)}"`
    return {
      status: knows(ctx.req.headers['if-none-match'], etag) ? 304 : 200,
      headers: ['ETag', etag, 'Cache-Control', 'private, no-cache', 'Vary', 'anthropic-version'],
      body: () => body,
    }
  }
  return unbilledEndpoint(rule, exactly('/v1/models'), work, needs)
}

export function oneModel(needs: ModelsNeeds): V1Endpoint {
  const work: UnbilledHandler = async (ctx, pass, id) => {
    const model = needs.catalog().model(id)
    if (model === undefined) throw modelNotFound(id)
    await byCurrentKey(() => requireAllowed(pass, model, id), pass, needs)
    const entry = isAnthropic(ctx) ? anthropicEntry : modelEntry
    return { status: 200, headers: ['Vary', 'anthropic-version'], body: () => entry(model) }
  }
  return unbilledEndpoint(rule, below('/v1/models/'), work, needs)
}

function requireAllowed(pass: Pass, model: Model, name: string): void {
  if (!isAllowed(pass.caller.key.allowedModels, model, name)) throw modelNotAllowed(name)
}

// If-None-Match compares weakly, and `*` matches anything.
function knows(tags: string | undefined, etag: string): boolean {
  return (tags ?? '').split(',').some(tag => tag.trim() === '*' || tag.trim().replace(/^W\//, '') === etag)
}

function isAnthropic(ctx: RequestContext): boolean {
  return ctx.req.headers['anthropic-version'] !== undefined
}

// All on one page.
function anthropicList(models: readonly Model[]) {
  const data = models.map(anthropicEntry)
  return { data, has_more: false, first_id: data[0]?.id ?? null, last_id: data.at(-1)?.id ?? null }
}

function anthropicEntry(model: Model) {
  return {
    type: 'model',
    id: model.id,
    display_name: model.name,
    created_at: isoSecond(model.createdAt),
    max_input_tokens: model.contextLength,
    max_tokens: model.maxOutputTokens,
    capabilities: null,
    lifecycle: 'active',
    line: null,
    deprecated_at: null,
    retires_at: null,
  }
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
    type: typeOf(model),
    max_output_tokens: model.maxOutputTokens,
    ...(model.embedding === undefined
      ? {}
      : { dimensions: model.embedding.dimensions, dimensions_min: model.embedding.dimensionsMin }),
    architecture: {
      input_modalities: model.inputModalities,
      output_modalities: model.embedding === undefined ? ['text'] : ['embeddings'],
    },
    pricing: {
      currency: 'credits',
      unit: 'token',
      ...writePrices(model.prices),
    },
    price_version: model.priceVersion,
    supported_parameters: model.supportedParameters,
    providers: [...new Set(model.targets.map(target => target.provider))],
    status: 'active',
  }
}
