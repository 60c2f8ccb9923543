// Converts the body of a Messages request to a Chat, or a Refusal that names the caller's field: its own schema first, then the
// translation by the rules of a chat, so that media, prices and identifiers are decided in one place. Pure.
import type { IncomingHttpHeaders } from 'node:http'
import { demand, parseChat } from '../../chat/parse-request.ts'
import { missing, validatorOf } from '../../chat/request-errors.ts'
import { isInline } from '../../chat/request-schema.ts'
import { checkPriced, checkPricedInside } from '../../chat/unpriced-fields.ts'
import type { Chat, Media } from '../../domain/chat.ts'
import { Refusal } from '../../domain/refusal.ts'
import { publicUrl } from '../../lib/egress.ts'
import { BETAS, CONTEXT_EDIT, isServerTool, SERVER_FIELDS } from './allowlists.ts'
import { BLOCKS, type BlockType, CountedEnvelope, Envelope, NATIVE } from './schema.ts'
import {
  type Block,
  isCustomTool,
  systemMessage,
  type Tool,
  type Translated,
  type Turn,
  toolChoiceOf,
  toolOf,
  turnMessages,
} from './translate.ts'

export function parseMessages(body: Record<string, unknown>, headers: IncomingHttpHeaders): Chat {
  return read(body, headers, Envelope)
}

// A request whose tokens are only counted need not name its maximum.
export function parseCounted(body: Record<string, unknown>, headers: IncomingHttpHeaders): Chat {
  return read(body, headers, CountedEnvelope)
}

type Body = {
  readonly model: string
  readonly max_tokens?: number
  readonly messages: readonly Turn[]
  readonly stream?: boolean
  readonly system?: string | readonly Block[]
  readonly tools?: readonly Tool[]
  readonly tool_choice?: { readonly type: string; readonly name?: string; readonly disable_parallel_tool_use?: boolean }
  readonly stop_sequences?: readonly string[]
  readonly thinking?: Thinking
  readonly output_config?: { readonly effort?: string; readonly format?: { readonly schema: object } }
  readonly output_format?: { readonly schema: object }
  readonly context_management?: { readonly edits?: readonly { readonly type: string }[] }
  readonly metadata?: Readonly<Record<string, unknown>>
  readonly [field: string]: unknown
}

type Thinking = { readonly type: string; readonly budget_tokens?: number; readonly display?: string }

// What is found on the way.
type Reading = {
  readonly leftOut: string[]
  readonly calls: Set<string>
  // Media that the translation does not have.
  readonly media: Media[]
  untranslatable: Chat['untranslatable']
}

function read(
  body: Record<string, unknown>,
  headers: IncomingHttpHeaders,
  schema: typeof Envelope | typeof CountedEnvelope,
): Chat {
  const reading: Reading = { leftOut: [], calls: new Set(), media: [], untranslatable: undefined }
  const extras = sortFields(body, reading)
  demand(validatorOf(schema), schema, body, '')
  const valid = body as Body
  for (const [index, turn] of valid.messages.entries()) checkTurn(turn, `messages.${index}`, reading)
  if (Array.isArray(valid.system))
    for (const [index, block] of valid.system.entries()) checkMark(block, `system.${index}`)
  checkFields(valid, reading)
  const tools = toolsOf(valid, reading)
  const nativeHeaders = betasOf(headers, reading)
  if ((valid.stop_sequences?.length ?? 0) > STOPS_MAX)
    cannotTranslate(
      reading,
      'stop_sequences',
      `stop_sequences may have at most ${STOPS_MAX} entries for this model's providers.`,
    )

  const translated = [
    ...(valid.system === undefined || valid.system.length === 0 ? [] : [systemMessage(valid.system)]),
    ...valid.messages.flatMap((turn, index) => turnMessages(turn, `messages.${index}`)),
  ]
  const chat = inOurNames(translated, () => parseChat(chatBody(valid, tools, translated)))
  const native = nativeOf(valid, tools)
  const nativeJson = JSON.stringify(native)
  const media = [...chat.media.map(entry => ({ ...entry, param: ownPath(entry.param, translated) })), ...reading.media]
  return {
    ...chat,
    dialect: 'messages',
    native,
    nativeJson,
    nativeHeaders,
    untranslatable: reading.untranslatable,
    effort: effortOf(valid),
    maxTokensName: 'max_tokens',
    promptBytes: Math.max(chat.promptBytes, nativeBytes(native, nativeJson, media.length > 0)),
    media,
    remoteMedia: media.find(({ isRemote }) => isRemote)?.param,
    forwarded: tools.length === 0 ? chat.forwarded : { ...chat.forwarded, tools: tools.map(toolOf) },
    extras: new Map([...chat.extras, ...nativeOnly(valid), ...extras]),
    leftOut: [...chat.leftOut, ...reading.leftOut],
  }
}

