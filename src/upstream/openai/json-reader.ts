// The body of an OpenAI-style JSON answer: buffered within the memory limit of answers, and parsed when complete; a large one, or
// one with very many members, in a separate thread.
import { Failure } from '../../domain/failure.ts'
import type { AnswerListener } from '../../domain/handoff.ts'
import { guardText } from '../../lib/json-guard.ts'
import type { LargeAnswers } from '../large-answers.ts'
import type { AnswerMemory, AnswerReservation } from '../response-memory.ts'
import { readEmbeddings, type WantedVectors } from './embeddings.ts'
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

export type JsonReaderSetup = JsonReaderBounds & {
  readonly unsaid: Unsaid
  // For an answer in another dialect than OpenAI's, which is read on the event loop.
  readonly read?: typeof readWhole
  // For embeddings, which are passed on as bytes.
  readonly vectors?: WantedVectors | undefined
}

// A call whose answer is read as a whole.
export type WholeSetup = {
  readonly readerSetup: JsonReaderSetup
  readonly memory: Pick<AnswerMemory, 'open'>
}

export type JsonReaderNeeds = {
  readonly accountId: string
  readonly memory: Pick<AnswerMemory, 'open'>
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
  const body: Body = {
    bytes: 0,
    announced: 0,
    pieces: [],
    filled: 0,
    written: [],
    reservation: undefined,
    reservedBytes: 0,
    needs,
  }
  let over = false
  let inThread = false

  function end(failure: Failure | undefined): void {
    if (over) return
    over = true
    if (failure !== undefined) release()
    listener.end(failure)
  }

  function release(): void {
    releaseBody(body)
  }

  function readInline(): void {
    try {
      if (setup.vectors !== undefined) {
        readVectors(setup.vectors)
        return
      }
      const text = textOf(body)
      const verdict = guardText(text, { depthMax: DEPTH_MAX, membersMax: setup.answerInlineMembersMax })
      if (verdict === 'too_many') {
        if (setup.answerInlineBytesMax >= setup.answerBytesMax) throw invalidResponse('too many members')
        readLarge()
        return
      }
      if (verdict === 'too_deep') throw invalidResponse('nested too deeply')
      const answer = (setup.read ?? readWhole)(text, setup.unsaid)
      body.pieces = []
      state.upstreamId = answer.id
      listener.whole(answer.whole)
      end(undefined)
    } catch (error) {
      end(error instanceof Failure ? error : invalidResponse('not JSON'))
    }
  }

  function readVectors(vectors: WantedVectors): void {
    const { id, written, usage } = readEmbeddings(Buffer.concat(segmentsOf(body)), vectors, setup.unsaid)
    body.pieces = []
    state.upstreamId = id
    listener.whole({ choices: [], embeddings: [written], usage, fingerprint: undefined })
    end(undefined)
  }

  function readLarge(): void {
    const { unsaid, vectors } = setup
    const job = { segments: ownSegments(segmentsOf(body)), unsaid, vectors }
    body.pieces = []
    inThread = true
    needs.large.read(job, needs.accountId, read => {
      inThread = false
      if (!(read instanceof Failure)) body.written = read.written
      if (over) return release()
      if (read instanceof Failure) return end(read)
      state.upstreamId = read.id
      const { choices, usage, fingerprint } = read
      const parts = vectors === undefined ? { written: body.written } : { embeddings: body.written }
      listener.whole({ choices, ...parts, usage, fingerprint })
      end(undefined)
    })
  }

  return {
    start(length) {
      if (length === undefined || length <= setup.answerUncountedBytesMax || length > setup.answerBytesMax) return
      body.announced = length
      reserve(body, length)
    },
    data(chunk) {
      if (over) return
      keep(body, chunk, setup)
      if (body.bytes <= setup.answerBytesMax) return
      needs.abort()
      const why = `the response is over ${setup.answerBytesMax} bytes`
      end(new Failure('too_large', why, { producedBytes: body.bytes }))
    },
    end(failure) {
      if (over) return
      if (failure !== undefined) return end(isWaiting(body) ? outOfMemory(failure, body.bytes) : failure)
      body.reservation?.complete()
      if (body.bytes > setup.answerInlineBytesMax) readLarge()
      else readInline()
    },
    isWaiting: () => isWaiting(body),
    abandon() {
      over = true
      if (!inThread) release()
    },
    reservation: () => (body.reservation === undefined ? undefined : { release }),
  }
}

