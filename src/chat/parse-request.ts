// Converts a parsed JSON body to a Chat that the rest may trust, or a Refusal that names the field. Pure.
import type { TSchema } from 'typebox'
import type { Chat, Media, MediaKind } from '../domain/chat.ts'
import { type Message, type Part, promptBytes } from '../domain/prompt.ts'
import { readReasoningPreference } from '../domain/reasoning.ts'
import { Refusal } from '../domain/refusal.ts'
import { publicUrl } from '../lib/egress.ts'
import { isRawJson } from '../lib/raw-json.ts'
import { dropNulls } from './drop-nulls.ts'
import { firstError, missing, notKnown, type Validator, validatorOf } from './request-errors.ts'
import {
  Envelope,
  FORWARDED,
  IDENTIFIERS,
  isDataUrl,
  isInline,
  MESSAGES,
  PARTS,
  type PartType,
  REACHING,
  RECORDS,
  type Role,
} from './request-schema.ts'
import { normalizePreferences, readPreferences } from './routing-preferences.ts'
import { checkPriced, checkPricedFields, checkPricedInside, longCacheIn } from './unpriced-fields.ts'

const envelope = validatorOf(Envelope)
const messages = lazily(MESSAGES)
const parts = lazily(PARTS)
const records = lazily(RECORDS)

export function parseChat(body: Record<string, unknown>): Chat {
  return read(body, true)
}

// The translation of a request in another dialect, which is measured and serialised as it was sent.
export function parseTranslated(body: Record<string, unknown>): Chat {
  return read(body, false)
}

function read(body: Record<string, unknown>, isSent: boolean): Chat {
  const { forwarded, identifiers, extras } = sortFields(body)
  const leftOut: string[] = []
  normalizePreferences(body, leftOut)
  demand(envelope, Envelope, body, '')
  checkRecord(body, 'logit_bias')
  checkRecord(body, 'metadata')
  nameOptions(body.stream_options as Readonly<Record<string, unknown>> | undefined, leftOut)
  const valid = body as { model: string; messages: Message[] } & Record<string, unknown>

  const media = valid.messages.flatMap((message, index) => checkMessage(message, `messages.${index}`, leftOut))
  checkTools(valid.tools as Part[] | undefined)
  for (const [index, declared] of ((valid.functions as Record<string, unknown>[] | undefined) ?? []).entries())
    checkPricedFields(declared, `functions.${index}`)
  const messagesJson = isSent ? JSON.stringify(valid.messages) : ''
  return {
    dialect: 'chat',
    model: valid.model,
    stream: valid.stream === true,
    includeUsage: (valid.stream_options as { include_usage?: boolean } | undefined)?.include_usage === true,
    n: (valid.n as number | undefined) ?? 1,
    maxTokens: maxTokensOf(valid),
    maxTokensName: valid.max_tokens === undefined ? 'max_completion_tokens' : 'max_tokens',
    messages: valid.messages,
    messagesJson,
    promptBytes: isSent ? promptBytes(valid, messagesJson, media.length > 0) : 0,
    media,
    remoteMedia: media.find(({ isRemote }) => isRemote)?.param,
    longCache: longCacheIn(valid.messages, valid.tools as Part[] | undefined),
    forwarded,
    identifiers: identifiers as Record<string, string>,
    extras,
    leftOut,
    preferences: readPreferences(valid),
    reasoning: readReasoningPreference(valid),
  }
}

// Most bodies contain no null and are searched for one only if something is wrong.
export function demand(check: Validator, schema: TSchema, value: unknown, path: string): void {
  if (check.Check(value) || (dropNulls(value, schema) && check.Check(value))) return
  throw firstError(schema, value, path)
}

// For a body that is valid except for nested values.
function checkRecord(body: Readonly<Record<string, unknown>>, name: keyof typeof RECORDS): void {
  const record = body[name] as Record<string, unknown> | undefined
  if (record === undefined) return
  const check = records(name)
  for (const key of Object.keys(record)) {
    const value = record[key]
    if (value === null) delete record[key]
    else if (!check.Check(value)) throw firstError(RECORDS[name], value, `${name}.${key.slice(0, 256)}`)
  }
}

// One of these is read, and none is forwarded unchanged.
function nameOptions(options: Readonly<Record<string, unknown>> | undefined, leftOut: string[]): void {
  for (const name in options) {
    if (name === 'include_usage' || options[name] === null || leftOut.length >= LEFT_OUT_NAMED_MAX) continue
    leftOut.push(`stream_options.${name.slice(0, 64)}`)
  }
}

