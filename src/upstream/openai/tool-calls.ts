// Numbers the tool calls of a stream where the upstream does not: clients join the pieces of a call by its index and fail on a
// missing one.
import type { ChunkChoice } from '../../domain/handoff.ts'

type Calls = {
  // The call of each id.
  readonly indexes: Map<string, number>
  next: number
  last: number
}

// The maximum number of ids tracked per choice; a call beyond it is identified by its position alone.
const IDS_MAX = 1024

export function toolCallNumbers(): (choice: ChunkChoice) => void {
  let ofChoice: Map<number, Calls> | undefined

  function callsOf(index: number): Calls {
    ofChoice ??= new Map()
    let calls = ofChoice.get(index)
    if (calls === undefined) {
      calls = { indexes: new Map(), next: 0, last: 0 }
      ofChoice.set(index, calls)
    }
    return calls
  }

  return ({ index, delta }) => {
    if (!Array.isArray(delta.tool_calls)) return
    const calls = callsOf(index)
    for (const piece of delta.tool_calls as readonly unknown[]) {
      if (typeof piece === 'object' && piece !== null) number(piece, calls)
    }
  }
}

type Piece = { index?: unknown; readonly id?: unknown; readonly function?: unknown; readonly custom?: unknown }

function number(piece: Piece, calls: Calls): void {
  const id = typeof piece.id === 'string' && piece.id !== '' ? piece.id : undefined
  const index = isIndex(piece.index) ? piece.index : guess(piece, id, calls)
  piece.index = index
  calls.last = index
  calls.next = Math.max(calls.next, index + 1)
  if (id !== undefined && calls.indexes.size < IDS_MAX) calls.indexes.set(id, index)
}

// A known id belongs to its call, a new id or a name begins the next call, and arguments alone continue the last.
function guess(piece: Piece, id: string | undefined, calls: Calls): number {
  if (id !== undefined) return calls.indexes.get(id) ?? calls.next
  return named(piece.function) || named(piece.custom) ? calls.next : calls.last
}

function named(called: unknown): boolean {
  return Boolean((called as { name?: unknown } | undefined | null)?.name)
}

function isIndex(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0
}
