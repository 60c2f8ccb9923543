// The order in which candidates of one model are tried, by strategy. Equal ranks are drawn by weight. Pure except for the random
// source, which is passed in.
import type { Chat } from '../domain/chat.ts'
import { NO_TOKENS, sumOf } from '../domain/credits.ts'
import type { Strategy } from '../domain/routing.ts'
import { firstByteMs } from './target-health.ts'
import type { Candidate } from './targets.ts'

export type Ranked = {
  readonly candidate: Candidate
  // Lower goes first.
  readonly score: number
  // Targets of one group are equivalent for a sticky request.
  readonly group: number
}

export type Circumstances = {
  readonly chat: Pick<Chat, 'promptBytes' | 'stream' | 'n' | 'maxTokens'>
  readonly nowMs: number
  readonly random: () => number
}

export function rank(candidates: readonly Candidate[], strategy: Strategy, at: Circumstances): readonly Ranked[] {
  const ranked = SCORES[strategy](candidates, at)
  if (ranked.length < 2) return ranked
  return ranked
    .map(entry => ({ entry, draw: -Math.log(1 - at.random()) / weightOf(entry.candidate) }))
    .sort((a, b) => compare(a.entry.score, b.entry.score) || compare(a.draw, b.draw))
    .map(({ entry }) => entry)
}

type Scoring = (candidates: readonly Candidate[], at: Circumstances) => readonly Ranked[]

const SCORES: Readonly<Record<Strategy, Scoring>> = {
  priority: candidates =>
    candidates.map(candidate => {
      const { priority } = candidate.target
      return { candidate, score: priority, group: priority }
    }),
  weighted: candidates => candidates.map(candidate => ({ candidate, score: 0, group: 0 })),
  cheapest: byCost,
  fastest: byFirstByte,
  least_busy: candidates =>
    candidates.map(candidate => {
      const score = (candidate.state.health.inFlight + 1) / weightOf(candidate)
      return { candidate, score, group: 0 }
    }),
}

// The operator's cost of a request with this prompt and a typical answer; a target without a stated cost goes last.
function byCost(candidates: readonly Candidate[], { chat }: Circumstances): readonly Ranked[] {
  const tokens = {
    ...NO_TOKENS,
    prompt: Math.ceil(chat.promptBytes / BYTES_PER_TOKEN),
    completion: Math.min(chat.maxTokens ?? USUAL_ANSWER_TOKENS, USUAL_ANSWER_TOKENS) * chat.n,
  }
  const costs = candidates.map(({ target }) => (target.cost === undefined ? undefined : sumOf(tokens, target.cost)))
  return candidates.map((candidate, index) => {
    const cost = costs[index]
    const cheaper = costs.filter(other => other !== undefined && (cost === undefined || other < cost)).length
    return { candidate, score: cheaper, group: cheaper }
  })
}

const BYTES_PER_TOKEN = 4
const USUAL_ANSWER_TOKENS = 500

// A target without recent data is tried now and then.
function byFirstByte(candidates: readonly Candidate[], { chat, nowMs, random }: Circumstances): readonly Ranked[] {
  return candidates.map(candidate => {
    const tookMs = firstByteMs(candidate.state.health, chat.stream, nowMs)
    const score = tookMs ?? (random() < EXPLORED_SHARE ? 0 : Number.POSITIVE_INFINITY)
    return { candidate, score, group: 0 }
  })
}

const EXPLORED_SHARE = 0.05

function weightOf({ target }: Candidate): number {
  return Math.max(target.weight, Number.MIN_VALUE)
}

function compare(a: number, b: number): number {
  return a < b ? -1 : a > b ? 1 : 0
}
