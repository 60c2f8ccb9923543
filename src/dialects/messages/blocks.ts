// The content blocks of a stream that is translated from a chat: text, reasoning and tool calls, each a block of its own that
// ends before the next begins.
import type { ChunkChoice } from '../../domain/handoff.ts'
import { parseWritten } from '../../lib/written-json.ts'
import type { OpenedAnswer } from '../dialect.ts'
import { type Detail, detailsOf, type Stop, stopOf, toolUseId } from './answer.ts'
import { DIRECT } from './json.ts'
import { signedId } from './signed-ids.ts'

export type BlockWriter = {
  // The events of one delta; empty if it has no content.
  take(choice: ChunkChoice): string
  // Ends the block that is open, if any.
  close(): string
  // Why the answer ended.
  stop(): Stop
}

type Open = { readonly kind: 'text' | 'thinking' | 'tool_use'; readonly key: unknown }

export function blockWriter({ requestId, chat }: OpenedAnswer): BlockWriter {
  let next = 0
  let open: Open | undefined
  let finished: ChunkChoice | undefined
  const calls = new Set<unknown>()
  // What the open call has written, and the pieces of calls that began before it was complete: each is a block after it.
  let input: string[] = []
  const waiting = new Map<unknown, unknown[]>()
  let waitingChars = 0

  function endBlock(): string {
    if (open === undefined) return ''
    open = undefined
    return event({ type: 'content_block_stop', index: next - 1 })
  }

  function close(): string {
    let written = ''
    for (const pieces of waiting.values()) for (const piece of pieces) written += write(piece)
    waiting.clear()
    return written + endBlock()
  }

  function begin(
    kind: Open['kind'] | 'redacted_thinking',
    key: unknown,
    block: object,
    before: string = close(),
  ): string {
    open = { kind: kind as Open['kind'], key }
    const content_block = { type: kind, ...block }
    return before + event({ type: 'content_block_start', index: next++, content_block })
  }

  function delta(fields: object): string {
    return event({ type: 'content_block_delta', index: next - 1, delta: fields })
  }

  function text(words: unknown): string {
    if (typeof words !== 'string' || words === '') return ''
    const begun = open?.kind === 'text' ? '' : begin('text', undefined, { text: '', citations: null })
    return begun + delta({ type: 'text_delta', text: words })
  }

  function thought({ index, text: words, signature, data }: Detail): string {
    if (data !== undefined) return begin('redacted_thinking', index, { data }) + close()
    const isSame = open?.kind === 'thinking' && open.key === index
    const begun = isSame ? '' : begin('thinking', index, { thinking: '', signature: '' })
    const said = words === '' ? '' : delta({ type: 'thinking_delta', thinking: words })
    return begun + said + (signature === undefined ? '' : delta({ type: 'signature_delta', signature }))
  }

  function call(piece: unknown): string {
    const { index } = (piece ?? {}) as Readonly<Record<string, unknown>>
    if (isOpenCall(index)) return write(piece)
    const begun = waiting.get(index)
    // A block that has ended cannot be continued.
    if (begun === undefined && calls.has(index)) throw new RangeError('pieces of tool calls are out of order')
    const mustWait = waiting.size > 0 || (open?.kind === 'tool_use' && typeof parseWritten(input.join('')) !== 'object')
    if (!mustWait) return write(piece)
    waitingChars += JSON.stringify(piece).length
    if (waitingChars > WAITING_CHARS_MAX) throw new RangeError('too many pieces of tool calls are out of order')
    if (begun === undefined) waiting.set(index, [piece])
    else begun.push(piece)
    return ''
  }

  function isOpenCall(index: unknown): boolean {
    return open?.kind === 'tool_use' && open.key === index
  }

  function write(piece: unknown): string {
    const { index, id, function: called, custom } = (piece ?? {}) as Readonly<Record<string, unknown>>
    const { name, arguments: given, input: plain } = (called ?? custom ?? {}) as Readonly<Record<string, unknown>>
    const json = given ?? plain
    let begun = ''
    if (!isOpenCall(index)) {
      calls.add(index)
      input = []
      const own = typeof id === 'string' && id !== '' ? id : toolUseId(requestId, calls.size - 1)
      const block = {
        id: signedId(own, piece as Readonly<Record<string, unknown>>),
        name: typeof name === 'string' ? name : '',
        input: {},
        caller: DIRECT,
      }
      begun = begin('tool_use', index, block, endBlock())
    }
    if (typeof json !== 'string' || json === '') return begun
    input.push(json)
    return begun + delta({ type: 'input_json_delta', partial_json: json })
  }

  return {
    take(choice) {
      const { delta: spoken } = choice
      if (choice.finish_reason !== null) finished = choice
      let written = ''
      for (const detail of detailsOf(spoken)) written += thought(detail)
      written += text(spoken.content) + text(spoken.refusal)
      if (Array.isArray(spoken.tool_calls))
        for (const piece of spoken.tool_calls as readonly unknown[]) written += call(piece)
      return written
    },
    close,
    stop: () => stopOf(finished, calls.size > 0, chat),
  }
}

function event(body: { readonly type: string; readonly [field: string]: unknown }): string {
  return `event: ${body.type}\ndata: ${JSON.stringify(body)}\n\n`
}

const WAITING_CHARS_MAX = 16 * 1024 * 1024
