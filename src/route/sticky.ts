// Sends the same identifier to the same target, so that the prompts of a session stay in one cache. Rendezvous hashing: each
// target derives a number from the identifier, the best one wins, and when that target is unhealthy only its own identifiers
// move.
import type { Ranked } from './rank.ts'

// Puts the identifier's target first among those equivalent to the first.
export function stick(ranked: readonly Ranked[], word: string): readonly Ranked[] {
  const group = ranked[0]?.group
  let best: Ranked | undefined
  let bestDraw = Number.POSITIVE_INFINITY
  for (const entry of ranked) {
    if (entry.group !== group) continue
    const draw = drawOf(word, entry)
    if (best !== undefined && draw >= bestDraw) continue
    best = entry
    bestDraw = draw
  }
  return best === undefined ? ranked : [best, ...ranked.filter(entry => entry !== best)]
}

// The same identifier gives the same number: 32 bits, well mixed (FNV-1a and the finaliser of MurmurHash3).
export function numberOf(word: string): number {
  let hash = 0x811c9dc5
  for (let i = 0; i < word.length; i++) hash = Math.imul(hash ^ word.charCodeAt(i), 0x01000193)
  hash ^= hash >>> 16
  hash = Math.imul(hash, 0x85ebca6b)
  hash ^= hash >>> 13
  hash = Math.imul(hash, 0xc2b2ae35)
  return (hash ^ (hash >>> 16)) >>> 0
}

// Exponentially distributed by the target's weight, so that each wins in proportion to its weight.
function drawOf(word: string, { candidate }: Ranked): number {
  const share = (numberOf(`${word}\n${candidate.state.key}`) + 1) / 2 ** 32
  return -Math.log(share) / Math.max(candidate.target.weight, Number.MIN_VALUE)
}
