// The request to a provider's Responses API: the caller's own, or a chat translated to it. Nothing is ever stored there.
import type { Provider } from '../../../domain/catalog.ts'
import type { Chat } from '../../../domain/chat.ts'
import type { Message, Part } from '../../../domain/prompt.ts'
import { isKnownToReason } from '../../../domain/reasoning.ts'
import type { UpstreamRequest } from '../../adapter.ts'
import { inputOf } from './input.ts'

type Fields = Record<string, unknown>

export type ResponsesRequestWriter = {
  body(upstreamRequest: UpstreamRequest, isPassed: boolean): string
  // Names of the caller's fields that were left out.
  ignored(chat: Chat, isPassed: boolean): readonly string[]
}

export function responsesRequestWriter({ quirks, passthrough }: Provider): ResponsesRequestWriter {
  const { leavesOut, developerRole } = quirks
  const cacheKeyField = quirks.cacheKeyField ?? null

  function extrasOf({ extras }: Chat): Fields {
    const sent = passthrough.filter(name => extras.has(name) && !OWN.has(name))
    return Object.fromEntries(sent.map(name => [name, extras.get(name)]))
  }

  return {
    body(upstreamRequest, isPassed) {
      const { chat, identifiers, outputTokens } = upstreamRequest
      const own = isPassed ? chat.native : translated(upstreamRequest, developerRole)
      const fields: Fields = { model: upstreamRequest.model, ...own, ...identifiers, ...extrasOf(chat) }
      for (const name of leavesOut) delete fields[name]
      if (cacheKeyField !== null && !leavesOut.includes(cacheKeyField))
        fields[cacheKeyField] ??= upstreamRequest.accountMark
      if (outputTokens !== null) fields.max_output_tokens = outputTokens
      if (chat.stream) fields.stream = true
      fields.store = false
      return JSON.stringify(fields)
    },
    ignored(chat, isPassed) {
      const names = [...chat.extras.keys()].filter(name => !passthrough.includes(name) || OWN.has(name))
      names.push(...chat.leftOut)
      const given = isPassed ? (chat.native ?? {}) : chat.forwarded
      for (const name of leavesOut) {
        if (Object.hasOwn(given, name) || Object.hasOwn(chat.identifiers, name)) names.push(name)
      }
      return isPassed ? names : [...new Set([...names, ...untranslated(chat)])]
    },
  }
}

// Set here, whatever a caller passes through.
const OWN: ReadonlySet<string> = new Set([
  'input',
  'instructions',
  'reasoning',
  'text',
  'include',
  'store',
  'background',
])

// Fields that both have, with the same meaning.
const SHARED: readonly string[] = [
  ...['metadata', 'parallel_tool_calls', 'prompt_cache_options', 'prompt_cache_retention', 'service_tier'],
  ...['temperature', 'top_logprobs', 'top_p'],
]

// Those that are said in another way.
const TRANSLATED: readonly string[] = [
  ...['function_call', 'functions', 'logprobs', 'reasoning_effort', 'response_format', 'store', 'tool_choice', 'tools'],
  'verbosity',
]
const KNOWN: ReadonlySet<string> = new Set([...SHARED, ...TRANSLATED])

// What a chat says and this API cannot.
function untranslated({ forwarded, messages }: Chat): readonly string[] {
  const names = Object.keys(forwarded).filter(name => !KNOWN.has(name))
  if (messages.some(({ role, name }) => name !== undefined && role !== 'function')) names.push('messages.name')
  if (messages.some(({ prefix }) => prefix !== undefined)) names.push('messages.prefix')
  const isMarked = ({ content }: Message) =>
    Array.isArray(content) && (content as readonly Part[]).some(part => part.cache_control !== undefined)
  if (messages.some(isMarked)) names.push('messages.content.cache_control')
  return names
}

