// The body of a stream, event by event, in the dialect of its frame reader. What was read before an error is still delivered.
import { Failure } from '../../domain/failure.ts'
import type { AnswerListener, Chunk, ChunkChoice } from '../../domain/handoff.ts'
import { sseReader } from '../../lib/sse.ts'
import type { ResponseHandler } from '../http-client.ts'
import type { Unsaid } from './error.ts'
import { readChunk } from './response.ts'

export type Reader = Pick<ResponseHandler, 'data' | 'end'> & {
  // An answer begins, with its length if announced.
  start?(bytes: number | undefined): void
}
export type ReaderBounds = {
  readonly sseEventBytesMax: number
  readonly endAfterDoneMs: number
}
type ReaderSetup = ReaderBounds & { readonly unsaid: Unsaid }

// One event of the upstream; without a chunk if nobody has to see it. Nothing follows the last.
export type Frame = { readonly id: string | null; readonly chunk: Chunk | undefined; readonly isLast?: boolean }
export type FrameReader = (data: string) => Frame

// Streams of OpenAI's APIs end with this, if not before.
export const DONE: Frame = { id: null, chunk: undefined, isLast: true }
export function isDone(data: string): boolean {
  return data.trimEnd() === '[DONE]'
}

export function streamReader(
  listener: AnswerListener,
  setup: ReaderSetup,
  state: { upstreamId: string | null },
  abort: () => void,
  readFrame: FrameReader = data => (isDone(data) ? DONE : readChunk(data, setup.unsaid)),
): Reader {
  let gathered: Chunk[] = []
  const speaking = new Set<number>()
  const finished = new Set<number>()
  const numberCalls = toolCallNumbers()
  let done = false
  let over = false
  let lingering: NodeJS.Timeout | undefined

  const end = (failure: Failure | undefined) => {
    if (over) return
    over = true
    listener.end(failure)
  }
  const flush = () => {
    if (gathered.length === 0) return
    const batch = gathered
    gathered = []
    listener.chunks(batch)
  }
  const note = ({ index, finish_reason }: ChunkChoice) => {
    if (finish_reason !== null) finished.add(index)
    if (finished.has(index)) speaking.delete(index)
    else speaking.add(index)
  }
  const sse = sseReader(
    data => {
      // Some upstreams send an empty event to keep the connection alive.
      if (done || data === '') return
      const frame = readFrame(data)
      if (frame.isLast === true) done = true
      state.upstreamId ??= frame.id
      if (frame.chunk === undefined) return
      for (const choice of frame.chunk.choices) {
        note(choice)
        numberCalls(choice)
      }
      gathered.push(frame.chunk)
    },
    { eventBytesMax: setup.sseEventBytesMax },
  )
  // What was read before the error is still delivered.
  const problemOf = (work: () => void): unknown => {
    let problem: unknown
    try {
      work()
    } catch (error) {
      problem = error
    }
    flush()
    return problem
  }
  const giveUp = (problem: unknown) => {
    abort()
    const { message } = problem as Error
    end(
      problem instanceof Failure
        ? problem
        : new Failure('too_large', message, { producedBytes: setup.sseEventBytesMax }),
    )
  }

  return {
    data(chunk) {
      // Data after the end, or after we gave up, is ignored.
      if (over) return abort()
      const problem = problemOf(() => sse.push(chunk))
      if (problem !== undefined) giveUp(problem)
      if (!done) return
      endDone()
      lingering = setTimeout(abort, setup.endAfterDoneMs).unref()
    },
    end(failure) {
      clearTimeout(lingering)
      if (over) return
      const problem = problemOf(sse.end)
      // A last event that cannot be read was cut off.
      const cutOff = problem instanceof Failure && problem.kind === 'invalid_response' ? problem : undefined
      if (problem !== cutOff) return giveUp(problem)
      if (done) return endDone()
      // Every choice has finished: at most a usage frame is missing.
      if (finished.size > 0 && speaking.size === 0) return end(undefined)
      end(failure ?? cutOff ?? new Failure('interrupted', 'the stream ended without a finish reason'))
    },
  }

  function endDone(): void {
    const empty = finished.size === 0 && speaking.size === 0
    end(empty ? new Failure('invalid_response', 'the stream has no choices', { status: 200 }) : undefined)
  }
}

// Numbers the tool calls of a stream where the upstream does not: clients join the pieces of a call by its index and fail on a
// missing one.
type Calls = {
  // The call of each id.
  readonly indexes: Map<string, number>
  next: number
  last: number
}

// The maximum number of ids tracked per choice; a call beyond it is identified by its position alone.
const IDS_MAX = 1024

function toolCallNumbers(): (choice: ChunkChoice) => void {
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
