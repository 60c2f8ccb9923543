// Converts the body of a Responses request to a Chat, or a Refusal that names the field by its own name. Rules about media,
// prices and identifiers are those of a chat: the body is translated to one and checked as one.
import type { TSchema } from 'typebox'
import { dropNulls } from '../../chat/drop-nulls.ts'
import { parseChat } from '../../chat/parse-request.ts'
import { firstError, missing, validatorOf } from '../../chat/request-errors.ts'
import { Envelope as ChatEnvelope, IDENTIFIERS, REACHING } from '../../chat/request-schema.ts'
import { checkPricedFields } from '../../chat/unpriced-fields.ts'
import type { Chat } from '../../domain/chat.ts'
import { withoutMedia } from '../../domain/native-prompt.ts'
import { Refusal } from '../../domain/refusal.ts'
import { isCarried, isRecord } from './carried-reasoning.ts'
import { type Item, messagesOf, type Origin } from './items.ts'
import { Envelope, INCLUDED_MAX, ITEMS, type ItemType, PARTS, type PartType, TOOLS, type ToolType } from './schema.ts'
import { type CallerTool, CUSTOM_ARGUMENT, type ToolNames, toolNames } from './tool-names.ts'

type Body = Record<string, unknown>

export function parseResponses(body: Body): Chat {
  refuseState(body)
  const leftOut: string[] = []
  const extras = takeExtras(body, leftOut)
  dropUnread(body, leftOut)
  demand(Envelope, body, '')
  const items = checkInput(body, leftOut)
  const names = checkTools(body, leftOut)
  const { messages, origins } = messagesOf(items, body.instructions as string | undefined, names)
  const native = nativeOf(body, items)

  const chat = asOwn(
    () => parseChat({ ...chatFields(body, names), ...extras, messages: [...messages] }),
    origins,
    names,
  )
  const media = chat.media.map(each => ({ ...each, param: ownPath(each.param, origins, names) }))
  return {
    ...chat,
    dialect: 'responses',
    native,
    includeUsage: true,
    maxTokensName: 'max_output_tokens',
    promptBytes: Math.max(chat.promptBytes, nativeBytes(native, media.length > 0)),
    media,
    remoteMedia: media.find(({ isRemote }) => isRemote)?.param,
    leftOut: [...new Set([...leftOut, ...chat.leftOut.map(name => name.replace(/^messages\b/, 'input'))])],
  }
}

// The names of the caller's tools, for the answer. The chat was parsed here.
export function namesOf({ native }: Pick<Chat, 'native'>): ToolNames {
  const tools = (native?.tools as Tool[] | undefined) ?? []
  return toolNames(tools.map(tool => ({ tool, path: '' })))
}

// Nothing is stored, so that nothing can be referred to.
function refuseState(body: Body): void {
  for (const [name, instead] of STATEFUL) {
    if (body[name] === undefined || body[name] === null || body[name] === false) continue
    throw new Refusal('unsupported_value', { param: name, message: `${name} is not supported: ${instead}` })
  }
}

const STATEFUL: readonly (readonly [string, string])[] = [
  ['previous_response_id', 'responses are not stored. Send the whole conversation as input.'],
  ['conversation', 'conversations are not stored. Send the whole conversation as input.'],
  ['background', 'responses are not stored. Read the answer of this request, as JSON or as a stream.'],
  ['prompt', 'prompts are not stored. Send the text itself as instructions or input.'],
]

// Fields that are in no list are sent only to providers that list them as `passthrough`. A chat's fields have no meaning here.
function takeExtras(body: Body, leftOut: string[]): Body {
  const extras: Body = {}
  for (const name of Object.keys(body)) {
    if (FIELDS.has(name) || UNREAD.has(name)) {
      if (body[name] === null) delete body[name]
      continue
    }
    if (Object.hasOwn(ChatEnvelope.properties, name)) leftOut.push(name)
    else if (body[name] !== null) extras[name] = body[name]
    delete body[name]
  }
  return extras
}

const FIELDS: ReadonlySet<string> = new Set(Object.keys(Envelope.properties))

// Known to have no effect here: they are about state, or about tools of the provider.
const UNREAD: ReadonlySet<string> = new Set([
  ...['background', 'client_metadata', 'conversation', 'max_tool_calls', 'previous_response_id', 'prompt'],
  'context_management',
])
const UNNAMED: ReadonlySet<string> = new Set(['client_metadata', 'background'])

