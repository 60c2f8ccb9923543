// The state of the model form, and the document that it makes.
import { useForm } from '@mantine/form'
import type { ModelType } from '../../../../src/domain/catalog.ts'
import type { Strategy } from '../../../../src/domain/routing.ts'
import type { Document, ModelObject } from '../../api/models.ts'
import { given, NO_RATES, perMillion, perToken, priceError, type Rate, type TierFields } from './price-fields.ts'
import { type CostFields, costFieldsOf, costOf, NO_COST } from './target-costs.ts'

export const STRATEGIES: Readonly<Record<Strategy, string>> = {
  priority: 'priority',
  weighted: 'weighted random',
  cheapest: 'cheapest first',
  fastest: 'fastest first',
  least_busy: 'least busy first',
}

export type TargetFields = CostFields & {
  provider: string
  model: string
  priority: number | string
  weight: number | string
}
export const NO_TARGET: TargetFields = { provider: '', model: '', priority: 0, weight: 1, ...NO_COST }

export type ModelFields = {
  id: string
  name: string
  description: string
  aliases: string[]
  type: ModelType
  context_length: number | string
  max_output_tokens: number | string
  dimensions: number | string
  dimensions_min: number | string
  input_modalities: string[]
  media_max_tokens: number | string
  supported_parameters: string[]
  hasHiddenReasoning: boolean
  strategy: string
  isActive: boolean
  rates: Record<Rate, string>
  request: string
  tiers: TierFields[]
  targets: TargetFields[]
}

// Operators enter US dollars. For models declared in the file, only the client price in credits is known; saving it would apply
// markup and exchange rate twice.
export function currencyOf(model: ModelObject | undefined): 'US dollars' | 'credits' {
  return model !== undefined && model.entered_pricing === null ? 'credits' : 'US dollars'
}

export function useModelForm(model?: ModelObject) {
  return useForm<ModelFields>({
    initialValues: model === undefined ? EMPTY : fieldsOf(model),
    validate: {
      id: id => (id.trim() === '' ? 'Enter an ID' : null),
      context_length: tokens => (Number(tokens) > 0 ? null : 'Enter the number of tokens'),
      max_output_tokens: (tokens, { type }) =>
        type === 'embedding' || Number(tokens) > 0 ? null : 'Enter the number of tokens',
      dimensions: (size, { type }) => (type === 'chat' || Number(size) > 0 ? null : 'Enter the size of the vectors'),
      media_max_tokens: (tokens, { input_modalities }) =>
        input_modalities.length === 0 || Number(tokens) > 0 ? null : 'Required for models that accept images or files',
      rates: RATE_RULES,
      request: price => priceError(price, false),
      tiers: {
        above_prompt_tokens: (tokens, { tiers }, path) => {
          const before = tiers[Number(path.split('.')[1]) - 1]
          const least = Number(before?.above_prompt_tokens ?? 0)
          return Number(tokens) > least ? null : `Enter more than ${least} tokens`
        },
        rates: RATE_RULES,
      },
      targets: {
        provider: provider => (provider === '' ? 'Choose a provider' : null),
        model: name => (name.trim() === '' ? 'Enter the upstream model' : null),
        promptCost: (cost, { targets }, path) => priceError(cost, targetAt(targets, path).completionCost.trim() !== ''),
        completionCost: (cost, { type, targets }, path) =>
          priceError(cost, type === 'chat' && targetAt(targets, path).promptCost.trim() !== ''),
        costTiers: {
          above_prompt_tokens: tokens => (Number(tokens) > 0 ? null : 'Enter the number of tokens'),
          prompt: cost => priceError(cost, true),
          completion: cost => priceError(cost, true),
        },
      },
    },
  })
}

function targetAt(targets: readonly TargetFields[], path: string): TargetFields {
  return targets[Number(path.split('.')[1])] ?? NO_TARGET
}

const optional = (price: string) => priceError(price, false)
const RATE_RULES = {
  prompt: (price: string) => priceError(price, true),
  completion: (price: string, { type }: ModelFields) => priceError(price, type === 'chat'),
  input_cache_read: optional,
  input_cache_write: optional,
  input_cache_write_1h: optional,
  image: optional,
  audio: optional,
} as const satisfies Record<Rate, unknown>

