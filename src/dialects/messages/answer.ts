// What a chat answer says in Anthropic's terms, for a stream and for a whole answer alike: reasoning, and why it stopped.
import type { Chat } from '../../domain/chat.ts'

// A piece of reasoning; `data` if it is encrypted.
export type Detail = {
  readonly index: unknown
  readonly text: string
  readonly signature: string | undefined
  readonly data: string | undefined
}

// In `reasoning_details`, which may have signatures, otherwise in one of the names that providers use for plain text. Pieces of
// a whole answer with the same index are one block.
export function detailsOf(spoken: Readonly<Record<string, unknown>>): readonly Detail[] {
  const { reasoning_details: given, reasoning_content, reasoning } = spoken
  const found: Detail[] = []
  for (const entry of Array.isArray(given) ? (given as readonly unknown[]) : []) {
    const { index, text, summary, signature, data } = (entry ?? {}) as Readonly<Record<string, unknown>>
    const last = found.at(-1)
    const detail = {
      index,
      text: wordsOf(text) ?? wordsOf(summary) ?? '',
      signature: wordsOf(signature),
      data: wordsOf(data),
    }
    if (last === undefined || last.index !== index || detail.data !== undefined || last.data !== undefined)
      found.push(detail)
    else
      found[found.length - 1] = {
        ...last,
        text: last.text + detail.text,
        signature: detail.signature ?? last.signature,
      }
  }
  if (found.length > 0) return found
  const text = wordsOf(reasoning_content) ?? wordsOf(reasoning)
  return text === undefined ? [] : [{ index: undefined, text, signature: undefined, data: undefined }]
}

export type Stop = { readonly stop_reason: string; readonly stop_sequence: string | null }

type Finished = { readonly finish_reason: string | null; readonly stop_reason?: unknown }

// Few upstreams tell which stop sequence ended an answer.
export function stopOf(choice: Finished | undefined, hasCalls: boolean, { forwarded }: Pick<Chat, 'forwarded'>): Stop {
  const { finish_reason: finish, stop_reason: stoppedBy } = choice ?? { finish_reason: null }
  const stops = forwarded.stop as readonly string[] | undefined
  if (finish === 'stop' && typeof stoppedBy === 'string' && stops?.includes(stoppedBy) === true)
    return { stop_reason: 'stop_sequence', stop_sequence: stoppedBy }
  const reason = STOP_REASONS[finish ?? 'stop'] ?? 'end_turn'
  return { stop_reason: hasCalls && reason === 'end_turn' ? 'tool_use' : reason, stop_sequence: null }
}

const STOP_REASONS: Readonly<Record<string, string>> = {
  stop: 'end_turn',
  length: 'max_tokens',
  tool_calls: 'tool_use',
  function_call: 'tool_use',
  content_filter: 'refusal',
}

// For a call without an id.
export function toolUseId(requestId: string, index: number): string {
  return `toolu_${requestId.replaceAll('-', '')}_${index}`
}

function wordsOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined
}