function dropUnread(body: Body, leftOut: string[]): void {
  for (const name of UNREAD) {
    if (body[name] !== undefined && !UNNAMED.has(name)) leftOut.push(name)
    delete body[name]
  }
  // Only the kinds of additional data that the caller's own tools can have. A longer list is refused by the schema.
  const { include } = body
  if (Array.isArray(include) && include.length <= INCLUDED_MAX) {
    for (const kind of include) {
      if (typeof kind === 'string' && !INCLUDED.has(kind)) leftOut.push(`include.${kind.slice(0, 64)}`)
    }
    body.include = include.filter(kind => typeof kind !== 'string' || INCLUDED.has(kind))
  }
}

export const ENCRYPTED = 'reasoning.encrypted_content'
const LOGPROBS = 'message.output_text.logprobs'
const INCLUDED: ReadonlySet<string> = new Set([ENCRYPTED, LOGPROBS])

function demand(schema: TSchema, value: unknown, path: string): void {
  const check = validatorOf(schema)
  if (check.Check(value) || (dropNulls(value, schema) && check.Check(value))) return
  throw firstError(schema, value, path)
}

function checkInput(body: Body, leftOut: string[]): readonly Item[] {
  if (typeof body.input === 'string') return [{ type: 'message', role: 'user', content: body.input }]
  const items = body.input as Item[]
  const calls = new Set<unknown>()
  for (const [index, item] of items.entries()) checkItem(item, `input.${index}`, calls, leftOut)
  return items
}

function checkItem(item: Item, path: string, calls: Set<unknown>, leftOut: string[]): void {
  const type = item.type ?? (item.role === undefined ? undefined : 'message')
  if (type === undefined || type === null) throw missing(`${path}.type`)
  if (type === 'item_reference') {
    const message = `${path}.type item_reference is not supported: responses are not stored. Send the item itself.`
    throw new Refusal('unsupported_value', { param: `${path}.type`, message })
  }
  const schema = schemaOf(ITEMS, type as ItemType, `${path}.type`)
  keepOnly(schema, item as Body, path, 'input', leftOut)
  demand(schema, item, path)
  if (item.call_id !== undefined) checkCall(item, path, calls)
  const under = item.output === undefined ? 'content' : 'output'
  const parts = item[under]
  if (type === 'reasoning' || !Array.isArray(parts)) return
  for (const [index, part] of (parts as (Body & { type: PartType })[]).entries()) {
    const at = `${path}.${under}.${index}`
    const partSchema = schemaOf(PARTS, part.type, `${at}.type`)
    keepOnly(partSchema, part, at, `input.${under}`, leftOut)
    checkPricedFields(part, at)
    demand(partSchema, part, at)
  }
}

// A result belongs to a call.
function checkCall({ type, call_id }: Item, path: string, calls: Set<unknown>): void {
  if (type === 'function_call' || type === 'custom_tool_call') calls.add(call_id)
  else if (!calls.has(call_id)) {
    const message = `${path}.call_id names no earlier tool call of the input.`
    throw new Refusal('invalid_value', { param: `${path}.call_id`, message })
  }
}

function schemaOf<Type extends string>(schemas: Readonly<Record<Type, TSchema>>, type: Type, param: string): TSchema {
  if (Object.hasOwn(schemas, type)) return schemas[type]
  const message = `${param} must be one of ${Object.keys(schemas).join(', ')}.`
  throw new Refusal('invalid_value', { param, message })
}

// What a provider would fetch, or take from its storage, is refused; other unknown fields are omitted and named.
function keepOnly(schema: TSchema, record: Body, path: string, under: string, leftOut: string[]): void {
  const known = (schema as unknown as { readonly properties: object }).properties
  for (const name of Object.keys(record)) {
    if (record[name] === null) delete record[name]
    else if (!Object.hasOwn(known, name)) {
      if (REACHING.has(name)) {
        const param = `${path}.${name}`
        throw new Refusal('unsupported_value', {
          param,
          message: `${param} is not supported; send the content itself.`,
        })
      }
      delete record[name]
      const named = `${under}.${name.slice(0, 64)}`
      if (leftOut.length < LEFT_OUT_NAMED_MAX && !leftOut.includes(named)) leftOut.push(named)
    }
  }
}

const LEFT_OUT_NAMED_MAX = 32

