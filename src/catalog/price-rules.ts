// Rules of prices that a schema cannot express: what a type of model needs, the order of tiers, and bounds in credits.
import { worstRequest } from '../domain/catalog.ts'
import { COST_MAX, ceilNano, formatCredits, type Nano, nanoOf, parsePrice } from '../domain/credits.ts'
import { type Exchange, priceInCredits } from '../domain/dollars.ts'
import { type Faults, invalidField, missingField, type Path } from '../lib/schema-fault.ts'
import { costsOf, pricesOf } from './model.ts'
import { type ModelInput, type RatesInput, type TokenRatesInput, USD_WORDS } from './schema.ts'

// What callers pay. The bound applies to credits, whatever the figures in dollars are.
export function* priceFaults(input: ModelInput, exchange: Exchange): Faults {
  const path = ['pricing']
  yield* rateFaults(input.pricing, path, input)
  for (const [at, text] of everyRate(input.pricing, path)) {
    if (priceInCredits(parsePrice(text) ?? 0n, exchange) === undefined)
      yield invalidField(at, 'is too high: with credits_per_usd and markup it is above 9000000 credits')
  }
  const worst = ceilNano(worstOf(input, pricesOf(input.pricing, exchange)))
  if (worst > COST_MAX) yield invalidField(path, tooHigh(worst))
}

// What the operator pays for one target.
export function* costFaults(cost: RatesInput, path: Path, input: ModelInput, exchange: Exchange): Faults {
  yield* rateFaults(cost, path, input)
  const worst = nanoOf(worstOf(input, costsOf(cost, exchange)))
  if (worst > COST_MAX) yield invalidField(path, tooHigh(worst))
}

function* rateFaults(rates: RatesInput, path: Path, input: ModelInput): Faults {
  for (const [at, text] of everyRate(rates, path))
    if (parsePrice(text) === undefined) yield invalidField(at, `must be ${USD_WORDS}`)
  yield* input.type === 'embedding' ? embeddingFaults(rates, path) : chatFaults(rates, path)
}

function* embeddingFaults(rates: RatesInput, path: Path): Faults {
  if (parsePrice(rates.completion ?? '0') !== 0n) yield invalidField([...path, 'completion'], CHAT_ONLY)
  for (const name of ['image', 'audio', 'tiers'] as const)
    if (rates[name] !== undefined) yield invalidField([...path, name], CHAT_ONLY)
}

const CHAT_ONLY = 'applies to type chat only'

// A tier above the context length is accepted: it never applies, and the context may be raised later.
function* chatFaults({ tiers = [], ...base }: RatesInput, path: Path): Faults {
  if (base.completion === undefined) yield missingField(...path, 'completion')
  let above = 0
  for (const [index, tier] of tiers.entries()) {
    const at = [...path, 'tiers', index]
    if (tier.above_prompt_tokens <= above)
      yield invalidField([...at, 'above_prompt_tokens'], `must be above ${above}, the bound of the tier before it`)
    above = tier.above_prompt_tokens
    if (tier.completion === undefined) yield missingField(...at, 'completion')
    if (tier.input_cache_write_1h !== undefined && base.input_cache_write_1h === undefined)
      yield invalidField([...at, 'input_cache_write_1h'], 'applies only where the price before the tiers has it too')
  }
}

function* everyRate({ tiers = [], ...base }: RatesInput, path: Path): Generator<readonly [Path, string]> {
  yield* textsOf(base, path)
  for (const [index, { above_prompt_tokens: _, ...rates }] of tiers.entries())
    yield* textsOf(rates, [...path, 'tiers', index])
}

function* textsOf(rates: Partial<TokenRatesInput>, path: Path): Generator<readonly [Path, string]> {
  for (const [name, text] of Object.entries(rates)) yield [[...path, name], text]
}

function worstOf(input: ModelInput, rates: Parameters<typeof worstRequest>[2]): bigint {
  const size = { contextLength: input.context_length, maxOutputTokens: input.max_output_tokens ?? 0 }
  return worstRequest(size, input.type ?? 'chat', rates)
}

function tooHigh(worst: Nano): string {
  const most = `${formatCredits(worst)} credits, and ${formatCredits(COST_MAX)} is the most`
  return `is too high: one request with all of its context and output could cost ${most}`
}
