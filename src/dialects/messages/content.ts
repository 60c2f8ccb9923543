// Checks the content of a Messages request, block by block: its schema, where it may stand, and what it would make a provider
// reach. Blocks of unknown types are kept for providers that know them.
import { demand } from '../../chat/parse-request.ts'
import { validatorOf } from '../../chat/request-errors.ts'
import { isDataUrl, isInline } from '../../chat/request-schema.ts'
import { checkPriced, hasLongCache } from '../../chat/unpriced-fields.ts'
import type { Media } from '../../domain/chat.ts'
import { Refusal } from '../../domain/refusal.ts'
import { publicUrl } from '../../lib/egress.ts'
import { cannotTranslate, invalid, misplaced, type Reading } from './reading.ts'
import { BLOCKS, type BlockType } from './schema.ts'
import type { Block, Turn } from './translate.ts'

export function checkTurn(turn: Turn, path: string, reading: Reading): void {
  const { role, content } = turn
  // Instructions may follow in the course of a conversation.
  if (role === 'system' && path === 'messages.0')
    throw invalid(`${path}.role`, `${path}.role cannot be system; send instructions in the top-level system field.`)
  if (!ROLES.includes(role)) throw invalid(`${path}.role`, `${path}.role must be user, assistant or system.`)
  if (typeof content === 'string') return
  if (content.length === 0 && role !== 'assistant')
    throw invalid(`${path}.content`, `${path}.content must not be empty.`)
  for (const [index, block] of content.entries()) checkBlock(block, `${path}.content.${index}`, role, reading)
}

function checkBlock(block: Block, path: string, role: Turn['role'], reading: Reading): void {
  const isKnown = Object.hasOwn(BLOCKS, block.type)
  if ((block.source as { readonly type?: unknown } | null | undefined)?.type === 'file') throw stored(`${path}.source`)
  if (isKnown) dropNulls(block)
  if (isKnown) demand(validatorOf(BLOCKS[block.type as BlockType]), BLOCKS[block.type as BlockType], block, path)
  checkMark(block, path)
  if (isKnown) checkOthers(block, path, reading)
  if (!isKnown || !PLACES[block.type as BlockType].includes(role)) checkUnknown(block, path, reading)
  else if (block.type === 'image') checkSource(block, path, 'image', reading)
  else if (block.type === 'document') checkSource(block, path, 'file', reading)
  else if (block.type === 'tool_use') reading.calls.add(block.id as string)
  else if (block.type === 'tool_result') checkResult(block, path, reading)
}

const ROLES: readonly string[] = ['user', 'assistant', 'system'] satisfies readonly Turn['role'][]

// An explicit null means absent. Clients write them often, and the schema would be searched for each.
function dropNulls(block: Record<string, unknown>): void {
  for (const name in block) if (block[name] === null) delete block[name]
}

const PLACES: Readonly<Record<BlockType, readonly Turn['role'][]>> = {
  text: ['user', 'assistant', 'system'],
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
  if (source.type === 'base64' && (isDataUrl(String(source.data)) || !isInline(String(source.data))))
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
  if (reading.untranslatable !== undefined) return
  const type = block.type.slice(0, 64)
  const message = `${path}: blocks of type ${type} are not supported by this model's providers.`
  cannotTranslate(reading, `${path}.type`, message)
}

// Fields of a known block that its schema does not have.
function checkOthers(block: Block, path: string, reading: Reading): void {
  const known = BLOCKS[block.type as BlockType].properties
  for (const name in block) {
    if (Object.hasOwn(known, name)) continue
    const value = block[name]
    checkAddress(name, value, path)
    if (typeof value === 'object' && value !== null) checkReach(value, `${path}.${name.slice(0, 64)}`, reading)
  }
}

function checkReach(value: object, path: string, reading: Reading): void {
  // A path is written only where something can be wrong: a body may have millions of members.
  if (Array.isArray(value)) {
    for (let index = 0; index < value.length; index++) {
      const inner: unknown = value[index]
      if (typeof inner === 'object' && inner !== null) checkReach(inner, `${path}.${index}`, reading)
    }
    return
  }
  const record = value as Record<string, unknown>
  checkFieldsOf(record, path, reading)
  for (const name of Object.keys(record)) {
    const inner = record[name]
    checkAddress(name, inner, path)
    // What a tool was called with is not fetched.
    if (typeof inner === 'object' && inner !== null && !(name === 'input' && isCall(record)))
      checkReach(inner, `${path}.${name.slice(0, 64)}`, reading)
  }
}

function checkFieldsOf(record: Record<string, unknown>, path: string, reading: Reading): void {
  if (record.file_id !== undefined && record.file_id !== null) throw stored(path)
  checkMark(record, path)
  if (record.type !== 'url' || typeof record.url !== 'string') return
  record.url = checkedUrl(record.url, `${path}.url`)
  reading.media.push({ kind: 'file', param: `${path}.url`, isRemote: true })
}

function isCall({ type }: Readonly<Record<string, unknown>>): boolean {
  return typeof type === 'string' && type.endsWith('tool_use')
}

// Under any name that says so; search results may have pages without https.
function checkAddress(name: string, value: unknown, path: string): void {
  if (typeof value !== 'string' || !/ur[il]$/i.test(name) || !/^[a-z][\w+.-]*:\/\//i.test(value)) return
  if (publicUrl(value.replace(/^http:/i, 'https:')) !== undefined) return
  const param = `${path}.${name.slice(0, 64)}`
  throw invalid(param, `${param} must be a URL of a public host.`)
}

// All tenants share the operator's storage at the provider.
function stored(path: string): Refusal {
  const message = 'Stored files are not supported; send the content itself.'
  return new Refusal('unsupported_value', { param: `${path}.file_id`, message })
}

// A longer lifetime of a cache entry has another price; the model decides about one hour.
export function checkMark(block: Readonly<Record<string, unknown>>, path: string): void {
  if (block.cache_control !== undefined && !hasLongCache(block)) checkPriced('cache_control', block.cache_control, path)
}
