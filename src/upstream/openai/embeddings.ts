// Reads an OpenAI-style list of embeddings and writes it in the caller's encoding. Vectors that have it already, which is the
// usual case since it was requested, are copied as bytes and never parsed.
import { randomBytes } from 'node:crypto'
import { Failure } from '../../domain/failure.ts'
import { storable } from '../../domain/usage.ts'
import { type Cut, EMBEDDINGS, jsonCuts, NotJson } from '../../lib/json-cuts.ts'
import { base64OfText, floatsIn, hasFiniteFloats, isBase64, textOfBase64, vectorItems } from '../../lib/vectors.ts'
import { failureOfError, type Unsaid } from './error.ts'
import { DEPTH_MAX, invalidResponse } from './response.ts'

export type WantedVectors = {
  readonly encoding: 'float' | 'base64'
  readonly dimensions: number
  // How many, and the position of the first among all inputs of the request.
  readonly count: number
  readonly from: number
}

export type ReadEmbeddings = {
  readonly id: string | null
  // The entries of the list, without its brackets.
  readonly written: Uint8Array
  readonly usage: unknown
}

// A short vector in base64 is not cut, and neither is an error's message.
const BOUNDS = { depthMax: DEPTH_MAX, membersMax: 50_000, stringBytesMax: 1024, path: EMBEDDINGS }

export function readEmbeddings(bytes: Buffer, wanted: WantedVectors, unsaid: Unsaid): ReadEmbeddings {
  try {
    return read(bytes, wanted, unsaid)
  } catch (error) {
    if (error instanceof Failure) throw error
    throw invalidResponse(error instanceof NotJson ? error.message : 'not JSON')
  }
}

function read(bytes: Buffer, wanted: WantedVectors, unsaid: Unsaid): ReadEmbeddings {
  const cuts = jsonCuts(bytes, BOUNDS)
  // Random, so no answer can contain it.
  const mark = randomBytes(16).toString('hex')
  const body = JSON.parse(withoutCuts(bytes, cuts, mark)) as Record<string, unknown> | null
  if (typeof body !== 'object' || body === null) throw invalidResponse('not an object')
  if (body.error !== undefined && body.error !== null) throw failureOfError(body.error, unsaid)
  const list = Array.isArray(body.data) ? (body.data as readonly unknown[]) : []
  if (list.length !== wanted.count) throw invalidResponse(`${list.length} embeddings instead of ${wanted.count}`)

  const vectors: Uint8Array[] = new Array(wanted.count)
  for (const [position, entry] of list.entries()) {
    const { index = position, embedding } = (entry ?? {}) as { index?: unknown; embedding?: unknown }
    if (!isIndex(index, wanted.count) || vectors[index] !== undefined) throw invalidResponse('embeddings out of order')
    const cut = cutOf(embedding, cuts, mark)
    vectors[index] = cut === undefined ? shortVector(embedding, wanted) : longVector(bytes, cut, wanted)
  }
  const id = typeof body.id === 'string' ? storable(body.id, 256) : null
  return { id, written: vectorItems(vectors, wanted.from), usage: usageOf(body) }
}

// The JSON value of the vector, from the bytes of a list or of a string without its quotes.
function longVector(bytes: Buffer, { kind, from, to }: Cut, { encoding, dimensions }: WantedVectors): Uint8Array {
  if (kind === 'inside') {
    const isAsWanted = encoding === 'base64' && to - from === base64Length(dimensions) && isBase64(bytes, from, to)
    // It may contain escapes, which only a parser reads.
    const text = isAsWanted ? '' : (JSON.parse(bytes.toString('latin1', from - 1, to + 1)) as string)
    if (!isAsWanted) return ofBase64(text, encoding, dimensions)
    if (!hasFiniteFloats(bytes, from, to)) throw notFinite()
    return bytes.subarray(from - 1, to + 1)
  }
  checkSize(floatsIn(bytes, from, to), dimensions)
  return encoding === 'float'
    ? bytes.subarray(from, to)
    : Buffer.from(`"${base64OfText(bytes.toString('latin1', from, to))}"`)
}

function shortVector(embedding: unknown, { encoding, dimensions }: WantedVectors): Uint8Array {
  if (typeof embedding !== 'string') throw invalidResponse('an embedding is not a vector')
  return ofBase64(embedding, encoding, dimensions)
}

function ofBase64(text: string, encoding: WantedVectors['encoding'], dimensions: number): Uint8Array {
  const floats = textOfBase64(text)
  checkSize(floats.length, dimensions)
  const list = floats.text()
  return Buffer.from(encoding === 'base64' ? JSON.stringify(text) : list)
}

function notFinite(): Failure {
  return invalidResponse('a value of an embedding is not finite')
}

// The catalog promises a size; vectors of another one must not be mixed with those that a caller has stored.
function checkSize(size: number | undefined, dimensions: number): void {
  if (size === undefined) throw invalidResponse('an embedding is not a vector')
  if (size !== dimensions) throw invalidResponse(`an embedding of ${size} dimensions instead of ${dimensions}`)
}

function base64Length(dimensions: number): number {
  return Math.ceil((dimensions * Float32Array.BYTES_PER_ELEMENT) / 3) * 4
}

function cutOf(embedding: unknown, cuts: readonly Cut[], mark: string): Cut | undefined {
  if (typeof embedding !== 'string' || !embedding.startsWith(mark)) return undefined
  return cuts[Number(embedding.slice(mark.length))]
}

function withoutCuts(bytes: Buffer, cuts: readonly Cut[], mark: string): string {
  let text = ''
  let at = 0
  for (const [number, { kind, from, to }] of cuts.entries()) {
    const name = `${mark}${number}`
    text += bytes.toString('utf8', at, from) + (kind === 'value' ? `"${name}"` : name)
    at = to
  }
  return text + bytes.toString('utf8', at)
}

function isIndex(value: unknown, count: number): value is number {
  return Number.isInteger(value) && (value as number) >= 0 && (value as number) < count
}

// There is no output.
function usageOf({ usage }: Record<string, unknown>): object | undefined {
  return typeof usage === 'object' && usage !== null ? { ...usage, completion_tokens: 0 } : undefined
}