const STOPS_MAX = 4
const TOOLS_TRANSLATED_MAX = 128
const LEFT_OUT_NAMED_MAX = 32

// Takes what the dialect does not know out of the body: it is sent only to providers that list it as `passthrough`.
function sortFields(body: Record<string, unknown>, reading: Reading): Map<string, unknown> {
  const extras = new Map<string, unknown>()
  for (const name of Object.keys(body)) {
    const value = body[name]
    const isServers = SERVER_FIELDS.includes(name)
    if (value === null || isServers) {
      if (value !== null) leaveOut(reading, name)
      delete body[name]
    } else if (!Object.hasOwn(Envelope.properties, name)) {
      checkPriced(name, value, '')
      if (typeof value === 'object') checkPricedInside(value, name)
      extras.set(name, value)
      delete body[name]
    }
  }
  return extras
}

function checkTurn(turn: Turn, path: string, reading: Reading): void {
  const { role, content } = turn
  if ((role as string) === 'system')
    throw invalid(`${path}.role`, `${path}.role cannot be system; send instructions in the top-level system field.`)
  if (role !== 'user' && role !== 'assistant') throw invalid(`${path}.role`, `${path}.role must be user or assistant.`)
  if (typeof content === 'string') return
  if (content.length === 0 && role === 'user') throw invalid(`${path}.content`, `${path}.content must not be empty.`)
  for (const [index, block] of content.entries()) checkBlock(block, `${path}.content.${index}`, role, reading)
}

function checkBlock(block: Block, path: string, role: Turn['role'], reading: Reading): void {
  const isKnown = Object.hasOwn(BLOCKS, block.type)
  if (isKnown) demand(validatorOf(BLOCKS[block.type as BlockType]), BLOCKS[block.type as BlockType], block, path)
  checkMark(block, path)
  if (!isKnown || !PLACES[block.type as BlockType].includes(role)) checkUnknown(block, path, reading)
  else if (block.type === 'image') checkSource(block, path, 'image', reading)
  else if (block.type === 'document') checkSource(block, path, 'file', reading)
  else if (block.type === 'tool_use') reading.calls.add(block.id as string)
  else if (block.type === 'tool_result') checkResult(block, path, reading)
}

const PLACES: Readonly<Record<BlockType, readonly Turn['role'][]>> = {
  text: ['user', 'assistant'],
  image: ['user'],
  document: ['user'],
  tool_use: ['assistant'],
  tool_result: ['user'],
  thinking: ['assistant'],
  redacted_thinking: ['assistant'],
}

function checkResult(block: Block, path: string, reading: Reading): void {
  if (!reading.calls.has(block.tool_use_id as string)) {
    const param = `${path}.tool_use_id`
    throw invalid(param, `${param} does not match a tool_use block of an earlier message.`)
  }
  if (!Array.isArray(block.content)) return
  for (const [index, inner] of (block.content as Block[]).entries()) {
    const at = `${path}.content.${index}`
    if (inner.type === 'tool_use' || inner.type === 'tool_result') throw misplaced(at, inner.type)
    checkBlock(inner, at, 'user', reading)
  }
}