// Sends changed fields only, so that changes of two operators to different fields are both kept.
export function documentOf(fields: ModelFields, before?: ModelObject): Document {
  const whole = wholeDocument(fields, before)
  if (before === undefined) return Object.fromEntries(Object.entries(whole).filter(([, value]) => value !== null))
  const old = wholeDocument(fieldsOf(before), before)
  const changed = Object.entries(whole).filter(([name, value]) => JSON.stringify(value) !== JSON.stringify(old[name]))
  const kept = currencyOf(before) === 'credits' ? ['id', 'pricing'] : ['id']
  return Object.fromEntries(changed.filter(([name]) => !kept.includes(name)))
}

function wholeDocument(fields: ModelFields, before?: ModelObject): Document {
  const isEmbedding = fields.type === 'embedding'
  return {
    id: fields.id.trim(),
    name: orNull(fields.name),
    description: orNull(fields.description),
    aliases: fields.aliases.length === 0 ? null : fields.aliases,
    context_length: Number(fields.context_length),
    type: fields.type,
    max_output_tokens: isEmbedding ? null : Number(fields.max_output_tokens),
    dimensions: isEmbedding ? Number(fields.dimensions) : null,
    dimensions_min: isEmbedding && Number(fields.dimensions_min) > 0 ? Number(fields.dimensions_min) : null,
    input_modalities: fields.input_modalities.length === 0 ? null : ['text', ...fields.input_modalities],
    media_max_tokens: fields.input_modalities.length === 0 ? null : Number(fields.media_max_tokens),
    supported_parameters: fields.supported_parameters.length === 0 ? null : fields.supported_parameters,
    // For a new model, an unchecked box leaves the decision to the server, which goes by the model's name.
    hidden_reasoning: isEmbedding
      ? null
      : before === undefined
        ? fields.hasHiddenReasoning || null
        : fields.hasHiddenReasoning,
    strategy: fields.strategy,
    status: fields.isActive ? 'active' : 'inactive',
    pricing: pricingOf(fields),
    targets: fields.targets.map(target => ({
      provider: target.provider,
      model: target.model.trim(),
      priority: Number(target.priority),
      weight: Number(target.weight),
      ...costOf(target, knownCost(target, before)),
    })),
  }
}

function pricingOf({ type, rates, request, tiers }: ModelFields): object {
  if (type === 'embedding') {
    const { completion: _, image: __, audio: ___, ...others } = rates
    return { ...perToken(others), ...given({ request }) }
  }
  const longer = tiers.map(tier => ({
    above_prompt_tokens: Number(tier.above_prompt_tokens),
    ...perToken(tier.rates),
  }))
  return { ...perToken(rates), ...given({ request }), ...(longer.length === 0 ? {} : { tiers: longer }) }
}

function knownCost({ provider, model }: TargetFields, before?: ModelObject) {
  return before?.targets.find(each => each.provider === provider && each.model === model.trim())?.entered_cost
}

const EMPTY: ModelFields = {
  id: '',
  name: '',
  description: '',
  aliases: [],
  type: 'chat',
  context_length: '',
  max_output_tokens: '',
  dimensions: '',
  dimensions_min: '',
  input_modalities: [],
  media_max_tokens: '',
  supported_parameters: [],
  hasHiddenReasoning: false,
  strategy: 'priority',
  isActive: true,
  rates: NO_RATES,
  request: '',
  tiers: [],
  targets: [NO_TARGET],
}

function fieldsOf(model: ModelObject): ModelFields {
  // In the currency of `currencyOf`.
  const { request = '', tiers = [], ...rates } = model.entered_pricing ?? model.pricing
  return {
    id: model.id,
    name: model.name,
    description: model.description,
    aliases: [...model.aliases],
    type: model.type,
    context_length: model.context_length,
    max_output_tokens: model.max_output_tokens,
    dimensions: model.dimensions ?? '',
    dimensions_min: model.dimensions_min ?? '',
    input_modalities: model.input_modalities.filter(modality => modality !== 'text'),
    media_max_tokens: model.media_max_tokens || '',
    supported_parameters: [...model.supported_parameters],
    hasHiddenReasoning: model.hidden_reasoning,
    strategy: model.strategy,
    isActive: model.status === 'active',
    rates: perMillion(rates),
    request,
    tiers: tiers.map(({ above_prompt_tokens, ...own }) => ({ above_prompt_tokens, rates: perMillion(own) })),
    targets: model.targets.map(({ provider, model: name, priority, weight, cost, entered_cost }) => {
      const stated = (model.entered_pricing === null ? cost : entered_cost) ?? undefined
      return { provider, model: name, priority, weight, ...costFieldsOf(stated) }
    }),
  }
}

function orNull(text: string): string | null {
  return text.trim() === '' ? null : text
}
