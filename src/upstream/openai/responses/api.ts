// Which of OpenAI's two APIs a request is sent to: the one that the caller speaks, where the provider has it, or the one that
// the model needs.
import type { Provider } from '../../../domain/catalog.ts'
import type { Chat } from '../../../domain/chat.ts'
import type { Part } from '../../../domain/prompt.ts'

// `passthrough`: the caller's own request to the Responses API.
export type Api = 'chat' | 'responses' | 'passthrough'

export function apiFor(provider: Provider, chat: Chat, model: string): Api {
  // A provider stored before this setting existed has none.
  const { api = 'chat' } = provider
  if (api === 'chat') return 'chat'
  if (chat.dialect === 'responses') return passes(provider, chat) ? 'passthrough' : 'responses'
  return api === 'responses' || (needsResponses(model, chat) && canTranslate(chat)) ? 'responses' : 'chat'
}

// Only OpenAI's own API has namespaces and custom tools; elsewhere they become functions.
function passes({ openaiTools }: Provider, { native = {} }: Chat): boolean {
  if (openaiTools === true) return true
  const { tools = [], input = [] } = native as { tools?: readonly Part[]; input?: string | readonly Partial<Part>[] }
  const isPlain = ({ type }: Part) => type === 'function'
  // The type of a message may be left out.
  const isForeign = ({ type = 'message', namespace }: Partial<Part>) =>
    namespace !== undefined || type.startsWith('custom_tool')
  return tools.every(isPlain) && (typeof input === 'string' || !input.some(isForeign))
}

// Models that only the Responses API has, and those that refuse tools at chat completions while they reason. The newest reason
// unless the request says otherwise. By OpenAI's own names: resellers, who add a prefix, do this themselves.
function needsResponses(model: string, { forwarded, effort: translated }: Chat): boolean {
  if (ONLY_RESPONSES.test(model)) return true
  const { tools, functions, reasoning_effort: effort = translated } = forwarded
  if (tools === undefined && functions === undefined) return false
  if (effort === 'none') return false
  return effort === undefined ? REASONS_ALWAYS.test(model) : REASONS.test(model)
}

const ONLY_RESPONSES = /^(?:gpt-5(?:\.\d+)?-(?:codex|pro)|o[1-9]-pro|codex-|o[1-9]-deep-research|computer-use)/
const REASONS = /^(?:gpt-[5-9]|o[1-9](?:-|$))/
const REASONS_ALWAYS = /^(?:gpt-5\.(?:[5-9]|[1-9]\d)|gpt-[6-9])/

// What chat completions alone can do.
function canTranslate({ n, maxTokens, media }: Chat): boolean {
  return (
    n === 1 && (maxTokens === null || maxTokens >= OUTPUT_TOKENS_MIN) && media.every(({ kind }) => kind !== 'audio')
  )
}

// The least that the Responses API accepts as a maximum.
const OUTPUT_TOKENS_MIN = 16
