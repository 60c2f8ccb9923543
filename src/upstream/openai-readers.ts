// The bodies of OpenAI-shaped answers, as they arrive: a stream frame by frame, or a JSON object once it is whole. What was
// read before a trouble is still delivered.
import { Failure } from '../domain/failure.ts'
import type { AnswerListener, Chunk, ChunkChoice } from '../domain/handoff.ts'
import { sseReader } from '../lib/sse.ts'
import type { OutwardHandler } from './call-line.ts'
import { readChunk, readWhole } from './openai-answer.ts'
import type { Unsaid } from './openai-error.ts'
import { toolCallNumbers } from './openai-tool-calls.ts'

export type Reader = Pick<OutwardHandler, 'data' | 'end'>
export type ReaderBounds = {
  readonly answerBytesMax: number
  readonly sseEventBytesMax: number
  readonly endAfterDoneMs: number
}
type ReaderSetup = ReaderBounds & { readonly unsaid: Unsaid }

export function streamReader(
  listener: AnswerListener,
  setup: ReaderSetup,
  state: { upstreamId: string | null },
  abort: () => void,
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
      // An empty event is what some send to keep the connection alive.
      if (done || data === '') return
      if (data.trimEnd() === '[DONE]') {
        done = true
        return
      }
      const frame = readChunk(data, setup.unsaid)
      state.upstreamId ??= frame.id
      for (const choice of frame.chunk.choices) {
        note(choice)
        numberCalls(choice)
      }
      gathered.push(frame.chunk)
    },
    { eventBytesMax: setup.sseEventBytesMax },
  )
  // What was read before the trouble is still delivered.
  const guarded = (work: () => void) => {
    let trouble: unknown
    try {
      work()
    } catch (error) {
      trouble = error
    }
    flush()
    if (trouble === undefined) return
    abort()
    end(trouble instanceof Failure ? trouble : new Failure('oversize', (trouble as Error).message))
  }

  return {
    data(chunk) {
      // Whoever goes on after the end, or after we gave up, is not listened to.
      if (over) return abort()
      guarded(() => sse.push(chunk))
      if (!done) return
      endDone()
      lingering = setTimeout(abort, setup.endAfterDoneMs).unref()
    },
    end(failure) {
      clearTimeout(lingering)
      if (over) return
      guarded(() => sse.end())
      if (done) return endDone()
      // Every choice has said that it finished: what is missing is at most a count.
      if (finished.size > 0 && speaking.size === 0) return end(undefined)
      end(failure ?? new Failure('broke', 'the stream ended with neither finish_reason nor [DONE]'))
    },
  }

  function endDone(): void {
    const empty = finished.size === 0 && speaking.size === 0
    end(empty ? new Failure('nonsense', 'the stream has no choices', { status: 200 }) : undefined)
  }
}

export function jsonReader(
  listener: AnswerListener,
  setup: ReaderSetup,
  state: { upstreamId: string | null },
  abort: () => void,
): Reader {
  const pieces: Buffer[] = []
  let bytes = 0
  let over = false
  const end = (failure: Failure | undefined) => {
    if (over) return
    over = true
    listener.end(failure)
  }
  return {
    data(chunk) {
      if (over) return
      bytes += chunk.length
      pieces.push(Buffer.from(chunk))
      if (bytes <= setup.answerBytesMax) return
      abort()
      end(new Failure('oversize', `the answer is over ${setup.answerBytesMax} bytes`))
    },
    end(failure) {
      if (over) return
      if (failure !== undefined) return end(failure)
      try {
        const answer = readWhole(String(pieces.length === 1 ? pieces[0] : Buffer.concat(pieces)), setup.unsaid)
        state.upstreamId = answer.id
        listener.whole(answer.whole)
        end(undefined)
      } catch (error) {
        end(error instanceof Failure ? error : new Failure('nonsense', 'the answer is not JSON', { status: 200 }))
      }
    },
  }
}