// Decides for each field in one pass over the caller's fields.
function sortFields(body: Record<string, unknown>) {
  const forwarded: Record<string, unknown> = {}
  const identifiers: Record<string, unknown> = {}
  const extras = new Map<string, unknown>()
  for (const name of Object.keys(body)) {
    const value = body[name]
    const fate = FATES.get(name)
    // An explicit null means absent.
    if (value === null) {
      delete body[name]
      continue
    }
    if (fate !== undefined && name !== 'seed' && isRawJson(value)) throw unsafeInteger(name)
    checkPriced(name, value, '')
    if (fate === 'forwarded') forwarded[name] = value
    else if (fate === 'identifier') identifiers[name] = value
    else if (fate === undefined) extras.set(name, value)
    if (fate === undefined && typeof value === 'object') checkPricedInside(value, name)
    // Past 2⁵³ it is not a number to a schema, and its digits are forwarded unchanged.
    if (name === 'seed' && isRawJson(value)) delete body[name]
  }
  return { forwarded, identifiers, extras }
}

function checkMessage(message: Message, path: string, leftOut: string[]): Media[] {
  const record = message as Record<string, unknown>
  const check = Object.hasOwn(MESSAGES, message.role) ? messages(message.role as Role) : undefined
  if (check === undefined) {
    throw new Refusal('invalid_value', {
      param: `${path}.role`,
      message: `${path}.role must be one of ${Object.keys(MESSAGES).join(', ')}.`,
    })
  }
  keepOnly(fieldsOf(MESSAGES[message.role as Role]), record, path, 'messages', leftOut)
  demand(check, MESSAGES[message.role as Role], message, path)
  if (message.role === 'assistant') checkAssistant(message, path)
  if (!Array.isArray(message.content)) return []
  return (message.content as Part[]).flatMap((part, index) => checkPart(part, `${path}.content.${index}`, leftOut))
}

function checkAssistant(message: Message, path: string): void {
  const speaks = message.content !== null && message.content !== undefined
  if (
    !speaks &&
    message.tool_calls === undefined &&
    message.function_call === undefined &&
    message.refusal === undefined
  ) {
    throw new Refusal('missing_field', { param: `${path}.content`, message: `${path}.content is required.` })
  }
  for (const [index, call] of ((message.tool_calls as Part[] | undefined) ?? []).entries()) {
    if (call[call.type] === undefined) throw missing(`${path}.tool_calls.${index}.${call.type}`)
  }
  // Open to fields that a provider expects back, and so to fields that it may charge for.
  if (message.tool_calls !== undefined) checkPricedInside(message.tool_calls, `${path}.tool_calls`)
  if (message.reasoning_details !== undefined) checkPricedInside(message.reasoning_details, `${path}.reasoning_details`)
}

function checkPart(part: Part, path: string, leftOut: string[]): Media[] {
  const check = Object.hasOwn(PARTS, part.type) ? parts(part.type as PartType) : undefined
  if (check === undefined) {
    throw new Refusal('invalid_value', {
      param: `${path}.type`,
      message: `${path}.type must be one of ${Object.keys(PARTS).join(', ')}.`,
    })
  }
  const kind = { image_url: 'image', input_audio: 'audio', file: 'file' }[part.type] as MediaKind | undefined
  const record = part as Record<string, unknown>
  keepOnly(fieldsOf(PARTS[part.type as PartType]), record, path, 'messages.content', leftOut)
  if (kind !== undefined) checkMedia(part, path)
  if (part.cache_control !== undefined || part.prompt_cache_breakpoint !== undefined) checkMarks(record, path)
  demand(check, PARTS[part.type as PartType], part, path)
  if (kind === 'audio' || kind === 'file') checkInline(part, path)
  if (kind === undefined) return []
  const isRemote = kind === 'image' && checkAddress(part.image_url as { url: string }, `${path}.image_url.url`)
  return [{ kind, param: isRemote ? `${path}.image_url.url` : `${path}.type`, isRemote }]
}

// The names are checked before the schema, which would go through all of them several times.
function checkMarks(part: Readonly<Record<string, unknown>>, path: string): void {
  checkPricedFields(part, path, 'by model')
  for (const mark of MARKS) {
    const given = part[mark]
    if (typeof given !== 'object' || given === null) continue
    const known = fieldsOf(PARTS.text.properties[mark])
    for (const name of Object.keys(given)) if (!known.has(name)) throw notKnown(`${path}.${mark}.${name.slice(0, 64)}`)
  }
}

const MARKS = ['cache_control', 'prompt_cache_breakpoint'] as const

