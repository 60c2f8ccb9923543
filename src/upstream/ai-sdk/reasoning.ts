// How much a model may reason, in the format of each protocol. Reasoning is output: with or without it, no more is requested than
// the held cap. Pure.
import type {
  LanguageModelV4CallOptions,
  LanguageModelV4ReasoningPart,
  SharedV4ProviderMetadata,
} from '@ai-sdk/provider'
import type { Provider } from '../../domain/catalog.ts'
import type { Chat } from '../../domain/chat.ts'
import type { SdkKind } from '../../domain/presets.ts'
import type { Message } from '../../domain/prompt.ts'
import type { UpstreamRequest } from '../adapter.ts'
import { cannot } from './media.ts'

export type Thinking = Pick<LanguageModelV4CallOptions, 'maxOutputTokens' | 'reasoning'> & {
  // The protocol's own options.
  readonly own: Readonly<Record<string, unknown>>
}

// Shares of the cap, where a provider expects a number.
const SHARES = { minimal: 0.1, low: 0.2, medium: 0.5, high: 0.8, xhigh: 0.9, max: 0.95 } as const
type Effort = 'none' | keyof typeof SHARES
const EFFORTS: readonly string[] = ['none', ...Object.keys(SHARES)]

// A smaller budget is refused by providers that use budgets.
const BUDGET_MIN = 1024

export function thinkingOf(upstreamRequest: UpstreamRequest, provider: Provider, kind: SdkKind): Thinking {
  const cap = upstreamRequest.outputTokens ?? upstreamRequest.outputBound
  const sent = upstreamRequest.outputTokens ?? undefined
  const preference = reasoningOf(upstreamRequest.chat, provider.passthrough)
  if (kind === 'anthropic' || kind === 'bedrock') return claudeOr(upstreamRequest.model, preference, cap, sent, kind)
  if (preference === undefined) return { ...capped(sent), own: {} }
  if (kind === 'cohere') return { ...capped(sent), own: { thinking: cohereThinking(preference, cap) } }
  return { ...capped(sent), ...geminiThinking(upstreamRequest.model, preference, cap) }
}

type Reasoning = { readonly effort: Effort | undefined; readonly budget: number | undefined }

// In OpenAI's format, and in Anthropic's and OpenRouter's where the operator passes them through.
function reasoningOf(
  { forwarded, extras, effort: translated }: Chat,
  passthrough: readonly string[],
): Reasoning | undefined {
  const allowed = (name: string) =>
    passthrough.includes(name) && extras.has(name) ? record(extras.get(name), name) : {}
  const thinking = allowed('thinking')
  const reasoning = allowed('reasoning')
  const off = thinking.type === 'disabled' || reasoning.enabled === false
  const on = thinking.type === 'enabled' || thinking.type === 'adaptive' || reasoning.enabled === true
  const budget = [thinking.budget_tokens, reasoning.max_tokens].find(
    value => Number.isInteger(value) && Number(value) > 0,
  )
  const effort = off
    ? 'none'
    : (forwarded.reasoning_effort ?? reasoning.effort ?? translated ?? (on ? 'medium' : undefined))
  if (effort === undefined && budget === undefined) return undefined
  if (effort !== undefined && !EFFORTS.includes(String(effort)))
    throw cannot(`reasoning_effort must be one of ${EFFORTS.join(', ')} for this model's provider.`)
  return { effort: effort as Effort | undefined, budget: off ? undefined : (budget as number | undefined) }
}

// Claude. Up to 4.5 it reasons within a budget, which the package adds to the cap; later models reason adaptively within the cap.
// Bedrock has other models too, and a model that cannot reason is not asked to.
function claudeOr(
  model: string,
  preference: Reasoning | undefined,
  cap: number,
  sent: number | undefined,
  kind: SdkKind,
): Thinking {
  // Anthropic requires a cap.
  const always = kind === 'anthropic' ? cap : sent
  if (preference === undefined) return { ...capped(always), own: {} }
  const isClaude = model.includes('claude')
  if (kind === 'bedrock' && !isClaude)
    return { ...capped(sent ?? cap), ...effortOf(boundedEffort(model, preference)), own: {} }
  if (preference.effort === 'none') return { ...capped(always), reasoning: 'none', own: {} }
  if (isClaude && !BUDGETED.test(model))
    return { ...capped(cap), ...effortOf(preference.effort ?? effortFor(preference, cap)), own: {} }
  const budget = budgetOf(preference, cap)
  // Too little to reason and answer.
  if (budget < BUDGET_MIN || budget >= cap) return { ...capped(always), own: {} }
  const own = { type: 'enabled', budgetTokens: budget }
  return { maxOutputTokens: cap - budget, own: kind === 'anthropic' ? { thinking: own } : { reasoningConfig: own } }
}

const BUDGETED = /claude-(?:instant|v?2|3)|claude-(?:opus|sonnet|haiku)-4(?:@|-(?:[015](?!\d)|20))/

// Nova accepts no cap together with high effort, so high effort is not used.
function boundedEffort(model: string, { effort }: Reasoning): Effort | undefined {
  const isMuch = effort === 'high' || effort === 'xhigh' || effort === 'max'
  return isMuch && model.includes('nova') ? 'medium' : effort
}