type Tool = Body & { type: string; name: string }

// Tools of the provider are left out and named. Afterwards the body has only the caller's.
function checkTools(body: Body, leftOut: string[]): ToolNames {
  const kept: { tool: Tool; path: string }[] = []
  for (const [index, tool] of ((body.tools as Tool[] | undefined) ?? []).entries()) {
    const path = `tools.${index}`
    if (!Object.hasOwn(TOOLS, tool.type)) {
      const named = `tools.${tool.type.slice(0, 64)}`
      if (!leftOut.includes(named)) leftOut.push(named)
      continue
    }
    checkTool(TOOLS[tool.type as ToolType], tool, path)
    for (const [inside, inner] of ((tool.tools as Tool[] | undefined) ?? []).entries())
      checkTool(TOOLS[inner.type as ToolType], inner, `${path}.tools.${inside}`)
    kept.push({ tool, path })
  }
  const names = toolNames(kept)
  if (kept.length > 0) body.tools = kept.map(({ tool }) => tool)
  else delete body.tools
  checkChoice(body, names)
  return names
}

function checkTool(schema: TSchema, tool: Tool, path: string): void {
  demand(schema, tool, path)
  checkPricedFields(tool, path)
}

// A choice that cannot be met is refused, since its caller relies on it.
function checkChoice(body: Body, { tools }: ToolNames): void {
  const choice = body.tool_choice
  if (choice === undefined) return
  if (typeof choice === 'string') {
    if (tools.length === 0 && choice !== 'required') delete body.tool_choice
    if (tools.length === 0 && choice === 'required') throw forced('tool_choice')
    return
  }
  const { type, tools: allowed } = choice as Body
  if (type === 'allowed_tools') {
    if (!Array.isArray(allowed)) throw missing('tool_choice.tools')
    const usable = allowed.filter(each => isRecord(each) && Object.hasOwn(TOOLS, String(each.type)))
    if (usable.length === 0) throw forced('tool_choice.tools')
    body.tool_choice = { ...(choice as Body), tools: usable }
    return
  }
  if (type !== 'function' && type !== 'custom') throw forced('tool_choice.type')
  if (typeof (choice as Body).name !== 'string') throw missing('tool_choice.name')
}

function forced(param: string): Refusal {
  const message = `${param} requires a tool that is not offered here; only function, custom and namespace tools are.`
  return new Refusal('unsupported_value', { param, message })
}

// The fields of a chat that say the same.
function chatFields(body: Body, names: ToolNames): Body {
  const {
    reasoning = {},
    text = {},
    include = [],
  } = body as {
    reasoning?: Body
    text?: { format?: Body; verbosity?: string }
    include?: readonly string[]
  }
  const fields: Body = {}
  for (const name of SHARED) if (body[name] !== undefined) fields[name] = body[name]
  for (const name of IDENTIFIERS) if (body[name] !== undefined) fields[name] = body[name]
  if (body.max_output_tokens !== undefined) fields.max_completion_tokens = body.max_output_tokens
  if (reasoning.effort !== undefined) fields.reasoning_effort = reasoning.effort
  if (text.verbosity !== undefined) fields.verbosity = text.verbosity
  if (text.format !== undefined && text.format.type !== 'text') fields.response_format = chatFormat(text.format)
  if (include.includes(LOGPROBS) || Number(body.top_logprobs ?? 0) > 0) fields.logprobs = true
  if (names.tools.length > 0) {
    fields.tools = names.tools.map(chatTool)
    if (body.tool_choice !== undefined) fields.tool_choice = chatChoice(body.tool_choice, names)
    if (body.parallel_tool_calls !== undefined) fields.parallel_tool_calls = body.parallel_tool_calls
  }
  return fields
}

const SHARED: readonly string[] = [
  ...['model', 'models', 'provider', 'stream', 'temperature', 'top_p', 'top_logprobs', 'metadata', 'service_tier'],
  ...['prompt_cache_retention', 'prompt_cache_options'],
]

function chatFormat({ type, ...format }: Body): Body {
  return type === 'json_schema' ? { type, json_schema: format } : { type }
}

function chatTool({ flat, tool, type }: CallerTool): Body {
  const { description, parameters, strict } = tool
  if (type === 'custom') return { type: 'function', function: customFunction(flat, tool) }
  const declared = { name: flat, description, parameters, strict }
  return {
    type: 'function',
    function: Object.fromEntries(Object.entries(declared).filter(([, value]) => value != null)),
  }
}

