// Matches a request's routing preferences with one candidate: whether it may serve, and its position in the requested order.
// Pure.
import type { Model } from '../domain/catalog.ts'
import type { Chat } from '../domain/chat.ts'
import type { TokenRates } from '../domain/credits.ts'
import { promptBound } from '../domain/prompt.ts'
import type { Reason, RoutingPreferences } from '../domain/routing.ts'

// Why no target of this model may serve; undefined: they may.
export function unfitModel(model: Model, chat: Chat): Reason | undefined {
  const { preferences } = chat
  if (isAbove(model, chat)) return 'above_max_price'
  if (preferences.requireParameters && !takesAll(model, chat)) return 'unsupported_parameters'
  return undefined
}

export function unwantedProvider(provider: string, preferences: RoutingPreferences): Reason | undefined {
  if (preferences.only !== undefined && !preferences.only.includes(provider)) return 'not_in_only'
  if (preferences.ignore.includes(provider)) return 'ignored'
  // An explicit order without fallbacks excludes all others.
  if (!preferences.allowFallbacks && preferences.order.length > 0 && !preferences.order.includes(provider))
    return 'no_fallbacks'
  return undefined
}

// Lower goes first; providers that are not named go after all that are.
export function placeAsked(provider: string, { order }: RoutingPreferences): number {
  const at = order.indexOf(provider)
  return at < 0 ? order.length : at
}

// Of a price with tiers, all that the prompt may be long enough for.
function isAbove(model: Model, chat: Chat): boolean {
  const { maxPrice } = chat.preferences
  const { prices } = model
  if (isDearer(prices, maxPrice) || (maxPrice.request !== undefined && prices.request > maxPrice.request)) return true
  if (prices.tiers === undefined) return false
  const promptTokens = promptBound(chat, model)
  return prices.tiers.some(tier => tier.abovePromptTokens < promptTokens && isDearer(tier, maxPrice))
}

function isDearer({ prompt, completion }: TokenRates, most: RoutingPreferences['maxPrice']): boolean {
  return (
    (most.prompt !== undefined && prompt > most.prompt) ||
    (most.completion !== undefined && completion > most.completion)
  )
}

// The parameters that the request uses, by the names that models list.
function takesAll({ supportedParameters }: Model, chat: Chat): boolean {
  const takes = (name: string) => supportedParameters.includes(name)
  if (chat.maxTokens !== null && !takes('max_tokens') && !takes('max_completion_tokens')) return false
  return Object.keys(chat.forwarded).every(takes) && [...chat.extras.keys()].every(takes)
}
