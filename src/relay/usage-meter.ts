// Observes an answer as it passes: whether anything was produced, how it finished, the upstream's last usage, and the text that
// an estimate would need.
import { CHOICES_MAX } from '../domain/catalog.ts'
import type { Chunk, OutputSeen, Whole } from '../domain/handoff.ts'

export type Meter = {
  chunks(chunks: readonly Chunk[]): void
  whole(whole: Whole): void
  // The last one, once every choice that was seen has finished.
  readonly finishReason: string | null
  readonly usage: unknown
  output(): OutputSeen
}

// Beyond this total size, text is only counted, and estimated at two bytes per token.
const KEPT_MAX = 8 * 1024 * 1024

export function meter(): Meter {
  // One per choice, in the order of their first content.
  const texts: string[] = []
  const choices: number[] = []
  let kept = 0
  let beyond = 0
  let any = false

  // Pieces that arrive together are joined at once: a string that grows word by word keeps every word as a separate object until
  // it is read.
  const arrived: string[][] = []
  // Of the current choice.
  let words: string[] = []

  function add(piece: unknown): void {
    if (typeof piece === 'string' && piece !== '') words.push(piece)
  }

  function keepWords(): void {
    for (let place = 0; place < arrived.length; place++) {
      const pieces = arrived[place] as string[]
      if (pieces.length === 0) continue
      any = true
      const joined = pieces.length === 1 ? (pieces[0] as string) : pieces.join('')
      arrived[place] = []
      if (kept < KEPT_MAX) {
        texts[place] += joined
        kept += joined.length
      } else beyond += Buffer.byteLength(joined)
    }
  }

  // Choices beyond the maximum share the last slot.
  function placeOf(choice: number): number {
    const known = choices.indexOf(choice)
    if (known >= 0) return known
    if (choices.length === CHOICES_MAX) return CHOICES_MAX - 1
    texts.push('')
    arrived.push([])
    return choices.push(choice) - 1
  }

  // Everything that an upstream may bill as output, of every choice, under any name. Reasoning comes under several names at once,
  // of which the longest counts; another field that repeats content or reasoning is a mirror.
  function addSpoken(choice: number, spoken: { readonly [field: string]: unknown }): void {
    words = arrived[placeOf(choice)] as string[]
    let thought = ''
    let others: string[] | undefined
    for (const name in spoken) {
      const value = spoken[name]
      if (name === 'content') add(value)
      else if (value === '' || value === null || name === 'role') continue
      else if (THOUGHTS.has(name)) thought = longer(thought, stringsIn(value, name).join(''))
      else if (CALLS.has(name)) for (const piece of stringsIn(value, name)) add(piece)
      else others = stringsIn(value, name, others)
    }
    if (thought !== spoken.content) add(thought)
    if (others === undefined) return
    for (const other of others) if (other !== spoken.content && other !== thought) add(other)
  }

  // With several choices the answer has finished when each that produced content has; until then there is no finish reason.
  const speaking = new Set<number>()
  const finished = new Set<number>()
  let reason: string | null = null

  function follow(index: number, finishReason: string | null): void {
    if (finishReason !== null) {
      reason = finishReason
      finished.add(index)
      speaking.delete(index)
    } else if (!finished.has(index)) speaking.add(index)
    seen.finishReason = speaking.size === 0 ? reason : null
  }

  const seen = {
    finishReason: null as string | null,
    usage: undefined as unknown,
    chunks(chunks: readonly Chunk[]) {
      for (const chunk of chunks) {
        if (chunk.usage !== undefined) seen.usage = chunk.usage
        for (const choice of chunk.choices) {
          addSpoken(choice.index, choice.delta)
          follow(choice.index, choice.finish_reason)
        }
      }
      keepWords()
    },
    whole(whole: Whole) {
      seen.usage = whole.usage
      for (const choice of whole.choices) {
        addSpoken(choice.index, choice.message)
        follow(choice.index, choice.finish_reason)
      }
      keepWords()
    },
    output: () => ({ any, texts: [...texts], bytesBeyond: beyond }),
  }
  return seen
}

const THOUGHTS = new Set([
  'reasoning',
  'reasoning_content',
  'reasoning_details',
  'reasoning_text',
  'thinking',
  'thinking_blocks',
])
const CALLS = new Set(['tool_calls', 'function_call', 'refusal'])
// Names whose strings are not output, in addition to ids of every kind.
const UNSPOKEN = new Set(['role', 'type', 'id', 'format', 'signature', 'url'])
const DEPTH_MAX = 8

// Every string in a field, however deeply nested, within a limit.
function stringsIn(value: unknown, name: string, found: string[] = [], depth = 0): string[] {
  if (typeof value === 'string') {
    if (!UNSPOKEN.has(name) && !name.endsWith('_id')) found.push(value)
  } else if (typeof value === 'object' && value !== null && depth < DEPTH_MAX) {
    if (Array.isArray(value)) for (const entry of value) stringsIn(entry, name, found, depth + 1)
    else for (const [inner, entry] of Object.entries(value)) stringsIn(entry, inner, found, depth + 1)
  }
  return found
}

function longer(one: string, other: string): string {
  return other.length > one.length ? other : one
}
