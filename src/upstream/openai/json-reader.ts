// The body of an OpenAI-style JSON answer: buffered within the memory limit of answers, and parsed when complete; a large one, or
// one with very many members, in a separate thread.
import { Failure } from '../../domain/failure.ts'
import type { AnswerListener } from '../../domain/handoff.ts'
import { guardText } from '../../lib/json-guard.ts'
import type { LargeAnswers } from '../large-answers.ts'
import type { AnswerMemory, AnswerReservation } from '../response-memory.ts'
import type { Unsaid } from './error.ts'
import { DEPTH_MAX, invalidResponse, readWhole } from './response.ts'

export type JsonReaderBounds = {
  readonly answerBytesMax: number
  // Up to this size an answer is not counted and never waits.
  readonly answerUncountedBytesMax: number
  // Up to this size and number of members an answer is parsed on the event loop.
  readonly answerInlineBytesMax: number
  readonly answerInlineMembersMax: number
}

export type JsonReaderSetup = JsonReaderBounds & { readonly unsaid: Unsaid }

export type JsonReaderNeeds = {
  readonly accountId: string
  readonly memory: AnswerMemory
  readonly large: LargeAnswers
  pause(): void
  resume(): void
  abort(): void
}

export type JsonReader = {
  // With the announced length, if any.
  start(bytes: number | undefined): void
  data(chunk: Buffer): void
  end(failure: Failure | undefined): void
  // Whether it is paused for lack of memory.
  isWaiting(): boolean
  // The remainder is not needed.
  abandon(): void
  // The memory of the answer that it has passed on, if it is a large one.
  reservation(): { release(): void } | undefined
}

export function jsonReader(
  listener: AnswerListener,
  setup: JsonReaderSetup,
  state: { upstreamId: string | null },
  needs: JsonReaderNeeds,
): JsonReader {
  let reservation: AnswerReservation | undefined
  let roomBytes = 0
  let announced = 0
  let bytes = 0
  // Small pieces until memory is granted, segments from then on: the last segment has space left.
  let pieces: Buffer[] = []
  let filled = 0
  let written: readonly Uint8Array[] = []
  let over = false
  let inThread = false

  const end = (failure: Failure | undefined) => {
    if (over) return
    over = true
    if (failure !== undefined) release()
    listener.end(failure)
  }
  const release = () => {
    if (reservation === undefined) return
    for (const { buffer } of pieces) free(buffer)
    for (const { buffer } of written) free(buffer)
    pieces = []
    reservation.release()
    reservation = undefined
  }

  function needRoom(wanted: number): void {
    reservation ??= needs.memory.open(needs.accountId, needs.resume)
    roomBytes += wanted
    if (!reservation.take(wanted)) needs.pause()
  }

  function append(chunk: Buffer): void {
    for (let from = 0; from < chunk.length; ) {
      let last = pieces.at(-1)
      if (last === undefined || filled === last.length) {
        const left = chunk.length - from
        // Without memory only the received bytes are kept, so that what is still to come takes no memory yet.
        const space = reservation?.isWaiting ? 0 : announced === 0 ? SEGMENT_BYTES : announced - (bytes - left)
        last = Buffer.allocUnsafeSlow(Math.max(left, space))
        pieces.push(last)
        filled = 0
      }
      const copied = chunk.copy(last, filled, from)
      filled += copied
      from += copied
    }
  }

  function segments(): Buffer[] {
    if (reservation === undefined) return [Buffer.concat(pieces)]
    const last = pieces.length - 1
    return pieces.map((piece, number) => (number === last ? piece.subarray(0, filled) : piece))
  }

  function readLarge(): void {
    const job = { segments: ownSegments(segments()), unsaid: setup.unsaid }
    pieces = []
    inThread = true
    needs.large.read(job, needs.accountId, read => {
      inThread = false
      if (!(read instanceof Failure)) written = read.written
      if (over) return release()
      if (read instanceof Failure) return end(read)
      state.upstreamId = read.id
      const { choices, usage, fingerprint } = read
      listener.whole({ choices, written, usage, fingerprint })
      end(undefined)
    })
  }

  return {
    start(length) {
      if (length === undefined || length <= setup.answerUncountedBytesMax || length > setup.answerBytesMax) return
      announced = length
      needRoom(length)
    },
    data(chunk) {
      if (over) return
      bytes += chunk.length
      if (bytes > setup.answerBytesMax) {
        needs.abort()
        const why = `the response is over ${setup.answerBytesMax} bytes`
        return end(new Failure('too_large', why, { producedBytes: bytes }))
      }
      if (reservation === undefined && bytes <= setup.answerUncountedBytesMax) {
        pieces.push(Buffer.from(chunk))
        return
      }
      if (bytes > roomBytes) {
        const first = reservation === undefined
        needRoom(Math.max(bytes - roomBytes, SEGMENT_BYTES))
        if (first) moveToSegment()
      }
      append(chunk)
    },
    end(failure) {
      if (over) return
      if (failure !== undefined) {
        // The gateway stopped reading. What was read had been produced.
        const isOurs = failure.kind === 'timeout' && reservation?.isWaiting === true
        return end(
          isOurs ? new Failure('cancelled', 'no memory for the response in time', { producedBytes: bytes }) : failure,
        )
      }
      reservation?.complete()
      if (bytes > setup.answerInlineBytesMax) return readLarge()
      try {
        const text = String(pieces.length === 1 && reservation === undefined ? pieces[0] : Buffer.concat(segments()))
        const verdict = guardText(text, { depthMax: DEPTH_MAX, membersMax: setup.answerInlineMembersMax })
        if (verdict === 'too_many') return readLarge()
        if (verdict === 'too_deep') throw invalidResponse('nested too deeply')
        const answer = readWhole(text, setup.unsaid)
        pieces = []
        state.upstreamId = answer.id
        listener.whole(answer.whole)
        end(undefined)
      } catch (error) {
        end(error instanceof Failure ? error : invalidResponse('not JSON'))
      }
    },
    isWaiting: () => reservation?.isWaiting === true,
    abandon() {
      over = true
      if (!inThread) release()
    },
    reservation: () => (reservation === undefined ? undefined : { release }),
  }

  // What arrived before memory was granted.
  function moveToSegment(): void {
    const early = pieces
    pieces = []
    filled = 0
    for (const piece of early) append(piece)
  }
}

const SEGMENT_BYTES = 1024 * 1024

// Immediately: the collector does not know that a small object holds megabytes.
function free(buffer: ArrayBufferLike): void {
  if (buffer instanceof ArrayBuffer && !buffer.detached) buffer.transfer(0)
}

// A shared buffer cannot be transferred to a thread.
function ownSegments(segments: readonly Buffer[]): Buffer[] {
  return segments.map(segment => {
    if (segment.length >= Buffer.poolSize) return segment
    const own = Buffer.allocUnsafeSlow(segment.length)
    segment.copy(own)
    return own
  })
}
