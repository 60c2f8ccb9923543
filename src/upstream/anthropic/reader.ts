// The body of a Messages stream, event by event. What was read before an error is still delivered.
import { Failure } from '../../domain/failure.ts'
import type { AnswerListener, Chunk } from '../../domain/handoff.ts'
import { sseReader } from '../../lib/sse.ts'
import type { Unsaid } from '../openai/error.ts'
import type { Reader, ReaderBounds } from '../openai/readers.ts'
import { eventReader } from './response.ts'

export function messageReader(
  listener: AnswerListener,
  setup: ReaderBounds & { readonly unsaid: Unsaid },
  state: { upstreamId: string | null },
  abort: () => void,
): Reader {
  const events = eventReader(setup.unsaid)
  let gathered: Chunk[] = []
  let over = false
  let lingering: NodeJS.Timeout | undefined

  const sse = sseReader(
    data => {
      if (data === '') return
      const chunk = events.take(data)
      state.upstreamId ??= events.id
      if (chunk !== undefined) gathered.push(chunk)
    },
    { eventBytesMax: setup.sseEventBytesMax },
  )

  function end(failure: Failure | undefined): void {
    if (over) return
    over = true
    listener.end(failure)
  }

  // What was read before the problem is delivered first.
  function problemOf(work: () => void): unknown {
    let problem: unknown
    try {
      work()
    } catch (error) {
      problem = error
    }
    if (gathered.length > 0) {
      const batch = gathered
      gathered = []
      listener.chunks(batch)
    }
    return problem
  }

  function giveUp(problem: unknown): void {
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
      if (over) {
        abort()
        return
      }
      const problem = problemOf(() => sse.push(chunk))
      if (problem !== undefined) giveUp(problem)
      if (over || !events.done) return
      end(undefined)
      lingering = setTimeout(abort, setup.endAfterDoneMs).unref()
    },
    end(failure) {
      clearTimeout(lingering)
      if (over) return
      const problem = problemOf(sse.end)
      // A last event that cannot be read was cut off.
      const cutOff = problem instanceof Failure && problem.kind === 'invalid_response' ? problem : undefined
      if (problem !== cutOff) giveUp(problem)
      // At most message_stop is missing.
      else if (events.finished) end(undefined)
      else end(failure ?? cutOff ?? new Failure('interrupted', 'the stream ended without a stop reason'))
    },
  }
}
