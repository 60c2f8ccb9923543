// Translates the messages of a chat to the AI SDK's format: text, images and files, tool calls and their results, earlier
// reasoning, and cache markers. Pure.
import type { LanguageModelV4Message, LanguageModelV4Prompt, SharedV4ProviderOptions } from '@ai-sdk/provider'
import type { SdkKind } from '../../domain/presets.ts'
import type { Message, Part } from '../../domain/prompt.ts'
import { countMembers } from '../../lib/json-guard.ts'
import { mediaPart } from './media.ts'
import { thoughtParts } from './reasoning.ts'

type UserPart = Extract<LanguageModelV4Message, { role: 'user' }>['content'][number]
type AssistantPart = Extract<LanguageModelV4Message, { role: 'assistant' }>['content'][number]
type ResultPart = Extract<LanguageModelV4Message, { role: 'tool' }>['content'][number]
type ToolOutput = Extract<ResultPart, { type: 'tool-result' }>['output']

export function promptOf(messages: readonly Message[], kind: SdkKind): LanguageModelV4Prompt {
  const system: LanguageModelV4Message[] = []
  const spoken: LanguageModelV4Message[] = []
  const names = toolNames(messages)
  const left = { members: ARGUMENT_MEMBERS_MAX }
  for (const message of messages) {
    if (message.role === 'system' || message.role === 'developer') {
      // Most accept instructions only at the beginning.
      const to = kind === 'cohere' ? spoken : system
      to.push(...systemMessages(message, kind))
    } else if (message.role === 'user') spoken.push({ role: 'user', content: userParts(message, kind) })
    else if (message.role === 'assistant')
      spoken.push({ role: 'assistant', content: assistantParts(message, kind, left) })
    else addResult(spoken, resultPart(message, names, kind))
  }
  return [...system, ...spoken]
}

// The cache marker, for providers that need one. A longer lifetime has another price, so the provider's default is used.
export function cacheMark(part: Part | Message, kind: SdkKind): { providerOptions?: SharedV4ProviderOptions } {
  if (part.cache_control === undefined && part.prompt_cache_breakpoint === undefined) return {}
  const long = (part.cache_control as { readonly ttl?: unknown } | undefined)?.ttl === '1h' ? { ttl: '1h' } : {}
  if (kind === 'anthropic') return { providerOptions: { anthropic: { cacheControl: { type: 'ephemeral', ...long } } } }
  return kind === 'bedrock' ? { providerOptions: { amazonBedrock: { cachePoint: { type: 'default', ...long } } } } : {}
}

function systemMessages({ content }: Message, kind: SdkKind): LanguageModelV4Message[] {
  return partsOf(content).map(part => ({ role: 'system', content: textOf(part), ...cacheMark(part, kind) }))
}

function userParts({ content }: Message, kind: SdkKind): UserPart[] {
  return partsOf(content).map(part =>
    isText(part)
      ? { type: 'text', text: textOf(part), ...cacheMark(part, kind) }
      : { ...mediaPart(part, kind), ...cacheMark(part, kind) },
  )
}

function assistantParts(message: Message, kind: SdkKind, left: { members: number }): AssistantPart[] {
  const words = [...partsOf(message.content), ...(message.refusal === undefined ? [] : partsOf(message.refusal))]
  return [
    ...thoughtParts(message, kind),
    ...words
      .filter(part => textOf(part) !== '')
      .map(part => ({ type: 'text' as const, text: textOf(part), ...cacheMark(part, kind) })),
    ...callsOf(message).map(call => ({
      type: 'tool-call' as const,
      toolCallId: call.id,
      toolName: call.name,
      input: parsedOr(call.arguments, left),
      ...signatureOf(call),
    })),
  ]
}

type ToolCall = { readonly id: string; readonly name: string; readonly arguments: string; readonly signature: unknown }

function callsOf(message: Message): readonly ToolCall[] {
  const calls = ((message.tool_calls as readonly Part[] | undefined) ?? []).map(call => {
    const called = (call.function ?? call.custom) as { name: string; arguments?: string; input?: string }
    const extra = call.extra_content as { google?: { thought_signature?: unknown } } | undefined
    const signature = extra?.google?.thought_signature
    return { id: String(call.id), name: called.name, arguments: called.arguments ?? called.input ?? '', signature }
  })
  const old = message.function_call as { name: string; arguments: string } | undefined
  return old === undefined ? calls : [...calls, { ...old, id: old.name, signature: undefined }]
}

// Google signs the reasoning that led to a call and expects the signature back.
function signatureOf({ signature }: ToolCall): { providerOptions?: SharedV4ProviderOptions } {
  return typeof signature === 'string' ? { providerOptions: { google: { thoughtSignature: signature } } } : {}
}

// A result has only the id of its call; some providers need the function's name.
function toolNames(messages: readonly Message[]): ReadonlyMap<string, string> {
  return new Map(messages.flatMap(callsOf).map(call => [call.id, call.name]))
}

function resultPart(message: Message, names: ReadonlyMap<string, string>, kind: SdkKind): ResultPart {
  const name = typeof message.name === 'string' ? message.name : undefined
  const toolCallId = typeof message.tool_call_id === 'string' ? message.tool_call_id : (name ?? '')
  const parts = partsOf(message.content)
  const mark = parts.find(part => cacheMark(part, kind).providerOptions !== undefined)
  return {
    type: 'tool-result',
    toolCallId,
    toolName: names.get(toolCallId) ?? name ?? 'tool',
    output: outputOf(parts, kind),
    ...(mark === undefined ? {} : cacheMark(mark, kind)),
  }
}

function outputOf(parts: readonly Part[], kind: SdkKind): ToolOutput {
  if (parts.every(isText)) return { type: 'text', value: parts.map(textOf).join('') }
  const value = parts.map(part =>
    isText(part) ? { type: 'text' as const, text: textOf(part) } : mediaPart(part, kind),
  )
  return { type: 'content', value }
}

// Results of calls that were made together belong together.
function addResult(prompt: LanguageModelV4Message[], result: ResultPart): void {
  const last = prompt.at(-1)
  if (last?.role === 'tool') last.content.push(result)
  else prompt.push({ role: 'tool', content: [result] })
}

function partsOf(content: unknown): readonly Part[] {
  if (typeof content === 'string') return [{ type: 'text', text: content }]
  return Array.isArray(content) ? (content as Part[]) : []
}

function isText(part: Part): boolean {
  return part.type === 'text' || part.type === 'refusal'
}

function textOf(part: Part): string {
  return String(part.text ?? part.refusal ?? '')
}

// The arguments of a call, written by a model, are usually JSON. Where parsing would delay other requests, since they are nested too
// deeply or have more members than this prompt has left, they are the text of one argument: the packages would parse text alone.
function parsedOr(text: string, left: { members: number }): unknown {
  const members = countMembers(text, { depthMax: ARGUMENT_DEPTH_MAX, membersMax: left.members })
  if (typeof members !== 'number') return { input: text }
  left.members -= members + 1
  try {
    return JSON.parse(text === '' ? '{}' : text)
  } catch {
    return text
  }
}

const ARGUMENT_DEPTH_MAX = 200
const ARGUMENT_MEMBERS_MAX = 50_000
