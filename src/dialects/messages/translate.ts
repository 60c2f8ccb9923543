// Translates the checked content of a Messages request to OpenAI's chat messages and tools, and remembers where each part came
// from, so that an error in the translation names the caller's own field. Pure.
import type { Message, Part } from '../../domain/prompt.ts'
import { plainId, signatureIn } from './signed-ids.ts'

export type Block = { readonly type: string; readonly [field: string]: unknown }
export type Turn = { readonly role: 'user' | 'assistant' | 'system'; readonly content: string | readonly Block[] }
export type Tool = { readonly type?: string; readonly name?: string; readonly [field: string]: unknown }

// A chat message, the path of its origin, and those of its parts.
export type Translated = { readonly message: Message; readonly path: string; readonly parts: readonly string[] }

export function systemMessage(system: string | readonly Block[]): Translated {
  if (typeof system === 'string') return { message: { role: 'system', content: system }, path: 'system', parts: [] }
  const content = system.map(textPart)
  return { message: { role: 'system', content: contentOf(content) }, path: 'system', parts: pathsOf('system', content) }
}

// Results of tools come before the user's text in the same turn, since they must follow their calls directly.
export function turnMessages({ role, content }: Turn, path: string): readonly Translated[] {
  if (typeof content === 'string') return [{ message: { role, content }, path, parts: [] }]
  const placed = content.map((block, index) => ({ block, path: `${path}.content.${index}` }))
  if (role === 'system') return [instructions(placed, path)]
  return role === 'assistant' ? [assistantMessage(placed, path)] : userMessages(placed, path)
}

function instructions(placed: readonly Placed[], path: string): Translated {
  const spoken = placed.flatMap(partsOf)
  const content = contentOf(spoken.map(({ part }) => part))
  return { message: { role: 'system', content }, path, parts: spoken.map(part => part.path) }
}

export function toolOf(tool: Tool): Part {
  const { name, description, input_schema: parameters, strict } = tool
  const isCustom = isCustomTool(tool)
  const described = isCustom ? description : JSON.stringify(tool)
  return {
    type: 'function',
    function: {
      name: name ?? tool.type,
      ...(described === undefined ? {} : { description: described }),
      ...(parameters === undefined ? {} : { parameters }),
      ...(strict === undefined ? {} : { strict }),
    },
  }
}

export function isCustomTool({ type }: Tool): boolean {
  return type === undefined || type === 'custom'
}

export function toolChoiceOf(choice: { readonly type: string; readonly name?: string }): unknown {
  if (choice.type === 'any') return 'required'
  return choice.type === 'tool' ? { type: 'function', function: { name: choice.name } } : choice.type
}

type Placed = { readonly block: Block; readonly path: string }
type PlacedPart = { readonly part: Part; readonly path: string }

function userMessages(placed: readonly Placed[], path: string): readonly Translated[] {
  const results: Translated[] = []
  const spoken: PlacedPart[] = []
  for (const entry of placed) {
    if (entry.block.type === 'tool_result') {
      const { message, media } = resultOf(entry)
      results.push({ message, path: entry.path, parts: [entry.path] })
      spoken.push(...media)
    } else spoken.push(...partsOf(entry))
  }
  if (spoken.length === 0) return results
  const content = contentOf(spoken.map(({ part }) => part))
  return [...results, { message: { role: 'user', content }, path, parts: spoken.map(part => part.path) }]
}

// The result of a tool is text in a chat; its images and files follow in the user's message.
function resultOf({ block, path }: Placed): { readonly message: Message; readonly media: readonly PlacedPart[] } {
  const { content, tool_use_id, is_error, cache_control } = block
  const blocks = typeof content === 'string' ? [{ type: 'text', text: content }] : ((content ?? []) as readonly Block[])
  const parts = blocks.flatMap((inner, index) => partsOf({ block: inner, path: `${path}.content.${index}` }))
  const media = parts.filter(({ part }) => part.type !== 'text')
  const text = parts.flatMap(({ part }) => (part.type === 'text' ? [part.text as string] : [])).join('\n')
  const said = text === '' && media.length > 0 ? MEDIA_FOLLOWS : text
  const told = is_error === true && !/^error\b/i.test(said) ? `Error: ${said}` : said
  const mark = cache_control ?? blocks.findLast(inner => inner.cache_control !== undefined)?.cache_control
  const marked = mark === undefined || mark === null ? told : [{ type: 'text', text: told, cache_control: mark }]
  return { message: { role: 'tool', tool_call_id: plainId(tool_use_id as string), content: marked }, media }
}

