// The answer of a chat as the output items of a response: reasoning, messages and calls, in the order in which they came.
import { carry, extrasOf, isRecord } from './carried-reasoning.ts'
import { customInput, type ToolNames } from './tool-names.ts'

export type ItemStatus = 'in_progress' | 'completed' | 'incomplete'

export type OutputText = {
  readonly type: 'output_text'
  readonly text: string
  readonly annotations: readonly unknown[]
  readonly logprobs: readonly unknown[]
}
export type OutputPart = OutputText | { readonly type: 'refusal'; readonly refusal: string }

export function itemId(prefix: 'msg' | 'rs' | 'fc' | 'ctc', requestId: string, index: number): string {
  return `${prefix}_${requestId}_${index}`
}

export function textPart(text: string, logprobs: readonly unknown[] = []): OutputText {
  return { type: 'output_text', text, annotations: [], logprobs }
}

export function messageItem(id: string, status: ItemStatus, content: readonly OutputPart[]): object {
  return { id, type: 'message', status, role: 'assistant', content }
}

export function reasoningItem(id: string, text: string, encrypted: string | undefined): object {
  const summary = text === '' ? [] : [{ type: 'summary_text', text }]
  return { id, type: 'reasoning', summary, ...(encrypted === undefined ? {} : { encrypted_content: encrypted }) }
}

export type CalledTool = { readonly callId: string; readonly flat: string; readonly isCustom: boolean }

// `written` are the arguments of a function, or what a custom tool's function got.
export function callItem(
  id: string,
  status: ItemStatus,
  { callId, flat, isCustom }: CalledTool,
  written: string,
  names: ToolNames,
): object {
  const { name, namespace } = names.called(flat) ?? { name: flat, namespace: undefined }
  const named = { name, ...(namespace === undefined ? {} : { namespace }) }
  if (isCustom) return { id, type: 'custom_tool_call', status, call_id: callId, ...named, input: written }
  return { id, type: 'function_call', status, call_id: callId, ...named, arguments: written }
}

// The tool calls of a chat's message, whatever their form. Pieces of a stream have no name but in the first.
export type ChatCall = {
  readonly index: number
  readonly id: string | undefined
  readonly name: string | undefined
  readonly written: string
  readonly isCustom: boolean
  readonly extras: Readonly<Record<string, unknown>>
}

export function chatCalls(value: unknown): readonly ChatCall[] {
  if (!Array.isArray(value)) return []
  return value.filter(isRecord).map((call, position) => {
    const isCustom = isRecord(call.custom)
    const inner = isCustom ? call.custom : call.function
    const { name, arguments: given, input } = isRecord(inner) ? inner : {}
    const written = isCustom ? input : given
    return {
      index: typeof call.index === 'number' ? call.index : position,
      id: textOf(call.id),
      name: textOf(name),
      written: typeof written === 'string' ? written : isRecord(written) ? JSON.stringify(written) : '',
      isCustom,
      extras: extrasOf(call),
    }
  })
}

// The text that a caller may read, from the first of the names that providers use.
export function reasoningText(spoken: Readonly<Record<string, unknown>>): string {
  const { reasoning_content: one, reasoning: other, reasoning_details: details } = spoken
  if (typeof one === 'string' && one !== '') return one
  if (typeof other === 'string' && other !== '') return other
  if (!Array.isArray(details)) return ''
  return details.map(detail => (isRecord(detail) ? (textOf(detail.text) ?? textOf(detail.summary) ?? '') : '')).join('')
}

// What the provider expects back, gathered over the pieces of an answer.
export type Kept = {
  add(spoken: Readonly<Record<string, unknown>>): void
  // Undefined if there is nothing.
  carried(): string | undefined
}

// Beyond this length nothing is carried: the caller would have to send all of it back.
const CARRIED_CHARS_MAX = 4 * 1024 * 1024

