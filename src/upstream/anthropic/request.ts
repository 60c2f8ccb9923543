// The request to a provider that speaks Anthropic's Messages: the caller's own, with the model's name there, the held maximum and
// identifiers as HMACs. On Vertex the model is in the path, and the version in the body. Pure.
import type { Provider } from '../../domain/catalog.ts'
import type { Chat } from '../../domain/chat.ts'
import { isOnVertex } from '../../domain/presets.ts'
import type { UpstreamRequest } from '../adapter.ts'

export function messagePath(base: string, { model, chat }: UpstreamRequest, provider: Provider): string {
  if (!isOnVertex(provider)) return `${base}/messages`
  return `${base}/models/${pathPart(model)}:${chat.stream ? 'streamRawPredict' : 'rawPredict'}`
}

export function countPath(base: string, provider: Provider): string {
  return isOnVertex(provider) ? `${base}/models/count-tokens:rawPredict` : `${base}/messages/count_tokens`
}

// Versions of models are written with an @.
function pathPart(model: string): string {
  return encodeURIComponent(model).replaceAll('%40', '@')
}

const ON_VERTEX = { anthropic_version: 'vertex-2023-10-16' }

export function messageBody(upstreamRequest: UpstreamRequest, provider: Provider): string {
  const { chat, identifiers, outputBound } = upstreamRequest
  const cap = upstreamRequest.outputTokens ?? outputBound
  const model = isOnVertex(provider) ? ON_VERTEX : { model: upstreamRequest.model }
  const fields: Record<string, unknown> = { ...model, max_tokens: cap }
  if (chat.stream) fields.stream = true
  if (identifiers.user !== undefined) fields.metadata = { user_id: identifiers.user }
  const thinking = thinkingWithin(chat.extras.get('thinking'), cap)
  if (thinking !== undefined) fields.thinking = thinking
  for (const name of provider.passthrough) {
    const isSet = TRANSLATED.has(name) || Object.hasOwn(chat.native ?? {}, name) || Object.hasOwn(fields, name)
    if (!isSet && chat.extras.has(name)) fields[name] = chat.extras.get(name)
  }
  return `${JSON.stringify(fields).slice(0, -1)},${(chat.nativeJson ?? '{}').slice(1)}`
}

// Listed for the adapter that translates: the one is sent in any case, the other is not Anthropic's.
const TRANSLATED: ReadonlySet<string> = new Set(['thinking', 'reasoning'])

// Only fields that the count knows: others are refused.
export function countBody({ chat, model }: UpstreamRequest, provider: Provider): string {
  const version = isOnVertex(provider) ? ON_VERTEX : {}
  const fields: Record<string, unknown> = { model, ...version, thinking: chat.extras.get('thinking') }
  for (const name of COUNTED) fields[name] = chat.native?.[name]
  return JSON.stringify(fields)
}

const COUNTED = [
  'messages',
  'system',
  'tools',
  'tool_choice',
  'output_config',
  'output_format',
  'context_management',
  'cache_control',
]

export function ignoredNatively(chat: Chat, { passthrough }: Provider): readonly string[] {
  const isSent = (name: string) =>
    name === 'thinking' ||
    Object.hasOwn(chat.native ?? {}, name) ||
    (passthrough.includes(name) && !TRANSLATED.has(name))
  const identifiers = Object.keys(chat.identifiers).filter(name => name !== 'user' && name !== 'session_id')
  return [...[...chat.extras.keys()].filter(name => !isSent(name)), ...identifiers, ...chat.leftOut]
}

// Reasoning is output: a budget above the held maximum would be produced and never paid for.
function thinkingWithin(thinking: unknown, cap: number): unknown {
  const { type, budget_tokens: budget } = (thinking ?? {}) as {
    readonly type?: unknown
    readonly budget_tokens?: unknown
  }
  if (type !== 'enabled' || typeof budget !== 'number' || budget < cap) return thinking
  return cap > BUDGET_MIN ? { ...(thinking as object), budget_tokens: cap - 1 } : undefined
}

// A smaller budget is refused.
const BUDGET_MIN = 1024
