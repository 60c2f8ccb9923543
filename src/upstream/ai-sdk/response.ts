// Translates what the AI SDK's packages report to OpenAI's format: the parts of a stream as chunks, a result as a whole, counts
// in OpenAI's meaning. Pure except for the state of one stream.
import type {
  LanguageModelV4FinishReason,
  LanguageModelV4GenerateResult,
  LanguageModelV4StreamPart,
  LanguageModelV4Usage,
  SharedV4ProviderMetadata,
} from '@ai-sdk/provider'
import { Failure } from '../../domain/failure.ts'
import type { Chunk, ChunkChoice, Whole } from '../../domain/handoff.ts'
import type { SdkKind } from '../../domain/presets.ts'
import { streamUsage } from '../anthropic/usage.ts'
import { OPTIONS_NAME, type ThoughtDetail, thoughtDetail } from './reasoning.ts'

// Returns the chunks for a part of a stream; throws the Failure that the part reports.
export type PartReader = (part: LanguageModelV4StreamPart) => readonly Chunk[]

export function partReader(kind: SdkKind): PartReader {
  const calls = new Map<string, { readonly index: number; hasArguments: boolean }>()
  const thoughts = new Map<string, number>()
  // The package keeps the last count; what is billed follows the events, as for callers whose dialect passes through.
  const counts = kind === 'anthropic' ? streamUsage() : undefined

  function counted(event: { readonly type?: unknown; readonly usage?: unknown; readonly message?: unknown }) {
    const { usage } = (event.message ?? {}) as { readonly usage?: unknown }
    if (event.type === 'message_start') return [usageChunk(counts?.start(usage))]
    return event.type === 'message_delta' ? [usageChunk(counts?.end(event.usage))] : []
  }

  function thought(id: string, text: string, metadata: SharedV4ProviderMetadata | undefined): readonly Chunk[] {
    const index = thoughts.get(id) ?? thoughts.size
    thoughts.set(id, index)
    const detail = kind === 'cohere' ? undefined : thoughtDetail({ text, metadata, index }, kind)
    if (text === '' && detail === undefined) return []
    return said({
      ...(text === '' ? {} : { reasoning_content: text }),
      ...(detail === undefined ? {} : { reasoning_details: [detail] }),
    })
  }

  function beginCall(id: string, name: string, metadata: SharedV4ProviderMetadata | undefined): Chunk {
    const call = { index: calls.size, hasArguments: false }
    calls.set(id, call)
    return chunk({ tool_calls: [{ index: call.index, ...toolCall(id, name, '', metadata, kind) }] })
  }

  function goOn(id: string, text: string): readonly Chunk[] {
    const call = calls.get(id)
    if (call === undefined || text === '') return []
    call.hasArguments = true
    return said({ tool_calls: [{ index: call.index, function: { arguments: text } }] })
  }

  return part => {
    switch (part.type) {
      case 'text-delta':
        return part.delta === '' ? [] : said({ content: part.delta })
      case 'reasoning-start':
        // Redacted reasoning comes whole; a signature comes again with the text.
        return thought(part.id, '', hiddenOnly(part.providerMetadata, kind))
      case 'reasoning-delta':
        return thought(part.id, part.delta, part.providerMetadata)
      case 'reasoning-end':
        return thought(part.id, '', part.providerMetadata)
      case 'tool-input-start':
        return part.providerExecuted === true ? [] : [beginCall(part.id, part.toolName, part.providerMetadata)]
      case 'tool-input-delta':
        return goOn(part.id, part.delta)
      case 'tool-call': {
        if (part.providerExecuted === true) return []
        const begun = calls.has(part.toolCallId)
          ? []
          : [beginCall(part.toolCallId, part.toolName, part.providerMetadata)]
        // The arguments come once, whether they came in pieces before or not.
        if (calls.get(part.toolCallId)?.hasArguments === true) return begun
        return [...begun, ...goOn(part.toolCallId, part.input)]
      }
      case 'finish':
        return [
          chunk({}, finishReason(part.finishReason, calls.size > 0)),
          ...(counts === undefined ? [usageChunk(usageOf(part.usage))] : []),
        ]
      case 'raw':
        return typeof part.rawValue === 'object' && part.rawValue !== null ? counted(part.rawValue) : []
      default:
        return []
    }
  }
}

export function wholeOf(result: LanguageModelV4GenerateResult, kind: SdkKind): Whole {
  const texts: string[] = []
  const thoughts: string[] = []
  const details: ThoughtDetail[] = []
  const calls: object[] = []
  for (const part of result.content) {
    if (part.type === 'text') texts.push(part.text)
    else if (part.type === 'reasoning') {
      thoughts.push(part.text)
      const heard = { text: part.text, metadata: part.providerMetadata, index: details.length }
      const detail = kind === 'cohere' ? undefined : thoughtDetail(heard, kind)
      if (detail !== undefined) details.push(detail)
    } else if (part.type === 'tool-call' && part.providerExecuted !== true) {
      calls.push(toolCall(part.toolCallId, part.toolName, part.input, part.providerMetadata, kind))
    }
  }
  const message = {
    role: 'assistant',
    content: texts.length === 0 && calls.length > 0 ? null : texts.join(''),
    refusal: null,
    ...(thoughts.length === 0 ? {} : { reasoning_content: thoughts.join('') }),
    ...(details.length === 0 ? {} : { reasoning_details: details }),
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
  }
  const finish_reason = finishReason(result.finishReason, calls.length > 0)
  return {
    choices: [{ index: 0, message, logprobs: null, finish_reason }],
    usage: usageOf(result.usage),
    fingerprint: undefined,
  }
}

