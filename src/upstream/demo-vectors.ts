// The vectors of the built-in provider: the same text always has the same one, and each has the length 1. They say nothing about
// the meaning of a text.
import { createHash } from 'node:crypto'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Embedding } from '../domain/chat.ts'
import { vectorItems, writeVector } from '../lib/vectors.ts'

// The number of values that are written before others are served.
const VALUES_PER_TURN = 50_000

// The entries of the list, in parts.
export async function demoVectors(
  { inputs, encoding }: Embedding,
  dimensions: number,
  isStopped: () => boolean,
): Promise<readonly Uint8Array[]> {
  const perTurn = Math.max(1, Math.floor(VALUES_PER_TURN / dimensions))
  const parts: Uint8Array[] = []
  for (let from = 0; from < inputs.length && !isStopped(); from += perTurn) {
    const vectors = inputs
      .slice(from, from + perTurn)
      .map(input => writeVector(vectorOf(typeof input === 'string' ? input : input.join(' '), dimensions), encoding))
    if (from > 0) parts.push(COMMA)
    parts.push(vectorItems(vectors, from))
    await nextTurn()
  }
  return parts
}

const COMMA = Buffer.from(',')

function vectorOf(text: string, dimensions: number): readonly number[] {
  let seed = createHash('sha256').update(text).digest().readUInt32LE()
  const values = Array.from({ length: dimensions }, () => {
    // A step of mulberry32.
    seed = (seed + 0x6d2b79f5) | 0
    let mixed = Math.imul(seed ^ (seed >>> 15), seed | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 31 - 1
  })
  const length = Math.hypot(...values) || 1
  return values.map(value => Math.fround(value / length))
}
