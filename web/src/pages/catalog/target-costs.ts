// What a target costs the operator, in the model form: per million tokens, with tiers for longer prompts.
import type { ModelObject } from '../../api/models.ts'
import { shiftDecimal } from '../../format/decimals.ts'
import { perToken } from './price-fields.ts'

export type CostTierFields = { above_prompt_tokens: number | string; prompt: string; completion: string }
export type CostFields = {
  // Empty: not stated.
  promptCost: string
  completionCost: string
  costTiers: CostTierFields[]
}
export const NO_COST: CostFields = { promptCost: '', completionCost: '', costTiers: [] }

type Cost = NonNullable<ModelObject['targets'][number]['entered_cost']>

export function costFieldsOf(cost: Cost | ModelObject['targets'][number]['cost'] | undefined): CostFields {
  const million = (price: string | undefined) => shiftDecimal(price ?? '', 6) ?? ''
  const tiers = cost?.tiers ?? []
  return {
    promptCost: million(cost?.prompt),
    completionCost: million(cost?.completion),
    costTiers: tiers.map(({ above_prompt_tokens, prompt, completion }) => {
      return { above_prompt_tokens, prompt: million(prompt), completion: million(completion) }
    }),
  }
}

// The form shows two of the prices that a cost may have; the others are kept.
export function costOf({ promptCost, completionCost, costTiers }: CostFields, before: Cost | null | undefined): object {
  if (promptCost.trim() === '') return {}
  const { tiers: old = [], ...base } = before ?? {}
  const tiers = costTiers.map(({ above_prompt_tokens, prompt, completion }) => {
    const above = Number(above_prompt_tokens)
    const known = old.find(each => each.above_prompt_tokens === above)
    return { ...known, above_prompt_tokens: above, ...perToken({ prompt, completion }) }
  })
  const shown = perToken({ prompt: promptCost, completion: completionCost })
  return { cost: { ...base, ...shown, ...(tiers.length === 0 ? {} : { tiers }) } }
}