// Its reasoning counts within its cap. Up to 2.5 it expects a number, later a level.
function geminiThinking(model: string, preference: Reasoning, cap: number): Omit<Thinking, 'maxOutputTokens'> {
  if (preference.effort === 'none') return { reasoning: 'none', own: {} }
  if (!/gemini-2\.5|robotics-er-1\.5/.test(model))
    return {
      ...effortOf(preference.effort ?? effortFor(preference, cap)),
      own: { thinkingConfig: { includeThoughts: true } },
    }
  const budget = Math.min(budgetOf(preference, cap), GEMINI_BUDGET_MAX)
  const budgeted = budget < GEMINI_BUDGET_MIN ? {} : { thinkingBudget: budget }
  return { own: { thinkingConfig: { includeThoughts: true, ...budgeted } } }
}

const GEMINI_BUDGET_MIN = 512
const GEMINI_BUDGET_MAX = 24_576

function cohereThinking(preference: Reasoning, cap: number): object {
  return preference.effort === 'none'
    ? { type: 'disabled' }
    : { type: 'enabled', tokenBudget: budgetOf(preference, cap) }
}

function budgetOf({ effort, budget }: Reasoning, cap: number): number {
  const wanted = budget ?? cap * SHARES[effort === undefined || effort === 'none' ? 'medium' : effort]
  return Math.floor(Math.min(wanted, cap * SHARES.max))
}

// The level nearest to a number.
function effortFor({ budget }: Reasoning, cap: number): Effort {
  const share = (budget ?? 0) / cap
  if (share <= SHARES.low) return 'low'
  return share <= SHARES.medium ? 'medium' : 'high'
}

function effortOf(effort: Effort | undefined): Pick<Thinking, 'reasoning'> {
  return effort === undefined ? {} : { reasoning: effort }
}

function capped(maxOutputTokens: number | undefined): Pick<Thinking, 'maxOutputTokens'> {
  return maxOutputTokens === undefined ? {} : { maxOutputTokens }
}

function record(value: unknown, name: string): Readonly<Record<string, unknown>> {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>
  throw cannot(`${name} must be an object.`)
}

// A model's reasoning in both directions: as `reasoning_content` and, signed, as `reasoning_details` in the format of
// OpenRouter's clients. A provider accepts reasoning only with its own signature, so it must not get lost.
export type ThoughtDetail = {
  readonly type: 'reasoning.text' | 'reasoning.encrypted'
  readonly text?: string
  readonly signature?: string
  readonly data?: string
  readonly format?: string
  readonly index: number
}

// The name under which each package keeps its provider-specific data.
export const OPTIONS_NAME: Readonly<Record<SdkKind, string>> = {
  anthropic: 'anthropic',
  google: 'google',
  vertex: 'googleVertex',
  bedrock: 'amazonBedrock',
  cohere: 'cohere',
}

// From an answer: undefined when there is nothing to send back later.
export function thoughtDetail(
  part: { readonly text: string; readonly metadata: SharedV4ProviderMetadata | undefined; readonly index: number },
  kind: SdkKind,
): ThoughtDetail | undefined {
  const { signature, thoughtSignature, redactedData, redactedContent } = ownOf(part.metadata, kind)
  const signed = signature ?? thoughtSignature
  const hidden = redactedData ?? redactedContent
  if (typeof hidden === 'string') return { type: 'reasoning.encrypted', data: hidden, index: part.index }
  if (part.text === '' && signed === undefined) return undefined
  return {
    type: 'reasoning.text',
    ...(part.text === '' ? {} : { text: part.text }),
    ...(typeof signed === 'string' ? { signature: signed } : {}),
    index: part.index,
  }
}

// From an earlier answer that comes back. Pieces of one reasoning block have one index.
export function thoughtParts(message: Message, kind: SdkKind): LanguageModelV4ReasoningPart[] {
  if (kind === 'cohere') return []
  const thoughts = new Map<unknown, { text: string; signature: string | undefined; data: string | undefined }>()
  const details = Array.isArray(message.reasoning_details) ? (message.reasoning_details as ThoughtDetail[]) : []
  for (const [place, detail] of details.entries()) {
    // Only OpenAI can read what it has encrypted.
    if (detail.format?.startsWith?.('openai')) continue
    const key = detail.index ?? `at ${place}`
    const thought = thoughts.get(key) ?? { text: '', signature: undefined, data: undefined }
    if (typeof detail.text === 'string') thought.text += detail.text
    if (typeof detail.signature === 'string') thought.signature = detail.signature
    if (typeof detail.data === 'string') thought.data = detail.data
    thoughts.set(key, thought)
  }
  return [...thoughts.values()].flatMap(({ text, signature, data }) => {
    const own = ownOptions(signature, data, kind)
    // Without a signature no provider accepts it.
    return own === undefined ? [] : [{ type: 'reasoning', text, providerOptions: { [OPTIONS_NAME[kind]]: own } }]
  })
}

function ownOptions(
  signature: string | undefined,
  data: string | undefined,
  kind: SdkKind,
): Record<string, string> | undefined {
  const isGoogle = kind === 'google' || kind === 'vertex'
  if (data !== undefined)
    return isGoogle ? undefined : { [kind === 'bedrock' ? 'redactedContent' : 'redactedData']: data }
  if (signature === undefined) return undefined
  return isGoogle ? { thoughtSignature: signature } : { signature }
}

function ownOf(metadata: SharedV4ProviderMetadata | undefined, kind: SdkKind): Readonly<Record<string, unknown>> {
  return (metadata?.[OPTIONS_NAME[kind]] as Record<string, unknown> | undefined) ?? {}
}
