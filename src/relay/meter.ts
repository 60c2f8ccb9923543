// Watches an answer go by: whether anything was produced, how it finished, the upstream's last word on usage, and the
// text that an estimate would need.
import type { Chunk, OutputSeen, Whole } from '../domain/handoff.ts'

export type Meter = {
  chunks(chunks: readonly Chunk[]): void
  whole(whole: Whole): void
  readonly finishReason: string | null
  readonly usage: unknown
  output(): OutputSeen
}

// Past this the text is only counted: an estimate of that much text is bytes/2 anyway.
const KEPT_MAX = 8 * 1024 * 1024

export function meter(): Meter {
  let text = ''
  let beyond = 0
  let any = false

  function add(piece: unknown): void {
    if (typeof piece !== 'string' || piece === '') return
    any = true
    if (text.length < KEPT_MAX) text += piece
    else beyond += Buffer.byteLength(piece)
  }

  // Everything that an upstream bills as output: words, refusals, reasoning, tool names and arguments, of every choice.
  function addSpoken(spoken: { readonly [field: string]: unknown }): void {
    add(spoken.content)
    add(spoken.refusal)
    add(spoken.reasoning_content || spoken.reasoning)
    if (spoken.function_call !== undefined) addFunction(spoken.function_call)
    if (!Array.isArray(spoken.tool_calls)) return
    for (const call of spoken.tool_calls as { function?: unknown; custom?: unknown }[]) {
      addFunction(call?.function)
      addFunction(call?.custom)
    }
  }

  function addFunction(called: unknown): void {
    if (typeof called !== 'object' || called === null) return
    const { name, arguments: args, input } = called as Record<string, unknown>
    add(name)
    add(args)
    add(input)
  }

  const seen = {
    finishReason: null as string | null,
    usage: undefined as unknown,
    chunks(chunks: readonly Chunk[]) {
      for (const chunk of chunks) {
        if (chunk.usage !== undefined) seen.usage = chunk.usage
        for (const choice of chunk.choices) {
          addSpoken(choice.delta)
          seen.finishReason = choice.finish_reason ?? seen.finishReason
        }
      }
    },
    whole(whole: Whole) {
      seen.usage = whole.usage
      for (const choice of whole.choices) {
        addSpoken(choice.message)
        seen.finishReason = choice.finish_reason
      }
    },
    output: () => ({ any, text, bytesBeyond: beyond }),
  }
  return seen
}