// The gateway stopped reading. What was read had been produced.
function outOfMemory(failure: Failure, producedBytes: number): Failure {
  if (failure.kind !== 'timeout') return failure
  return new Failure('cancelled', 'no memory for the response in time', { producedBytes })
}

// The bytes received so far, and the memory reserved for them.
type Body = {
  bytes: number
  announced: number
  // Small pieces until memory is reserved, segments from then on: `filled` bytes of the last segment are in use.
  pieces: Buffer[]
  filled: number
  // What the thread has made of a large answer.
  written: readonly Uint8Array[]
  reservation: AnswerReservation | undefined
  reservedBytes: number
  readonly needs: JsonReaderNeeds
}

const SEGMENT_BYTES = 1024 * 1024

function isWaiting({ reservation }: Body): boolean {
  return reservation?.isWaiting() === true
}

function keep(body: Body, chunk: Buffer, { answerBytesMax, answerUncountedBytesMax }: JsonReaderBounds): void {
  body.bytes += chunk.length
  if (body.bytes > answerBytesMax) return
  if (body.reservation === undefined && body.bytes <= answerUncountedBytesMax) {
    body.pieces.push(Buffer.from(chunk))
    return
  }
  if (body.bytes > body.reservedBytes) {
    const isFirst = body.reservation === undefined
    reserve(body, Math.max(body.bytes - body.reservedBytes, SEGMENT_BYTES))
    if (isFirst) moveToSegment(body)
  }
  append(body, chunk)
}

function reserve(body: Body, bytes: number): void {
  const { memory, accountId, resume } = body.needs
  body.reservation ??= memory.open(accountId, resume)
  body.reservedBytes += bytes
  if (!body.reservation.take(bytes)) body.needs.pause()
}

// What arrived before memory was reserved.
function moveToSegment(body: Body): void {
  const early = body.pieces
  body.pieces = []
  body.filled = 0
  for (const piece of early) append(body, piece)
}

function append(body: Body, chunk: Buffer): void {
  for (let from = 0; from < chunk.length; ) {
    let last = body.pieces.at(-1)
    if (last === undefined || body.filled === last.length) {
      last = Buffer.allocUnsafeSlow(segmentBytes(body, chunk.length - from))
      body.pieces.push(last)
      body.filled = 0
    }
    const copied = chunk.copy(last, body.filled, from)
    body.filled += copied
    from += copied
  }
}

// Without memory only the received bytes are kept, so that what is still to come takes no memory yet.
function segmentBytes(body: Body, left: number): number {
  if (isWaiting(body)) return left
  return Math.max(left, body.announced === 0 ? SEGMENT_BYTES : body.announced - (body.bytes - left))
}

function textOf(body: Body): string {
  const isOnePiece = body.pieces.length === 1 && body.reservation === undefined
  return String(isOnePiece ? body.pieces[0] : Buffer.concat(segmentsOf(body)))
}

function segmentsOf({ pieces, filled, reservation }: Body): Buffer[] {
  if (reservation === undefined) return [Buffer.concat(pieces)]
  const last = pieces.length - 1
  return pieces.map((piece, number) => (number === last ? piece.subarray(0, filled) : piece))
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

function releaseBody(body: Body): void {
  if (body.reservation === undefined) return
  for (const { buffer } of body.pieces) free(buffer)
  for (const { buffer } of body.written) free(buffer)
  body.pieces = []
  body.reservation.release()
  body.reservation = undefined
}

// Immediately: the collector does not know that a small object holds megabytes.
function free(buffer: ArrayBufferLike): void {
  if (buffer instanceof ArrayBuffer && !buffer.detached) buffer.transfer(0)
}
