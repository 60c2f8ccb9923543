// The thread that reads large JSON answers, one per message: validates them, rewrites our fields, and returns the remainder
// unchanged. Long strings and logprobs, which make an answer large, are never built: they are passed on as ranges of the received
// bytes.
import { randomBytes } from 'node:crypto'
import { parentPort } from 'node:worker_threads'
import { Failure, type FailureKind } from '../domain/failure.ts'
import type { WholeChoice } from '../domain/handoff.ts'
import { readUsage } from '../domain/metering.ts'
import { type Cut, jsonCuts, LOGPROBS, NotJson } from '../lib/json-cuts.ts'
import { readEmbeddings, type WantedVectors } from './openai/embeddings.ts'
import type { Unsaid } from './openai/error.ts'
import { DEPTH_MAX, invalidResponse, readWhole } from './openai/response.ts'

// The whole answer; its buffers are transferred.
export type LargeAnswerJob = {
  readonly segments: readonly Uint8Array[]
  readonly unsaid: Unsaid
  // For embeddings.
  readonly vectors?: WantedVectors | undefined
}

export type LargeAnswerResult = LargeAnswerRead | LargeAnswerFailure

export type LargeAnswerRead = {
  readonly id: string | null
  // The metered part. Long texts are included only if the upstream did not report a count.
  readonly choices: readonly WholeChoice[]
  readonly written: readonly Uint8Array[]
  readonly usage: unknown
  readonly fingerprint: string | undefined
}

export type LargeAnswerFailure = {
  readonly failure: Pick<Failure, 'message' | 'status' | 'words' | 'retryAfter' | 'tooLong'> & {
    readonly kind: FailureKind
  }
}

const BOUNDS = { depthMax: DEPTH_MAX, membersMax: 50_000, stringBytesMax: 1024, path: LOGPROBS }

parentPort?.on('message', ({ segments, unsaid, vectors }: LargeAnswerJob) => {
  const result = readLarge(joined(segments), unsaid, vectors)
  const buffers = 'failure' in result ? [] : [...new Set(result.written.map(({ buffer }) => buffer as ArrayBuffer))]
  parentPort?.postMessage(result, buffers)
})

export function readLarge(bytes: Buffer, unsaid: Unsaid, vectors?: WantedVectors): LargeAnswerResult {
  try {
    if (vectors !== undefined) {
      const { id, written, usage } = readEmbeddings(bytes, vectors, unsaid)
      return { id, choices: [], written: [written], usage, fingerprint: undefined }
    }
    const cuts = jsonCuts(bytes, BOUNDS)
    // Random, so no answer can contain it.
    const mark = randomBytes(16).toString('hex')
    const { id, whole } = readWhole(withoutCuts(bytes, cuts, mark), unsaid)
    const written = withCuts(JSON.stringify(whole.choices), bytes, cuts, mark)
    const isCounted = (readUsage(whole.usage).completion ?? 0) > 0
    const text = (string: string) => (isCounted ? string : withTexts(string, bytes, cuts, mark))
    const choices = whole.choices.map(({ index, message, finish_reason }) => ({
      index,
      message: mapStrings(message, text) as WholeChoice['message'],
      finish_reason,
    }))
    return { id, choices, written, usage: whole.usage, fingerprint: whole.fingerprint }
  } catch (error) {
    const failure =
      error instanceof Failure ? error : invalidResponse(error instanceof NotJson ? error.message : 'not JSON')
    const { kind, message, status, words, retryAfter, tooLong } = failure
    return { failure: { kind, message, status, words, retryAfter, tooLong } }
  }
}

// Each is released as soon as it is copied.
function joined(segments: readonly Uint8Array[]): Buffer {
  const [only] = segments
  if (only !== undefined && segments.length === 1) return Buffer.from(only.buffer, only.byteOffset, only.length)
  const whole = Buffer.allocUnsafeSlow(segments.reduce((sum, { length }) => sum + length, 0))
  let at = 0
  for (const segment of segments) {
    whole.set(segment, at)
    at += segment.length
    ;(segment.buffer as ArrayBuffer).transfer(0)
  }
  return whole
}

// A cut is represented by the placeholder and its number. Both kinds are a string there; inside a string it may be joined to
// others.
function withoutCuts(bytes: Buffer, cuts: readonly Cut[], mark: string): string {
  let text = ''
  let at = 0
  for (const [number, { kind, from, to }] of cuts.entries()) {
    const name = `${mark}${number}.`
    text += bytes.toString('utf8', at, from) + (kind === 'value' ? `"${name}"` : name)
    at = to
  }
  return text + bytes.toString('utf8', at)
}

function withCuts(text: string, bytes: Buffer, cuts: readonly Cut[], mark: string): readonly Uint8Array[] {
  const pieces: Uint8Array[] = []
  let at = 0
  for (const { start, end, cut } of namesIn(text, cuts, mark)) {
    const quote = cut.kind === 'value' ? 1 : 0
    pieces.push(Buffer.from(text.slice(at, start - quote)), bytes.subarray(cut.from, cut.to))
    at = end + quote
  }
  pieces.push(Buffer.from(text.slice(at)))
  return unpooled(pieces)
}

// The text of a string of the answer, with the cuts inside it.
function withTexts(string: string, bytes: Buffer, cuts: readonly Cut[], mark: string): string {
  let text = ''
  let at = 0
  for (const { start, end, cut } of namesIn(string, cuts, mark)) {
    text += string.slice(at, start) + JSON.parse(`"${bytes.toString('utf8', cut.from, cut.to)}"`)
    at = end
  }
  return at === 0 ? string : text + string.slice(at)
}

function* namesIn(text: string, cuts: readonly Cut[], mark: string) {
  for (let start = text.indexOf(mark); start >= 0; start = text.indexOf(mark, start + mark.length)) {
    const dot = text.indexOf('.', start + mark.length)
    const cut = cuts[Number(text.slice(start + mark.length, dot))] as Cut
    yield { start, end: dot + 1, cut }
  }
}

// A pooled buffer cannot be transferred: small pieces share a buffer of their own.
function unpooled(pieces: readonly Uint8Array[]): readonly Uint8Array[] {
  const small = pieces.filter((_, number) => number % 2 === 0)
  const own = Buffer.allocUnsafeSlow(small.reduce((sum, { length }) => sum + length, 0))
  let at = 0
  return pieces.map((piece, number) => {
    if (number % 2 === 1) return piece
    own.set(piece, at)
    at += piece.length
    return own.subarray(at - piece.length, at)
  })
}

function mapStrings(value: unknown, map: (string: string) => string): unknown {
  if (typeof value === 'string') return map(value)
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(entry => mapStrings(entry, map))
  return Object.fromEntries(Object.entries(value).map(([name, entry]) => [name, mapStrings(entry, map)]))
}
