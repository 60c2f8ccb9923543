// The input items of a Responses request as the messages of a chat. What one turn of the model wrote (reasoning, text, calls)
// becomes one message, as chat providers expect it.
import type { Message } from '../../domain/prompt.ts'
import { type CarriedAllowance, carried, carriedAllowance, isCarried } from './carried-reasoning.ts'
import { customArguments, type ToolNames } from './tool-names.ts'

export type Item = Readonly<Record<string, unknown>> & { readonly type?: string }
type Part = Readonly<Record<string, unknown>> & { readonly type: string }

// The caller's path of a message, and of each of its parts.
export type Origin = { readonly path: string; readonly parts: readonly string[] }

export type ChatInput = { readonly messages: readonly Message[]; readonly origins: readonly Origin[] }

// For items that their schemas accept.
export function messagesOf(items: readonly Item[], instructions: string | undefined, names: ToolNames): ChatInput {
  const writing: Writing = {
    messages: [],
    origins: [],
    turn: undefined,
    images: [],
    extras: new Map(),
    allowance: carriedAllowance(),
    names,
  }
  if (instructions !== undefined) push(writing, { role: 'system', content: instructions }, 'instructions')
  for (const [index, item] of items.entries()) addItem(writing, item, `input.${index}`)
  endTurn(writing)
  giveImages(writing)
  return writing
}

type Call = Record<string, unknown> & { readonly id: string }
type Turn = {
  readonly path: string
  readonly reasoning: Record<string, unknown>
  content: Part[]
  paths: string[]
  refusal: string | undefined
  calls: Call[]
}

type Writing = {
  readonly messages: Message[]
  readonly origins: Origin[]
  // What the model has written since the last message of another role.
  turn: Turn | undefined
  // Media in the results of tools, which a chat's tool message cannot have.
  images: { readonly part: Part; readonly path: string }[]
  // Carried fields of calls that follow.
  readonly extras: Map<string, Readonly<Record<string, unknown>>>
  readonly allowance: CarriedAllowance
  readonly names: ToolNames
}

function push({ messages, origins }: Writing, message: Message, path: string, parts: readonly string[] = []): void {
  messages.push(message)
  origins.push({ path, parts })
}

function addItem(writing: Writing, item: Item, path: string): void {
  const { names } = writing
  switch (item.type) {
    case 'reasoning':
      addReasoning(writing, item, path)
      return
    case 'function_call': {
      const name = names.flat(item.name as string, item.namespace as string | undefined)
      addCall(writing, item, { name, arguments: item.arguments as string }, path)
      return
    }
    case 'custom_tool_call': {
      const name = names.flat(item.name as string, item.namespace as string | undefined)
      addCall(writing, item, { name, arguments: customArguments(item.input as string) }, path)
      return
    }
    case 'function_call_output':
    case 'custom_tool_call_output':
      addOutput(writing, item, path)
      return
    default:
      addMessage(writing, item, path)
  }
}

function addMessage(writing: Writing, item: Item, path: string): void {
  const { role, content } = item as { role: string; content: string | Part[] }
  if (role === 'assistant') {
    addWords(writing, content, path)
    return
  }
  endTurn(writing)
  giveImages(writing)
  if (typeof content === 'string' || content.length === 0) {
    push(writing, { role, content: content.length === 0 ? '' : content }, path)
    return
  }
  const paths = content.map((_, index) => `${path}.content.${index}`)
  push(writing, { role, content: content.map(chatPart) }, path, paths)
}

function addWords(writing: Writing, content: string | Part[], path: string): void {
  // A second text without a call between them is a message of its own.
  if (writing.turn !== undefined && writing.turn.calls.length === 0 && hasWords(writing.turn)) endTurn(writing)
  const turn = openTurn(writing, path)
  const parts = typeof content === 'string' ? [{ type: 'output_text', text: content }] : content
  for (const [index, part] of parts.entries()) {
    if (part.type === 'refusal') turn.refusal = (turn.refusal ?? '') + (part.refusal as string)
    else {
      turn.content.push(chatPart(part))
      turn.paths.push(typeof content === 'string' ? `${path}.content` : `${path}.content.${index}`)
    }
  }
}

