// The messages of a chat as the input items of a Responses request.
import type { Message, Part } from '../../../domain/prompt.ts'

type Fields = Readonly<Record<string, unknown>>
type Called = { readonly name: string; readonly arguments?: string; readonly input?: string }

export function inputOf(messages: readonly Message[], developerRole: boolean): readonly Fields[] {
  const customCalls = new Set<unknown>()
  return messages.flatMap((message, place) => {
    switch (message.role) {
      case 'assistant':
        return turnOf(message, place, customCalls)
      case 'tool':
        return [outputOf(message.tool_call_id, message.content, customCalls)]
      case 'function':
        return [outputOf(oldCallId(String(message.name)), message.content ?? '', customCalls)]
      default: {
        const role = message.role === 'developer' && !developerRole ? 'system' : message.role
        return [{ type: 'message', role, content: contentOf(message.content) }]
      }
    }
  })
}

function contentOf(content: unknown): unknown {
  return Array.isArray(content) ? content.map(inputPart) : content
}

function inputPart(part: Part): Fields {
  const { prompt_cache_breakpoint: mark } = part
  const marks = mark === undefined ? {} : { prompt_cache_breakpoint: mark }
  if (part.type === 'image_url') {
    const { url, detail = 'auto' } = part.image_url as { url: string; detail?: string }
    return { type: 'input_image', image_url: url, detail, ...marks }
  }
  if (part.type === 'file') {
    const { file_data, filename } = part.file as { file_data: string; filename?: string }
    return { type: 'input_file', file_data: dataUrl(file_data), filename: filename ?? 'file.pdf', ...marks }
  }
  if (part.type === 'text') return { type: 'input_text', text: part.text, ...marks }
  return part
}

// Here files are always URLs; documents in base64 are PDFs.
function dataUrl(data: string): string {
  return /^data:/i.test(data) ? data : `data:application/pdf;base64,${data}`
}

// In the order in which a model writes: reasoning, text, calls.
function turnOf(message: Message, place: number, customCalls: Set<unknown>): readonly Fields[] {
  const items: Fields[] = [...reasoningOf(message)]
  const content = wordsOf(message)
  if (content.length > 0) items.push({ type: 'message', role: 'assistant', content })
  for (const call of (message.tool_calls as readonly Part[] | undefined) ?? []) {
    const { name, arguments: given, input } = call[call.type] as Called
    if (call.type === 'custom') {
      customCalls.add(call.id)
      items.push({ type: 'custom_tool_call', call_id: call.id, name, input })
    } else items.push({ type: 'function_call', call_id: call.id, name, arguments: given })
  }
  const old = message.function_call as Called | undefined
  if (old !== undefined)
    items.push({ type: 'function_call', call_id: oldCallId(old.name), name: old.name, arguments: old.arguments })
  // An empty turn of the assistant has nothing to say here.
  return items.length === 0 && place === 0 ? [{ type: 'message', role: 'assistant', content: '' }] : items
}

// A call of the deprecated form has no id.
function oldCallId(name: string): string {
  return `call_${name}`
}

function wordsOf({ content, refusal }: Message): readonly Fields[] {
  const parts = typeof content === 'string' ? [{ type: 'text', text: content }] : ((content as Part[] | null) ?? [])
  const words = parts.map(part =>
    part.type === 'refusal'
      ? { type: 'refusal', refusal: part.refusal }
      : { type: 'output_text', text: part.text, annotations: [] },
  )
  const spoken = words.filter(part => !('text' in part) || part.text !== '')
  return typeof refusal === 'string' ? [...spoken, { type: 'refusal', refusal }] : spoken
}

// Reasoning that this API has encrypted; another vendor's means nothing to it.
function reasoningOf({ reasoning_details: details }: Message): readonly Fields[] {
  if (!Array.isArray(details)) return []
  return (details as readonly Fields[]).flatMap(({ type, format, data, id }) => {
    if (type !== 'reasoning.encrypted' || typeof data !== 'string' || !isOwnFormat(format)) return []
    return [{ type: 'reasoning', ...(typeof id === 'string' ? { id } : {}), summary: [], encrypted_content: data }]
  })
}

// The format's name in `reasoning_details`, as OpenRouter uses it.
export const OWN_FORMAT = 'openai-responses-v1'

function isOwnFormat(format: unknown): boolean {
  return format === OWN_FORMAT
}

function outputOf(callId: unknown, content: unknown, customCalls: ReadonlySet<unknown>): Fields {
  const type = customCalls.has(callId) ? 'custom_tool_call_output' : 'function_call_output'
  return { type, call_id: callId, output: contentOf(content) }
}
