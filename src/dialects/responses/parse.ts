// Converts the body of a Responses request to a Chat, or a Refusal that names the field by its own name. Rules about media,
// prices and identifiers are those of a chat: the body is translated to one and checked as one.
import type { TSchema } from 'typebox'
import { demand, parseChat } from '../../chat/parse-request.ts'
import { missing, validatorOf } from '../../chat/request-errors.ts'
import { Envelope as ChatEnvelope, IDENTIFIERS, REACHING } from '../../chat/request-schema.ts'
import { checkPricedFields } from '../../chat/unpriced-fields.ts'
import type { Chat } from '../../domain/chat.ts'
import { withoutMedia } from '../../domain/native-prompt.ts'
import { Refusal } from '../../domain/refusal.ts'
import { inOwnPaths } from '../refusal-paths.ts'
import { isCarried } from './carried-reasoning.ts'
import { type Item, messagesOf } from './items.ts'
import { ownPath } from './own-paths.ts'
import { Envelope, INCLUDED_MAX, ITEMS, type ItemType, PARTS, type PartType } from './schema.ts'
import type { ToolNames } from './tool-names.ts'
import { chatChoice, chatTool, checkTools } from './tools.ts'

type Body = Record<string, unknown>

export function parseResponses(body: Body): Chat {
  refuseState(body)
  const leftOut: string[] = []
  const extras = takeExtras(body, leftOut)
  dropUnread(body, leftOut)
  demand(validatorOf(Envelope), Envelope, body, '')
  const items = checkInput(body, leftOut)
  const names = checkTools(body, leftOut)
  const { messages, origins } = messagesOf(items, body.instructions as string | undefined, names)
  const native = nativeOf(body, items)

  const own = (param: string) => ownPath(param, origins, names)
  const chat = inOwnPaths(() => parseChat({ ...chatFields(body, names), ...extras, messages: [...messages] }), own)
  const media = chat.media.map(each => ({ ...each, param: own(each.param) }))
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
  demand(validatorOf(schema), schema, item, path)
  if (item.call_id !== undefined) checkCall(item, path, calls)
  const under = item.output === undefined ? 'content' : 'output'
  const parts = item[under]
  if (type === 'reasoning' || !Array.isArray(parts)) return
  for (const [index, part] of (parts as (Body & { type: PartType })[]).entries()) {
    const at = `${path}.${under}.${index}`
    const partSchema = schemaOf(PARTS, part.type, `${at}.type`)
    keepOnly(partSchema, part, at, `input.${under}`, leftOut)
    checkPricedFields(part, at)
    demand(validatorOf(partSchema), partSchema, part, at)
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