// Only what a provider cannot take from elsewhere is accepted: content inline, or at a public address.
function checkSource(block: Block, path: string, kind: Media['kind'], reading: Reading): void {
  const source = block.source as Record<string, unknown>
  const param = `${path}.source`
  if (source.type === 'base64' && !isInline(String(source.data)))
    throw invalid(`${param}.data`, `${param}.data must be base64.`)
  if (source.type === 'url') {
    source.url = checkedUrl(String(source.url), `${param}.url`)
    if (kind === 'image') return
    reading.media.push({ kind, param: `${param}.url`, isRemote: true })
    cannotTranslate(
      reading,
      param,
      "Documents by URL are not supported by this model's providers; send the data itself.",
    )
  }
  if (source.type !== 'content' || !Array.isArray(source.content)) return
  for (const [index, inner] of (source.content as Block[]).entries()) {
    const at = `${param}.content.${index}`
    if (inner.type !== 'text' && inner.type !== 'image') throw misplaced(at, inner.type)
    checkBlock(inner, at, 'user', reading)
  }
}

function checkedUrl(url: string, param: string): string {
  const address = /^https:\/\//i.test(url) ? publicUrl(url) : undefined
  if (address === undefined) throw invalid(param, `${param} must be an https: URL of a public host.`)
  return address
}

// A block of another type is passed to a provider that may know it. It must not name what is in the provider's storage, which all
// tenants share, and its addresses must be public.
function checkUnknown(block: Block, path: string, reading: Reading): void {
  checkReach(block, path, reading)
  const type = block.type.slice(0, 64)
  cannotTranslate(
    reading,
    `${path}.type`,
    `${path}: blocks of type ${type} are not supported by this model's providers.`,
  )
}

function checkReach(value: unknown, path: string, reading: Reading): void {
  if (Array.isArray(value)) {
    for (const [index, inner] of value.entries()) checkReach(inner, `${path}.${index}`, reading)
    return
  }
  if (typeof value !== 'object' || value === null) return
  const record = value as Record<string, unknown>
  if (record.file_id !== undefined && record.file_id !== null)
    throw new Refusal('unsupported_value', {
      param: `${path}.file_id`,
      message: 'Stored files are not supported; send the content itself.',
    })
  checkMark(record, path)
  if (record.type === 'url' && typeof record.url === 'string') {
    record.url = checkedUrl(record.url, `${path}.url`)
    reading.media.push({ kind: 'file', param: `${path}.url`, isRemote: true })
  }
  for (const name of Object.keys(record))
    if (name !== 'input') checkReach(record[name], `${path}.${name.slice(0, 64)}`, reading)
}

// A longer lifetime of a cache entry has another price.
function checkMark(block: Readonly<Record<string, unknown>>, path: string): void {
  if (block.cache_control !== undefined) checkPriced('cache_control', block.cache_control, path)
}

function checkFields(body: Body, reading: Reading): void {
  for (const name of ['cache_control', 'speed', 'inference_geo'])
    if (body[name] !== undefined) checkPriced(name, body[name], '')
  const { thinking, max_tokens: cap, context_management: management } = body
  if (thinking?.type === 'enabled' && thinking.budget_tokens === undefined) throw missing('thinking.budget_tokens')
  if (thinking?.type === 'enabled' && cap !== undefined && cap <= 1024)
    throw invalid('max_tokens', 'max_tokens must be greater than thinking.budget_tokens.')
  for (const [index, { type }] of (management?.edits ?? []).entries()) {
    if (CONTEXT_EDIT.test(type)) continue
    const param = `context_management.edits.${index}.type`
    throw new Refusal('unsupported_value', { param, message: `${param} with this value is not supported.` })
  }
  for (const name of Object.keys(body.metadata ?? {}))
    if (name !== 'user_id') leaveOut(reading, `metadata.${name.slice(0, 64)}`)
}