const MEDIA_FOLLOWS = 'The result is attached to the next message.'

function assistantMessage(placed: readonly Placed[], path: string): Translated {
  const spoken: PlacedPart[] = []
  const calls: object[] = []
  const details: object[] = []
  for (const { block, path: at } of placed) {
    if (block.type === 'tool_use') calls.push(callOf(block))
    else if (block.type === 'thinking' || block.type === 'redacted_thinking')
      details.push(detailOf(block, details.length))
    else spoken.push(...partsOf({ block, path: at }))
  }
  const silent = calls.length > 0 ? null : ''
  const content = spoken.length === 0 ? silent : contentOf(spoken.map(({ part }) => part))
  const message = {
    role: 'assistant',
    content,
    ...(details.length === 0 ? {} : { reasoning_details: details }),
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
  }
  return { message, path, parts: spoken.map(part => part.path) }
}

function callOf({ id, name, input }: Block): object {
  const called = { name, arguments: JSON.stringify(input) }
  return { id: plainId(id as string), type: 'function', function: called, ...signatureIn(id as string) }
}

// As the adapters know it: a provider accepts its reasoning only with its own signature.
function detailOf({ type, thinking, signature, data }: Block, index: number): object {
  if (type === 'redacted_thinking') return { type: 'reasoning.encrypted', data, index }
  const isSigned = typeof signature === 'string' && signature !== ''
  return { type: 'reasoning.text', text: thinking, ...(isSigned ? { signature } : {}), index }
}

function partsOf({ block, path }: Placed): readonly PlacedPart[] {
  if (block.type === 'text') return [{ part: textPart(block), path }]
  if (block.type === 'image') return [{ part: imagePart(block), path }]
  if (block.type === 'document') return documentParts(block, path)
  // Served by a provider that knows the block; as text, it is counted.
  return [{ part: { type: 'text', text: JSON.stringify(block) }, path }]
}

function textPart(block: Block): Part {
  return { type: 'text', text: block.text, ...markOf(block) }
}

function imagePart(block: Block): Part {
  return { type: 'image_url', image_url: { url: addressOf(block.source as Source) }, ...markOf(block) }
}

type Source = { readonly type: string; readonly [field: string]: unknown }

// A text is sent as text, since few providers accept other files than PDF.
function documentParts(block: Block, path: string): readonly PlacedPart[] {
  const source = block.source as Source
  const { title, context } = block
  const about = [title, context].filter(words => typeof words === 'string' && words !== '')
  const text = (words: string) => ({ part: { type: 'text', text: words, ...markOf(block) }, path })
  if (source.type === 'text') return [text([...about, source.data].join('\n'))]
  if (source.type === 'url') return [text([...about, source.url].join('\n'))]
  if (source.type === 'content') {
    const { content } = source
    if (typeof content === 'string') return [text([...about, content].join('\n'))]
    const inner = (content as readonly Block[]).flatMap(part => partsOf({ block: part, path }))
    return about.length === 0 ? inner : [text(about.join('\n')), ...inner]
  }
  const filename = typeof title === 'string' && title !== '' ? title : 'document.pdf'
  const file = { file_data: addressOf(source), filename }
  const part = { part: { type: 'file', file, ...markOf(block) }, path }
  return typeof context === 'string' && context !== '' ? [text(context), part] : [part]
}

function addressOf({ type, media_type, data, url }: Source): string {
  return type === 'url' ? String(url) : `data:${media_type};base64,${data}`
}

function markOf({ cache_control }: Block): { cache_control?: unknown } {
  return cache_control === undefined || cache_control === null ? {} : { cache_control: plainMark(cache_control) }
}

function plainMark(mark: unknown): object {
  const { type, ttl } = mark as { type: string; ttl?: string }
  return ttl === undefined ? { type } : { type, ttl }
}

// A single text is sent as a string, which every provider accepts.
function contentOf(parts: readonly Part[]): unknown {
  const [only] = parts
  const isPlain = parts.length === 1 && only?.type === 'text' && only.cache_control === undefined
  return isPlain ? only.text : parts
}

function pathsOf(path: string, parts: readonly Part[]): readonly string[] {
  return parts.map((_, index) => `${path}.${index}`)
}