function customFunction(name: string, { description = '', format }: Body): Body {
  const { definition, syntax } = (format ?? {}) as { definition?: string; syntax?: string }
  const grammar = definition === undefined ? '' : `\n\nThe input must follow this ${syntax} grammar:\n${definition}`
  return {
    name,
    description: `${description}${grammar}`,
    parameters: {
      type: 'object',
      properties: { [CUSTOM_ARGUMENT]: { type: 'string', description: 'The whole input of the tool, as plain text.' } },
      required: [CUSTOM_ARGUMENT],
      additionalProperties: false,
    },
  }
}

function chatChoice(choice: unknown, names: ToolNames): unknown {
  if (typeof choice === 'string') return choice
  const { type, name, namespace, mode, tools } = choice as Body
  const called = (tool: Body) => ({
    type: 'function',
    function: { name: names.flat(String(tool.name), tool.namespace as string | undefined) },
  })
  if (type !== 'allowed_tools') return called({ name, namespace })
  // A namespace stands for all of its tools, once.
  const inside = Map.groupBy(names.tools, each => each.namespace)
  const allowed: Body[] = []
  for (const tool of tools as Body[]) {
    if (tool.type !== 'namespace') allowed.push(called(tool))
    else {
      for (const each of inside.get(String(tool.name)) ?? []) allowed.push(called(each))
      inside.delete(String(tool.name))
    }
  }
  return { type, allowed_tools: { mode: mode ?? 'auto', tools: allowed } }
}

// The caller's own request for a provider that speaks it. Identifiers are added as hashes; `store` and the rest are ours.
function nativeOf(body: Body, items: readonly Item[]): Body {
  const native: Body = {}
  for (const name of Object.keys(body)) if (!OURS.has(name)) native[name] = body[name]
  native.input = typeof body.input === 'string' ? body.input : items.filter(isNative)
  if (Array.isArray(native.include) && native.include.length === 0) delete native.include
  return native
}

const OURS: ReadonlySet<string> = new Set([
  ...['model', 'models', 'provider', 'stream', 'stream_options', 'max_output_tokens', 'store'],
  ...IDENTIFIERS,
])

// Reasoning that the provider does not have, or that is another's, is an error to it.
function isNative({ type, encrypted_content: content, content: plain }: Item): boolean {
  if (type !== 'reasoning') return true
  return typeof content === 'string' ? !isCarried(content) : plain !== undefined
}

// Media are not measured by their bytes.
function nativeBytes({ input, instructions, tools, text }: Body, hasMedia: boolean): number {
  const prompt = [input, instructions, tools, text]
  return Buffer.byteLength(hasMedia ? JSON.stringify(prompt, withoutMedia) : JSON.stringify(prompt))
}

// Refusals of the chat, with the caller's own names.
function asOwn<T>(parse: () => T, origins: readonly Origin[], names: ToolNames): T {
  try {
    return parse()
  } catch (error) {
    if (!(error instanceof Refusal) || error.detail.param === undefined) throw error
    const { param } = error.detail
    const own = ownPath(param, origins, names)
    throw new Refusal(error.code, { ...error.detail, param: own, message: error.message.replaceAll(param, own) })
  }
}

function ownPath(param: string, origins: readonly Origin[], { tools }: ToolNames): string {
  const [first = '', index, ...rest] = param.split('.')
  if (first === 'messages') {
    const origin = index === undefined ? undefined : origins[Number(index)]
    if (origin === undefined) return 'input'
    const [under, part, ...inside] = rest
    const path = under === 'content' ? origin.parts[Number(part)] : undefined
    if (path !== undefined) return [path, ...inside].join('.').replace(/\.(image_url\.url|file\.file_data)$/, INNER)
    return [origin.path, ...rest].join('.')
  }
  if (first === 'tools') return (index === undefined ? undefined : tools[Number(index)]?.path) ?? 'tools'
  return TOP.get(first) ?? param
}

const INNER = (path: string) => (path === '.image_url.url' ? '.image_url' : '.file_data')

const TOP: ReadonlyMap<string, string> = new Map([
  ['max_completion_tokens', 'max_output_tokens'],
  ['reasoning_effort', 'reasoning.effort'],
  ['response_format', 'text.format'],
  ['verbosity', 'text.verbosity'],
])