// Whether the part refers to a URL to be fetched. For a part that its schema accepts.
function checkAddress(image: { url: string }, param: string): boolean {
  if (isDataUrl(image.url)) return false
  const address = publicUrl(image.url)
  if (address === undefined) {
    const message = `${param} must be a data: URL, or an https: URL of a public host.`
    throw new Refusal('invalid_value', { param, message })
  }
  image.url = address
  return true
}

// For images, audio and files only the described fields are accepted: anything else may refer to something that is not the
// caller's.
function checkMedia(part: Part, path: string): void {
  const media = part[part.type]
  if (typeof media !== 'object' || media === null) return
  const known = fieldsOf(MEDIA[part.type as keyof typeof MEDIA])
  for (const name of Object.keys(media)) {
    const value = (media as Record<string, unknown>)[name]
    if (value === null) delete (media as Record<string, unknown>)[name]
    else if (!known.has(name)) throw outOfPlace(`${path}.${part.type}.${name}`.slice(0, 256))
  }
}

// For a part that its schema accepts.
function checkInline(part: Part, path: string): void {
  const media = part[part.type] as { readonly data?: string; readonly file_data?: string }
  const name = part.type === 'file' ? 'file_data' : 'data'
  if (isInline(media[name] ?? '')) return
  const param = `${path}.${part.type}.${name}`
  const message = `${param} must contain the data itself, as base64 or a data: URL.`
  throw new Refusal('invalid_value', { param, message })
}

const MEDIA = {
  image_url: PARTS.image_url.properties.image_url,
  input_audio: PARTS.input_audio.properties.input_audio,
  file: PARTS.file.properties.file,
} as const

// Keeps the listed fields that are not null in a message or part; `under` is the path under which the others are reported to the
// caller. The content of a message may be null.
function keepOnly(
  known: ReadonlySet<string>,
  record: Record<string, unknown>,
  path: string,
  under: string,
  leftOut: string[],
): void {
  for (const name of Object.keys(record)) {
    const isKnown = known.has(name)
    if (isKnown && (record[name] !== null || name === 'content')) continue
    if (!isKnown && record[name] !== null && REACHING.has(name)) throw outOfPlace(`${path}.${name}`)
    const isNamed = !isKnown && record[name] !== null && leftOut.length < LEFT_OUT_NAMED_MAX
    delete record[name]
    if (!isNamed) continue
    const named = `${under}.${name.slice(0, 64)}`
    if (!leftOut.includes(named)) leftOut.push(named)
  }
}

const LEFT_OUT_NAMED_MAX = 32

// Only a seed and fields that are not read here may have one.
function unsafeInteger(param: string): Refusal {
  return new Refusal('invalid_value', { param, message: `${param} exceeds the range of safe integers.` })
}

function outOfPlace(param: string): Refusal {
  return new Refusal('unsupported_value', { param, message: `${param} is not supported; send the content itself.` })
}

// The field names of a schema, looked up for every message and part.
function fieldsOf(schema: { readonly properties: object }): ReadonlySet<string> {
  let names = FIELDS.get(schema)
  if (names === undefined) {
    names = new Set(Object.keys(schema.properties))
    FIELDS.set(schema, names)
  }
  return names
}

const FIELDS = new Map<object, ReadonlySet<string>>()

function checkTools(tools: readonly Part[] | undefined): void {
  for (const [index, tool] of (tools ?? []).entries()) {
    const inner = tool[tool.type]
    if (inner === undefined) throw missing(`tools.${index}.${tool.type}`)
    checkPricedFields(tool, `tools.${index}`, 'by model')
    for (const name of ['function', 'custom']) {
      const member = tool[name]
      if (typeof member === 'object' && member !== null)
        checkPricedFields(member as Record<string, unknown>, `tools.${index}.${name}`)
    }
  }
}

function maxTokensOf(body: Record<string, unknown>): number | null {
  const { max_tokens: one, max_completion_tokens: other } = body as {
    max_tokens?: number
    max_completion_tokens?: number
  }
  if (one !== undefined && other !== undefined && one !== other) {
    throw new Refusal('invalid_value', {
      param: 'max_completion_tokens',
      message: 'max_tokens and max_completion_tokens have different values; send only one of them.',
    })
  }
  return one ?? other ?? null
}

// Fields that are in no list are sent only to providers that list them as `passthrough`.
const FATES: ReadonlyMap<string, 'forwarded' | 'identifier' | 'ours'> = new Map([
  ...Object.keys(Envelope.properties).map(name => [name, 'ours'] as const),
  ...FORWARDED.map(name => [name, 'forwarded'] as const),
  ...IDENTIFIERS.map(name => [name, 'identifier'] as const),
])

function lazily<Name extends string>(schemas: Readonly<Record<Name, TSchema>>) {
  return (name: Name) => validatorOf(schemas[name])
}