export function keepReasoning(): Kept {
  const texts = new Map<string, string>()
  const details: Record<string, unknown>[] = []
  let chars = 0
  return {
    add(spoken) {
      if (chars > CARRIED_CHARS_MAX) return
      for (const name of ['reasoning_content', 'reasoning']) {
        const text = spoken[name]
        if (typeof text !== 'string' || text === '') continue
        texts.set(name, (texts.get(name) ?? '') + text)
        chars += text.length
      }
      if (Array.isArray(spoken.reasoning_details))
        for (const detail of spoken.reasoning_details) if (isRecord(detail)) chars += addDetail(details, detail)
      if (chars <= CARRIED_CHARS_MAX) return
      texts.clear()
      details.length = 0
    },
    carried() {
      const native = details.length === 1 && texts.size === 0 ? openaiContent(details[0]) : undefined
      if (native !== undefined) return native
      if (texts.size === 0 && details.length === 0) return undefined
      const message = { ...Object.fromEntries(texts), ...(details.length === 0 ? {} : { reasoning_details: details }) }
      return carry({ message })
    },
  }
}

// Pieces of one block have one index: their texts are joined, and a later signature replaces an earlier one. Returns by how many
// characters the list has grown, at most.
function addDetail(details: Record<string, unknown>[], detail: Readonly<Record<string, unknown>>): number {
  const last = details.at(-1)
  if (last === undefined || last.index === undefined || last.index !== detail.index || last.type !== detail.type) {
    details.push({ ...detail })
    return JSON.stringify(detail).length
  }
  let chars = 0
  for (const [name, value] of Object.entries(detail)) {
    const isPiece = JOINED.has(name) && typeof value === 'string' && typeof last[name] === 'string'
    last[name] = isPiece ? (last[name] as string) + value : (value ?? last[name])
    if (isPiece) chars += value.length
  }
  return chars
}

const JOINED: ReadonlySet<string> = new Set(['text', 'summary', 'data'])

// Content that a provider of Responses has encrypted itself.
function openaiContent(detail: Readonly<Record<string, unknown>> | undefined): string | undefined {
  const isOpenai = typeof detail?.format === 'string' && detail.format.startsWith('openai-responses')
  return isOpenai && typeof detail?.data === 'string' ? detail.data : undefined
}

// In a message's order: what led to it, what it says, whom it calls.
export function outputOf(
  message: Readonly<Record<string, unknown>>,
  logprobs: readonly unknown[],
  status: ItemStatus,
  { requestId, names, carries }: { requestId: string; names: ToolNames; carries: boolean },
): readonly object[] {
  const items: object[] = []
  const kept = keepReasoning()
  kept.add(message)
  const thought = reasoningText(message)
  const encrypted = carries ? kept.carried() : undefined
  if (thought !== '' || encrypted !== undefined)
    items.push(reasoningItem(itemId('rs', requestId, items.length), thought, encrypted))
  const parts: OutputPart[] = []
  if (typeof message.content === 'string' && message.content !== '') parts.push(textPart(message.content, logprobs))
  if (typeof message.refusal === 'string' && message.refusal !== '')
    parts.push({ type: 'refusal', refusal: message.refusal })
  const calls = chatCalls(message.tool_calls)
  if (parts.length > 0) items.push(messageItem(itemId('msg', requestId, items.length), status, parts))
  for (const call of calls) {
    const flat = call.name ?? ''
    const isCustom = call.isCustom || names.called(flat)?.type === 'custom'
    const written = isCustom && !call.isCustom ? customInput(call.written) : call.written
    const callId = call.id ?? `call_${requestId}_${call.index}`
    if (carries && Object.keys(call.extras).length > 0) {
      const encryptedCall = carry({ calls: { [callId]: call.extras } })
      items.push(reasoningItem(itemId('rs', requestId, items.length), '', encryptedCall))
    }
    const id = itemId(isCustom ? 'ctc' : 'fc', requestId, items.length)
    items.push(callItem(id, status, { callId, flat, isCustom }, written, names))
  }
  return items
}

// As `include` requests them; a chat has the same fields and more.
export function logprobsOf(value: unknown): readonly unknown[] {
  if (!isRecord(value) || !Array.isArray(value.content)) return []
  return value.content
}

// Why an answer is not complete, by the finish reason of a chat.
export function incompleteReason(finishReason: string | null): 'max_output_tokens' | 'content_filter' | undefined {
  if (finishReason === 'length') return 'max_output_tokens'
  return finishReason === 'content_filter' ? 'content_filter' : undefined
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined
}
