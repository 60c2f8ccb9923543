// Prices in responses as JSON Schema: the same fields wherever a price is shown.
import { Type } from 'typebox'

const Price = Type.String({ description: 'Credits per token, as a decimal string.' })

const TOKEN_RATES = {
  prompt: Price,
  completion: Price,
  input_cache_read: Price,
  input_cache_write: Price,
  input_cache_write_1h: Type.Optional(Price),
  image: Type.Optional(Price),
  audio: Type.Optional(Price),
}

export const RATES = {
  ...TOKEN_RATES,
  request: Type.String({ description: 'Credits per request, as a decimal string.' }),
  tiers: Type.Optional(
    Type.Array(
      Type.Object({
        above_prompt_tokens: Type.Integer({ description: 'Applies to prompts with more tokens than this.' }),
        ...TOKEN_RATES,
      }),
      {
        description:
          'In ascending order. All tokens of a request have the prices of the last tier that its prompt is long enough for.',
      },
    ),
  ),
}

export const RatesShape = Type.Object(RATES)
