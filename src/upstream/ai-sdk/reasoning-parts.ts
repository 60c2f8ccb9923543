// A model's reasoning in both directions: as `reasoning_content` and, signed, as `reasoning_details` in the format of
// OpenRouter's clients. A provider accepts reasoning only with its own signature, so it must not get lost.
import type { LanguageModelV4ReasoningPart, SharedV4ProviderMetadata } from '@ai-sdk/provider'
import type { SdkKind } from '../../domain/presets.ts'
import type { Message } from '../../domain/prompt.ts'

export type ThoughtDetail = {
  readonly type: 'reasoning.text' | 'reasoning.encrypted'
  readonly text?: string
  readonly signature?: string
  readonly data?: string
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