function addReasoning(writing: Writing, item: Item, path: string): void {
  const content = item.encrypted_content
  if (typeof content !== 'string') return
  if (writing.turn !== undefined && writing.turn.calls.length === 0 && hasWords(writing.turn)) endTurn(writing)
  const { reasoning } = openTurn(writing, path)
  if (!isCarried(content)) {
    const id = typeof item.id === 'string' ? { id: item.id } : {}
    addDetails(reasoning, [{ type: 'reasoning.encrypted', format: OPENAI_FORMAT, ...id, data: content }])
    return
  }
  const { message = {}, calls = {} } = carried(content, writing.allowance) ?? {}
  for (const [name, value] of Object.entries(message)) {
    if (name === 'reasoning_details' && Array.isArray(value)) addDetails(reasoning, value)
    else if (typeof value === 'string') reasoning[name] = ((reasoning[name] as string | undefined) ?? '') + value
  }
  for (const [id, fields] of Object.entries(calls)) writing.extras.set(id, fields)
}

// The format's name in `reasoning_details`, as OpenRouter uses it.
const OPENAI_FORMAT = 'openai-responses-v1'

function addDetails(reasoning: Record<string, unknown>, details: readonly unknown[]): void {
  reasoning.reasoning_details ??= []
  for (const detail of details) (reasoning.reasoning_details as unknown[]).push(detail)
}

function addCall(writing: Writing, item: Item, called: { name: string; arguments: string }, path: string): void {
  const id = item.call_id as string
  openTurn(writing, path).calls.push({ ...writing.extras.get(id), id, type: 'function', function: called })
}

function addOutput(writing: Writing, item: Item, path: string): void {
  endTurn(writing)
  const { call_id: id, output } = item as unknown as { call_id: string; output: string | Part[] }
  if (typeof output === 'string') {
    push(writing, { role: 'tool', tool_call_id: id, content: output }, path)
    return
  }
  const words: unknown[] = []
  const paths: string[] = []
  for (const [index, part] of output.entries()) {
    const at = `${path}.output.${index}`
    if (part.type === 'input_image' || part.type === 'input_file') writing.images.push({ part, path: at })
    else {
      words.push(chatPart(part))
      paths.push(at)
    }
  }
  const content = words.length > 0 ? words : output.length > 0 ? SEE_BELOW : ''
  push(writing, { role: 'tool', tool_call_id: id, content }, path, paths)
}

const SEE_BELOW = 'The result is attached to the next message.'

// After all results of the turn, which must follow their calls.
function giveImages(writing: Writing): void {
  const { images } = writing
  if (images.length === 0) return
  writing.images = []
  const parts = images.map(({ part }) => chatPart(part))
  const paths = images.map(({ path }) => path)
  push(writing, { role: 'user', content: parts }, paths[0] as string, paths)
}

function openTurn(writing: Writing, path: string): Turn {
  if (writing.turn === undefined) {
    giveImages(writing)
    writing.turn = { path, reasoning: {}, content: [], paths: [], refusal: undefined, calls: [] }
  }
  return writing.turn
}

function hasWords({ content, refusal }: Turn): boolean {
  return content.length > 0 || refusal !== undefined
}

function endTurn(writing: Writing): void {
  const { turn } = writing
  if (turn === undefined) return
  writing.turn = undefined
  const { reasoning, content, refusal, calls } = turn
  // Reasoning alone is nothing that a chat can say.
  if (!hasWords(turn) && calls.length === 0) return
  const [only] = content
  const isPlain = content.length === 1 && only?.type === 'text' && Object.keys(only).length === 2
  const words = isPlain ? only.text : content.length > 0 ? content : calls.length > 0 ? null : ''
  const message = {
    role: 'assistant',
    content: words,
    ...(refusal === undefined ? {} : { refusal }),
    ...reasoning,
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
  }
  push(writing, message, turn.path, turn.paths)
}

function chatPart(part: Part): Part {
  const { prompt_cache_breakpoint: mark } = part
  const marks = mark === undefined ? {} : { prompt_cache_breakpoint: mark }
  if (part.type === 'input_image') {
    const { image_url: url, detail } = part
    const seen = detail === undefined ? {} : { detail: detail === 'original' ? 'high' : detail }
    return { type: 'image_url', image_url: { url, ...seen }, ...marks }
  }
  if (part.type === 'input_file') {
    const { file_data, filename } = part
    return { type: 'file', file: { file_data, ...(filename === undefined ? {} : { filename }) }, ...marks }
  }
  return part.type === 'refusal' ? { ...part } : { type: 'text', text: part.text, ...marks }
}
