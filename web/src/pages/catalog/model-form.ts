// A model as a form: prices per million, which is how lists print them, moved exactly to the per-token prices of the catalog.
import { useForm } from '@mantine/form'
import type { Strategy } from '../../../../src/domain/routing.ts'
import type { Document, ModelObject } from '../../api/models.ts'
import { readDecimal, shiftDecimal } from '../../format/decimals.ts'

export const STRATEGIES: Readonly<Record<Strategy, string>> = {
  priority: 'by priority',
  weighted: 'by weight',
  cheapest: 'cheapest first',
  fastest: 'fastest first',
  least_busy: 'least busy first',
}

export const RATES = {
  prompt: 'Prompt',
  completion: 'Answer',
  input_cache_read: 'Cache read',
  input_cache_write: 'Cache write',
} as const
type Rate = keyof typeof RATES

export type TargetFields = { provider: string; model: string; priority: number | string; weight: number | string }

export type ModelFields = {
  id: string
  name: string
  description: string
  aliases: string[]
  context_length: number | string
  max_output_tokens: number | string
  input_modalities: string[]
  media_max_tokens: number | string
  supported_parameters: string[]
  hasHiddenReasoning: boolean
  strategy: string
  isActive: boolean
  rates: Record<Rate, string>
  request: string
  targets: TargetFields[]
}

// An operator enters US dollars. Of a model that the file declares only the credits are known that callers pay, after the
// markup and the rate: sent back as they are, both would be applied twice.
export function currencyOf(model: ModelObject | undefined): 'US dollars' | 'credits' {
  return model !== undefined && model.entered_pricing === null ? 'credits' : 'US dollars'
}

export function useModelForm(model?: ModelObject) {
  return useForm<ModelFields>({
    initialValues: model === undefined ? EMPTY : fieldsOf(model),
    validate: {
      id: id => (id.trim() === '' ? 'An id is needed' : null),
      context_length: tokens => (Number(tokens) > 0 ? null : 'How many tokens fit'),
      max_output_tokens: tokens => (Number(tokens) > 0 ? null : 'The longest answer'),
      media_max_tokens: (tokens, { input_modalities }) =>
        input_modalities.length === 0 || Number(tokens) > 0 ? null : 'The most that one of them may cost',
      rates: {
        prompt: price => priceFault(price, true),
        completion: price => priceFault(price, true),
        input_cache_read: price => priceFault(price, false),
        input_cache_write: price => priceFault(price, false),
      },
      request: price => priceFault(price, false),
      targets: {
        provider: provider => (provider === '' ? 'Choose one' : null),
        model: name => (name.trim() === '' ? 'Its name there' : null),
      },
    },
  })
}

// Only what differs from what was there, so that what two operators change in different fields both stands.
export function documentOf(fields: ModelFields, before?: ModelObject): Document {
  const whole = wholeDocument(fields, before)
  if (before === undefined) return Object.fromEntries(Object.entries(whole).filter(([, value]) => value !== null))
  const old = wholeDocument(fieldsOf(before), before)
  const changed = Object.entries(whole).filter(([name, value]) => JSON.stringify(value) !== JSON.stringify(old[name]))
  const kept = currencyOf(before) === 'credits' ? ['id', 'pricing'] : ['id']
  return Object.fromEntries(changed.filter(([name]) => !kept.includes(name)))
}

function wholeDocument(fields: ModelFields, before?: ModelObject): Document {
  const rates = Object.entries(fields.rates).map(([name, price]) => [name, shiftDecimal(price, -6)])
  const request = fields.request.trim() === '' ? undefined : fields.request.trim()
  return {
    id: fields.id.trim(),
    name: orNull(fields.name),
    description: orNull(fields.description),
    aliases: fields.aliases.length === 0 ? null : fields.aliases,
    context_length: Number(fields.context_length),
    max_output_tokens: Number(fields.max_output_tokens),
    input_modalities: fields.input_modalities.length === 0 ? null : ['text', ...fields.input_modalities],
    media_max_tokens: fields.input_modalities.length === 0 ? null : Number(fields.media_max_tokens),
    supported_parameters: fields.supported_parameters.length === 0 ? null : fields.supported_parameters,
    // Of a new model that is not ticked its name decides; of one that is there the tick is the operator's word.
    hidden_reasoning: before === undefined ? fields.hasHiddenReasoning || null : fields.hasHiddenReasoning,
    strategy: fields.strategy,
    status: fields.isActive ? 'active' : 'inactive',
    pricing: Object.fromEntries([...rates, ['request', request]].filter(([, price]) => price !== undefined)),
    targets: fields.targets.map(({ provider, model, priority, weight }) => {
      // What a target costs the operator is not on the form, and stays.
      const cost = before?.targets.find(each => each.provider === provider && each.model === model)?.cost
      return {
        provider,
        model: model.trim(),
        priority: Number(priority),
        weight: Number(weight),
        ...(cost === undefined || cost === null ? {} : { cost }),
      }
    }),
  }
}

const EMPTY: ModelFields = {
  id: '',
  name: '',
  description: '',
  aliases: [],
  context_length: '',
  max_output_tokens: '',
  input_modalities: [],
  media_max_tokens: '',
  supported_parameters: [],
  hasHiddenReasoning: false,
  strategy: 'priority',
  isActive: true,
  rates: { prompt: '', completion: '', input_cache_read: '', input_cache_write: '' },
  request: '',
  targets: [{ provider: '', model: '', priority: 0, weight: 1 }],
}

function fieldsOf(model: ModelObject): ModelFields {
  // In the currency of `currencyOf`.
  const entered: Readonly<Record<string, string | undefined>> = model.entered_pricing ?? model.pricing
  const million = (rate: Rate) => shiftDecimal(entered[rate] ?? '', 6) ?? ''
  return {
    id: model.id,
    name: model.name,
    description: model.description,
    aliases: [...model.aliases],
    context_length: model.context_length,
    max_output_tokens: model.max_output_tokens,
    input_modalities: model.input_modalities.filter(modality => modality !== 'text'),
    media_max_tokens: model.media_max_tokens || '',
    supported_parameters: [...model.supported_parameters],
    hasHiddenReasoning: model.hidden_reasoning,
    strategy: model.strategy,
    isActive: model.status === 'active',
    rates: {
      prompt: million('prompt'),
      completion: million('completion'),
      input_cache_read: million('input_cache_read'),
      input_cache_write: million('input_cache_write'),
    },
    request: entered.request ?? '',
    targets: model.targets.map(({ provider, model: name, priority, weight }) => ({
      provider,
      model: name,
      priority,
      weight,
    })),
  }
}

function orNull(text: string): string | null {
  return text.trim() === '' ? null : text
}

function priceFault(text: string, isNeeded: boolean): string | null {
  if (text.trim() === '') return isNeeded ? 'A price is needed; 0 for free' : null
  return readDecimal(text)?.sign === '' ? null : 'A price like 2.5'
}
