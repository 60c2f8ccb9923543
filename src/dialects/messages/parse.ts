// Converts the body of a Messages request to a Chat, or a Refusal that names the caller's field: its own schema first, then the
// translation by the rules of a chat, so that media, prices and identifiers are decided in one place. Pure.
import type { IncomingHttpHeaders } from 'node:http'
import { demand, parseTranslated } from '../../chat/parse-request.ts'
import { missing, validatorOf } from '../../chat/request-errors.ts'
import { checkPriced, checkPricedInside, hasLongCache, longCacheInside } from '../../chat/unpriced-fields.ts'
import type { Chat } from '../../domain/chat.ts'
import { Refusal } from '../../domain/refusal.ts'
import { inOwnPaths } from '../refusal-paths.ts'
import { BETAS, CONTEXT_EDIT, SERVER_FIELDS } from './allowlists.ts'
import { chatBody, effortOf, STOPS_MAX } from './chat-body.ts'
import { checkMark, checkTurn } from './content.ts'
import { nativeBytes, nativeOf, nativeOnly } from './native.ts'
import { withinChat } from './overflow.ts'
import { ownPath } from './own-paths.ts'
import { type Body, cannotTranslate, invalid, leaveOut, type Reading } from './reading.ts'
import { CountedEnvelope, Envelope } from './schema.ts'
import { TOOLS_TRANSLATED_MAX, toolsOf } from './tools.ts'
import { systemMessage, toolOf, turnMessages } from './translate.ts'

export function parseMessages(body: Record<string, unknown>, headers: IncomingHttpHeaders): Chat {
  return read(body, headers, Envelope)
}

// A request whose tokens are only counted need not name its maximum.
export function parseCounted(body: Record<string, unknown>, headers: IncomingHttpHeaders): Chat {
  return read(body, headers, CountedEnvelope)
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

  const system = valid.system === undefined || valid.system.length === 0 ? [] : [systemMessage(valid.system)]
  const turns = valid.messages.flatMap((turn, index) => turnMessages(turn, `messages.${index}`))
  const translated = withinChat([...system, ...turns], reading)
  const own = (param: string) => ownPath(param, translated)
  const chat = inOwnPaths(() => parseTranslated(chatBody(valid, tools, translated)), own)
  const native = nativeOf(valid, tools)
  const nativeJson = JSON.stringify(native)
  const media = [...chat.media.map(entry => ({ ...entry, param: own(entry.param) })), ...reading.media]
  return {
    ...chat,
    dialect: 'messages',
    native,
    nativeJson,
    nativeHeaders,
    untranslatable: reading.untranslatable,
    effort: effortOf(valid),
    maxTokensName: 'max_tokens',
    promptBytes: nativeBytes(native, nativeJson, media.length > 0) + ADDED_BYTES * (translated.length + tools.length),
    media,
    remoteMedia: media.find(({ isRemote }) => isRemote)?.param,
    // Text inside a string has its quotes escaped.
    longCache: nativeJson.includes('"ttl":"1h"') ? longCacheInside(native, '') : undefined,
    forwarded: tools.length <= TOOLS_TRANSLATED_MAX ? chat.forwarded : { ...chat.forwarded, tools: tools.map(toolOf) },
    extras: new Map([...chat.extras, ...nativeOnly(valid), ...extras]),
    leftOut: [...chat.leftOut, ...reading.leftOut],
  }
}

// What a translation may add to a message or a tool.
const ADDED_BYTES = 64

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

function checkFields(body: Body, reading: Reading): void {
  for (const name of ['cache_control', 'speed', 'inference_geo'])
    if (body[name] !== undefined && !(name === 'cache_control' && hasLongCache(body))) checkPriced(name, body[name], '')
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

function betasOf(headers: IncomingHttpHeaders, reading: Reading): Readonly<Record<string, string>> {
  const header = headers['anthropic-beta']
  if (header === undefined) return NO_HEADERS
  const given = String(header)
    .split(',')
    .map(value => value.trim())
    .filter(value => value !== '')
  for (const value of given) if (!BETAS.has(value)) leaveOut(reading, `anthropic-beta.${value.slice(0, 64)}`)
  const passed = [...new Set(given.filter(value => BETAS.has(value)))]
  return passed.length === 0 ? NO_HEADERS : { 'anthropic-beta': passed.join(',') }
}

const NO_HEADERS: Readonly<Record<string, string>> = {}