// In OpenAI's meaning: cached tokens are part of the prompt, reasoning tokens are part of the completion. A count that the
// upstream did not report is not invented.
function usageOf({ inputTokens, outputTokens, raw }: LanguageModelV4Usage): object | undefined {
  if (inputTokens.total === undefined && outputTokens.total === undefined) return undefined
  const { total, cacheWrite } = inputTokens
  // Cohere's package passes it on unparsed.
  const cached = inputTokens.cacheRead ?? (typeof raw?.cached_tokens === 'number' ? raw.cached_tokens : undefined)
  return {
    prompt_tokens: total,
    completion_tokens: outputTokens.total,
    total_tokens: (total ?? 0) + (outputTokens.total ?? 0),
    prompt_tokens_details: {
      cached_tokens: cached ?? 0,
      cache_write_tokens: cacheWrite ?? 0,
      ...longWrites(raw),
      ...mediaOf(raw),
    },
    completion_tokens_details: { reasoning_tokens: outputTokens.reasoning ?? 0 },
  }
}

// Anthropic's package passes it on unparsed.
function longWrites(raw: LanguageModelV4Usage['raw']): object {
  const { ephemeral_1h_input_tokens: long } = (raw?.cache_creation ?? {}) as { ephemeral_1h_input_tokens?: unknown }
  return typeof long === 'number' ? { cache_write_1h_tokens: long } : {}
}

// Google's package passes on the counts of each modality.
function mediaOf(raw: LanguageModelV4Usage['raw']): object {
  if (!Array.isArray(raw?.promptTokensDetails)) return {}
  const cached = raw.cacheTokensDetails
  return {
    ...byModality(raw.promptTokensDetails),
    ...(Array.isArray(cached) ? { cached_tokens_details: byModality(cached) } : {}),
  }
}

function byModality(details: readonly unknown[]): { readonly image_tokens: number; readonly audio_tokens: number } {
  const counts = { IMAGE: 0, AUDIO: 0 }
  for (const detail of details as readonly { readonly modality?: unknown; readonly tokenCount?: unknown }[]) {
    const { modality, tokenCount } = detail ?? {}
    if ((modality === 'IMAGE' || modality === 'AUDIO') && typeof tokenCount === 'number') counts[modality] += tokenCount
  }
  return { image_tokens: counts.IMAGE, audio_tokens: counts.AUDIO }
}

const REASONS = {
  stop: 'stop',
  length: 'length',
  'content-filter': 'content_filter',
  'tool-calls': 'tool_calls',
  other: 'stop',
} as const

function finishReason({ unified, raw }: LanguageModelV4FinishReason, hasCalls: boolean): string {
  // The packages close an interrupted stream as if it had ended, but without the upstream's finish reason.
  if (unified === 'interrupted' || (unified === 'other' && raw === undefined))
    throw new Failure('interrupted', 'the response ended without a finish reason')
  if (unified === 'error') throw new Failure('interrupted', 'the upstream ended the response with an error')
  // A finish with tool calls is reported as such, whatever the upstream's name for it.
  return hasCalls && REASONS[unified] === 'stop' ? 'tool_calls' : REASONS[unified]
}

function toolCall(
  id: string,
  name: string,
  text: string,
  metadata: SharedV4ProviderMetadata | undefined,
  kind: SdkKind,
): object {
  const signature = metadata?.[OPTIONS_NAME[kind]]?.thoughtSignature
  return {
    id,
    type: 'function',
    function: { name, arguments: text },
    // As in Google's own OpenAI-compatible answers.
    ...(typeof signature === 'string' ? { extra_content: { google: { thought_signature: signature } } } : {}),
  }
}

function hiddenOnly(
  metadata: SharedV4ProviderMetadata | undefined,
  kind: SdkKind,
): SharedV4ProviderMetadata | undefined {
  return metadata?.[OPTIONS_NAME[kind]]?.redactedData === undefined ? undefined : metadata
}

function said(delta: ChunkChoice['delta']): readonly Chunk[] {
  return [chunk(delta)]
}

function chunk(delta: ChunkChoice['delta'], finish_reason: string | null = null): Chunk {
  return { choices: [{ index: 0, delta, finish_reason }], usage: undefined, fingerprint: undefined }
}

function usageChunk(usage: object | undefined): Chunk {
  return { choices: [], usage, fingerprint: undefined }
}
