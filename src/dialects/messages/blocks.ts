// The content blocks of a stream that is translated from a chat: text, reasoning and tool calls, each a block of its own that
// ends before the next begins.
import type { ChunkChoice } from '../../domain/handoff.ts'
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

  function close(): string {
    if (open === undefined) return ''
    open = undefined
    return event({ type: 'content_block_stop', index: next - 1 })
  }

  function begin(kind: Open['kind'] | 'redacted_thinking', key: unknown, block: object): string {
    const before = close()
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
    const { index, id, function: called, custom } = (piece ?? {}) as Readonly<Record<string, unknown>>
    const { name, arguments: given, input } = (called ?? custom ?? {}) as Readonly<Record<string, unknown>>
    const isOpen = open?.kind === 'tool_use' && open.key === index
    // A block that has ended cannot be continued.
    if (!isOpen && calls.has(index)) throw new RangeError('pieces of tool calls are out of order')
    calls.add(index)
    const own = typeof id === 'string' && id !== '' ? id : toolUseId(requestId, calls.size - 1)
    const begun = isOpen
      ? ''
      : begin('tool_use', index, {
          id: signedId(own, piece as Readonly<Record<string, unknown>>),
          name: typeof name === 'string' ? name : '',
          input: {},
          caller: DIRECT,
        })
    const json = given ?? input
    return (
      begun + (typeof json === 'string' && json !== '' ? delta({ type: 'input_json_delta', partial_json: json }) : '')
    )
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