function translated({ chat, model }: UpstreamRequest, developerRole: boolean): Fields {
  const { forwarded, messages } = chat
  const fields: Fields = {}
  for (const name of SHARED) if (forwarded[name] !== undefined) fields[name] = forwarded[name]
  fields.input = inputOf(messages, developerRole)
  const tools = toolsOf(forwarded)
  if (tools.length > 0) fields.tools = tools
  const choice = choiceOf(forwarded)
  if (choice !== undefined) fields.tool_choice = choice
  // A caller of this API has said more about these than a chat can.
  if (chat.native !== undefined && chat.dialect === 'responses') return { ...fields, ...picked(chat.native, RICHER) }
  const text = textOf(forwarded)
  if (text !== undefined) fields.text = text
  const effort = forwarded.reasoning_effort ?? translatedEffort(chat, model)
  if (effort !== undefined) fields.reasoning = { effort }
  const include = includeOf(forwarded, model, tools.length > 0)
  if (include.length > 0) fields.include = include
  return fields
}

// The caller speaks another dialect, in which every model accepts it; here, models that do not reason refuse it.
function translatedEffort({ effort }: Chat, model: string): string | undefined {
  if (effort === undefined || !isKnownToReason({ id: model, targets: [] })) return undefined
  return effort === 'max' ? 'xhigh' : effort
}

const RICHER: readonly string[] = ['include', 'reasoning', 'text', 'truncation']

function picked(fields: Readonly<Fields>, names: readonly string[]): Fields {
  return Object.fromEntries(names.flatMap(name => (fields[name] === undefined ? [] : [[name, fields[name]]])))
}

type Declared = {
  readonly name: string
  readonly description?: string
  readonly parameters?: unknown
  readonly strict?: unknown
}

// Here a function is strict unless it says otherwise.
function toolsOf({ tools, functions }: Chat['forwarded']): readonly Fields[] {
  const declared = ((tools as readonly Part[] | undefined) ?? []).map(tool => {
    if (tool.type === 'custom') return customTool(tool.custom as Fields)
    return functionTool(tool.function as Declared)
  })
  return [...declared, ...((functions as readonly Declared[] | undefined) ?? []).map(functionTool)]
}

function functionTool({ name, description, parameters, strict }: Declared): Fields {
  return {
    type: 'function',
    name,
    ...(description === undefined ? {} : { description }),
    parameters: parameters ?? { type: 'object', properties: {} },
    strict: strict ?? false,
  }
}

function customTool({ format, ...tool }: Fields): Fields {
  const { type, grammar } = (format ?? {}) as { type?: string; grammar?: Fields }
  const own = grammar === undefined ? format : { type, ...grammar }
  return { type: 'custom', ...tool, ...(own === undefined ? {} : { format: own }) }
}

function choiceOf({ tool_choice: choice, function_call: old }: Chat['forwarded']): unknown {
  if (choice === undefined) return typeof old === 'object' ? { type: 'function', ...old } : old
  if (typeof choice !== 'object' || choice === null) return choice
  const { type, allowed_tools: allowed } = choice as Part
  if (type !== 'allowed_tools') return namedTool(choice as Part)
  const { mode, tools } = allowed as { mode?: string; tools?: readonly Part[] }
  return { type, mode, tools: (tools ?? []).map(namedTool) }
}

function namedTool(tool: Part): Fields {
  return { type: tool.type, ...(tool[tool.type] as Fields | undefined) }
}

function textOf({ response_format: format, verbosity }: Chat['forwarded']): Fields | undefined {
  if (format === undefined && verbosity === undefined) return undefined
  const { type, json_schema: schema } = (format ?? {}) as { type?: string; json_schema?: Fields }
  return {
    ...(format === undefined ? {} : { format: { type, ...schema } }),
    ...(verbosity === undefined ? {} : { verbosity }),
  }
}

// Reasoning is worth its bytes where tools lead to another request; models that do not reason refuse to include it.
function includeOf({ logprobs }: Chat['forwarded'], model: string, hasTools: boolean): readonly string[] {
  const bare = model.slice(model.lastIndexOf('/') + 1)
  return [
    ...(hasTools && ENCRYPTS.test(bare) ? ['reasoning.encrypted_content'] : []),
    ...(logprobs === true ? ['message.output_text.logprobs'] : []),
  ]
}

const ENCRYPTS = /^(?:gpt-[5-9](?!.*-chat)|o[1-9](?:-|$)|codex-)/