// Tools that run at the provider have no price here: they are left out, unless the model would be forced to use one.
function toolsOf({ tools = [], tool_choice: choice }: Body, reading: Reading): readonly Tool[] {
  const kept: Tool[] = []
  for (const [index, tool] of tools.entries()) {
    const path = `tools.${index}`
    checkMark(tool, path)
    if (isCustomTool(tool)) {
      if (tool.name === undefined) throw missing(`${path}.name`)
      if (tool.input_schema === undefined) throw missing(`${path}.input_schema`)
      kept.push(tool)
    } else if (isServerTool(tool.type as string)) leaveOut(reading, `tools.${tool.type}`)
    else {
      kept.push(tool)
      cannotTranslate(
        reading,
        `${path}.type`,
        `Tools of type ${tool.type} are not supported by this model's providers.`,
      )
    }
  }
  if (kept.length > TOOLS_TRANSLATED_MAX)
    cannotTranslate(
      reading,
      'tools',
      `tools may have at most ${TOOLS_TRANSLATED_MAX} entries for this model's providers.`,
    )
  const isForced =
    choice?.type === 'any'
      ? kept.length === 0
      : choice?.type === 'tool' && !kept.some(({ name }) => name === choice.name)
  if (!isForced) return kept
  const isLeftOut = kept.length < tools.length
  throw new Refusal(isLeftOut ? 'unsupported_value' : 'invalid_value', {
    param: 'tool_choice',
    message: isLeftOut
      ? 'tool_choice forces a tool that runs at the provider, which is not supported.'
      : 'tool_choice names no tool of the request.',
  })
}

function betasOf(headers: IncomingHttpHeaders, reading: Reading): Readonly<Record<string, string>> {
  const given = String(headers['anthropic-beta'] ?? '')
    .split(',')
    .map(value => value.trim())
    .filter(value => value !== '')
  for (const value of given) if (!BETAS.has(value)) leaveOut(reading, `anthropic-beta.${value.slice(0, 64)}`)
  const passed = [...new Set(given.filter(value => BETAS.has(value)))]
  return passed.length === 0 ? {} : { 'anthropic-beta': passed.join(',') }
}

function chatBody(body: Body, tools: readonly Tool[], translated: readonly Translated[]): Record<string, unknown> {
  const { tool_choice: choice, stop_sequences: stops, metadata, thinking } = body
  const format = body.output_config?.format ?? body.output_format
  const chat: Record<string, unknown> = {
    model: body.model,
    messages: translated.map(({ message }) => message),
    max_tokens: body.max_tokens,
    stream: body.stream,
    temperature: body.temperature,
    top_k: body.top_k,
    top_p: body.top_p,
    stop: stops === undefined || stops.length === 0 ? undefined : stops.slice(0, STOPS_MAX),
    user: metadata?.user_id,
    session_id: body.session_id,
    models: body.models,
    provider: body.provider,
    thinking: thinking && { ...thinking },
    ...(tools.length === 0 ? {} : { tools: tools.slice(0, TOOLS_TRANSLATED_MAX).map(toolOf) }),
    ...(tools.length === 0 || choice === undefined ? {} : { tool_choice: toolChoiceOf(choice) }),
    ...(choice?.disable_parallel_tool_use === true && tools.length > 0 ? { parallel_tool_calls: false } : {}),
    ...(format === undefined
      ? {}
      : {
          response_format: {
            type: 'json_schema',
            json_schema: { name: 'output', schema: format.schema, strict: true },
          },
        }),
  }
  for (const name of Object.keys(chat)) if (chat[name] === undefined) delete chat[name]
  return chat
}

