// The request to a provider that speaks OpenAI's protocol: the caller's fields except those that this provider refuses, under the
// names that it knows. What does not depend on the chat is computed once per provider.
import type { Provider } from '../../domain/catalog.ts'
import type { Chat, Embedding } from '../../domain/chat.ts'
import type { Message, Part } from '../../domain/prompt.ts'
import { isKnownToReason } from '../../domain/reasoning.ts'
import { isRawJson } from '../../lib/raw-json.ts'
import type { UpstreamRequest } from '../adapter.ts'

export type RequestWriter = {
  body(upstreamRequest: UpstreamRequest): string
  // Of one call for embeddings.
  embeddingBody(upstreamRequest: UpstreamRequest, inputs: Embedding['inputs']): string
  // Names of the caller's fields that were left out.
  ignored(chat: Chat): readonly string[]
}

const MESSAGES = 'messages.'

export function requestWriter({ quirks, passthrough, maxTokensField }: Provider): RequestWriter {
  const leftOut = quirks.leavesOut.filter(name => !name.startsWith(MESSAGES))
  const leftOutOfMessages = quirks.leavesOut
    .filter(name => name.startsWith(MESSAGES))
    .map(name => name.slice(MESSAGES.length))

  // A provider stored before this field existed has none.
  const cacheKeyField = quirks.cacheKeyField ?? null
  const takesAll = quirks.developerRole && leftOutOfMessages.length === 0

  // Chats whose reasoning was sent as an effort.
  const reasoned = new WeakSet<Chat>()

  // The messages were serialised when they were measured; they are serialised again only if one cannot be sent unchanged.
  function messages({ dialect, messages, messagesJson }: Chat): string {
    if (dialect === 'messages') return JSON.stringify(messages.map(message => withoutMarks(plain(message))))
    return !takesAll && messages.some(isOdd) ? JSON.stringify(messages.map(plain)) : messagesJson
  }

  function isOdd(message: Message): boolean {
    if (!quirks.developerRole && message.role === 'developer') return true
    for (const name of leftOutOfMessages) if (message[name] !== undefined) return true
    return false
  }

  function plain(message: Message): Message {
    if (!isOdd(message)) return message
    const fields: Record<string, unknown> & Message = { ...message }
    for (const name of leftOutOfMessages) delete fields[name]
    return !quirks.developerRole && message.role === 'developer' ? { ...fields, role: 'system' } : fields
  }

  return {
    body(upstreamRequest) {
      const { chat, identifiers } = upstreamRequest
      const fields: Record<string, unknown> = { ...chat.forwarded }
      fields.model = upstreamRequest.model
      for (const name in identifiers) fields[name] = identifiers[name]
      for (const name of leftOut) if (fields[name] !== undefined) fields[name] = undefined
      if (cacheKeyField !== null && !leftOut.includes(cacheKeyField))
        fields[cacheKeyField] ??= upstreamRequest.accountMark
      for (const name of passthrough) {
        if (name !== cacheKeyField && chat.extras.has(name))
          fields[name] = withinCap(name, chat.extras.get(name), upstreamRequest.outputBound)
      }
      if (chat.effort !== undefined && !leftOut.includes(EFFORT) && sayEffort(fields, upstreamRequest))
        reasoned.add(chat)
      if (upstreamRequest.outputTokens !== null) fields[maxTokensField] = upstreamRequest.outputTokens
      if (chat.stream) {
        fields.stream = true
        // Usage is always requested, whatever the caller requested.
        if (quirks.streamOptions) fields.stream_options = { include_usage: true }
      }
      return `${JSON.stringify(fields).slice(0, -1)},"messages":${messages(chat)}}`
    },
    embeddingBody({ chat, model, vectors, identifiers }, inputs) {
      const fields: Record<string, unknown> = {
        model,
        // The caller's, so that vectors can be passed on unchanged.
        encoding_format: chat.embedding?.encoding,
        dimensions: vectors?.isResizable ? vectors.dimensions : undefined,
        user: identifiers.user,
      }
      for (const name of leftOut) if (fields[name] !== undefined) fields[name] = undefined
      for (const name of passthrough) if (chat.extras.has(name)) fields[name] = chat.extras.get(name)
      return JSON.stringify({ ...fields, input: inputs })
    },
    ignored(chat) {
      const isSaid = (name: string) => passthrough.includes(name) || (name === 'thinking' && reasoned.has(chat))
      const names: string[] = []
      for (const name of chat.extras.keys()) if (!isSaid(name)) names.push(name)
      for (const name of chat.leftOut) names.push(name)
      for (const name of leftOut) {
        if (Object.hasOwn(chat.forwarded, name) || Object.hasOwn(chat.identifiers, name)) names.push(name)
      }
      for (const name of leftOutOfMessages) {
        if (chat.messages.some(message => message[name] !== undefined)) names.push(`${MESSAGES}${name}`)
      }
      return names
    },
  }
}

// Markers of another dialect, which providers of this one refuse.
function withoutMarks(message: Message): Message {
  if (!Array.isArray(message.content)) return message
  const parts = message.content as readonly Part[]
  if (parts.every(part => part.cache_control === undefined)) return message
  return { ...message, content: parts.map(({ cache_control: _, ...part }) => part) }
}

const EFFORT = 'reasoning_effort'

// The caller speaks another dialect, in which every model accepts it; here, models that do not reason refuse it.
function sayEffort(fields: Record<string, unknown>, { chat, model }: UpstreamRequest): boolean {
  if (fields[EFFORT] !== undefined || !isKnownToReason({ id: model, targets: [] })) return false
  fields[EFFORT] = chat.effort === 'xhigh' || chat.effort === 'max' ? 'high' : chat.effort
  return true
}

// A reasoning budget is output too: one above the cap would be produced and never paid for.
function withinCap(name: string, value: unknown, cap: number): unknown {
  if (isRawJson(value) || typeof value === 'number' || typeof value === 'string') {
    const isWithin = Number(value) >= 0 && Number(value) <= cap
    return BUDGETS.has(name) && !isWithin ? cap : value
  }
  if (Array.isArray(value)) return value.map(part => withinCap(name, part, cap))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([inner, part]) => [inner, withinCap(inner, part, cap)]))
}

const BUDGETS = new Set(['budget_tokens', 'max_tokens', 'thinking_budget', 'reasoning_budget', 'thinkingBudget'])