// What a provider of the same dialect gets: without the fields that the gateway writes for each of them.
function nativeOf(body: Body, tools: readonly Tool[]): Readonly<Record<string, unknown>> {
  const native: Record<string, unknown> = { messages: body.messages }
  for (const name of Object.keys(NATIVE)) {
    if (name !== 'tools' && name !== 'tool_choice' && name !== 'thinking' && body[name] !== undefined)
      native[name] = body[name]
  }
  if (tools.length > 0) {
    native.tools = tools
    if (body.tool_choice !== undefined) native.tool_choice = body.tool_choice
  }
  return native
}

// Named as ignored where the request is translated.
function nativeOnly(body: Body): [string, unknown][] {
  return NATIVE_ONLY.flatMap(name => (body[name] === undefined ? [] : [[name, body[name]] as [string, unknown]]))
}

const NATIVE_ONLY = ['cache_control', 'context_management', 'service_tier', 'speed', 'inference_geo']

// Media of several megabytes is not measured by its bytes.
function nativeBytes(native: Readonly<Record<string, unknown>>, json: string, hasMedia: boolean): number {
  if (!hasMedia) return Buffer.byteLength(json)
  let mediaBytes = 0
  const visit = (content: unknown): void => {
    if (!Array.isArray(content)) return
    for (const block of content as Block[]) {
      const { data, type } = (block.source ?? {}) as { readonly data?: unknown; readonly type?: unknown }
      if (type === 'base64' && typeof data === 'string') mediaBytes += data.length
      visit(block.content)
      visit((block.source as { readonly content?: unknown } | undefined)?.content)
    }
  }
  for (const { content } of native.messages as readonly Turn[]) visit(content)
  return Buffer.byteLength(json) - mediaBytes
}

// A level for providers that know only levels.
function effortOf({ output_config: config, thinking }: Body): string | undefined {
  if (config?.effort !== undefined) return config.effort
  const { budget_tokens: budget } = thinking ?? {}
  if (thinking?.type !== 'enabled' || budget === undefined) return undefined
  if (budget <= 4096) return 'low'
  return budget <= 16_384 ? 'medium' : 'high'
}

// A refusal of the translation, with the caller's own names.
function inOurNames<Read>(translated: readonly Translated[], work: () => Read): Read {
  try {
    return work()
  } catch (error) {
    if (!(error instanceof Refusal) || error.detail.param === undefined) throw error
    const { param } = error.detail
    const own = ownPath(param, translated)
    throw new Refusal(error.code, { ...error.detail, param: own, message: error.message.replaceAll(param, own) })
  }
}

function ownPath(param: string, translated: readonly Translated[]): string {
  const [, place, part, rest = ''] = /^messages\.(\d+)(?:\.content\.(\d+))?(.*)$/.exec(param) ?? []
  const origin = place === undefined ? undefined : translated[Number(place)]
  if (origin === undefined) return OWN_NAMES[param] ?? param
  if (part === undefined) return origin.path
  const path = origin.parts[Number(part)] ?? origin.path
  return `${path}${PART_NAMES[rest] ?? ''}`
}

const OWN_NAMES: Readonly<Record<string, string>> = {
  stop: 'stop_sequences',
  user: 'metadata.user_id',
  response_format: 'output_config.format',
}
const PART_NAMES: Readonly<Record<string, string>> = {
  '.type': '.type',
  '.image_url.url': '.source.url',
  '.file.file_data': '.source.data',
}

function cannotTranslate(reading: Reading, param: string, message: string): void {
  reading.untranslatable ??= { param, message }
}

function leaveOut({ leftOut }: Reading, name: string): void {
  if (leftOut.length < LEFT_OUT_NAMED_MAX && !leftOut.includes(name)) leftOut.push(name)
}

function misplaced(path: string, type: string): Refusal {
  return invalid(`${path}.type`, `${path}.type cannot be ${type.slice(0, 64)} here.`)
}

function invalid(param: string, message: string): Refusal {
  return new Refusal('invalid_value', { param, message })
}
