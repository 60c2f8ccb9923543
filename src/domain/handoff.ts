// What the stages hand to each other: Call → Pass → Answer → Delivery → Receipt. Plain types; the stages never import
// one another.
import type { Address } from '../lib/ip-address.ts'
import type { Model } from './catalog.ts'
import type { Nano, Tokens } from './credits.ts'
import type { TargetCost } from './dollars.ts'
import type { Failure } from './failure.ts'
import type { Bearer } from './key.ts'
import type { Considered } from './routing.ts'
import type { Attempt, Endpoint, Outcome, RequestFacts, UsageSource } from './usage.ts'

// A request as the door saw it, before anybody decided anything.
export type Call = {
  readonly requestId: string
  readonly clientRequestId: string | null
  readonly method: string
  readonly path: string
  readonly query: string
  // Every Authorization header, as sent.
  readonly authorizations: readonly string[]
  // The caller's address by the rule of trusted proxies; undefined when a hop was unreadable.
  readonly address: Address | undefined
  readonly receivedAt: number
  readonly startedMs: number
  readonly client: Client
}

// The caller's connection: whether it is still there.
export type Client = {
  readonly gone: boolean
  // Called once when the caller leaves before the answer is complete; at once if it has left. Gives an undo.
  onGone(listener: () => void): () => void
  // Called when we end the request ourselves, at once if we have: the process stops, or a revoke ends its streams.
  onCut(listener: (failure: Failure) => void): () => void
}

// A call that may go on: known key, allowed address, right scope, within its limits.
export type Pass = {
  readonly call: Call
  readonly endpoint: Endpoint
  // Replaced when the gate says that what we believed is stale.
  bearer: Bearer
  // Whether the gate has written the request's row, open or refused.
  hasRow: boolean
  readonly hash: string
  readonly facts: () => RequestFacts
  // Gives back the rpm token; for refusals that count against nothing.
  giveBack(): void
  // Gives back the place among the key's requests in flight. Idempotent.
  leave(): void
}

// What an upstream says, in OpenAI's words.
export const FINISH_REASONS = ['stop', 'length', 'tool_calls', 'content_filter', 'function_call'] as const

export type ChunkChoice = {
  readonly index: number
  delta: { role?: string; content?: string | null; [field: string]: unknown }
  finish_reason: string | null
  readonly [field: string]: unknown
}
export type Chunk = {
  readonly choices: readonly ChunkChoice[]
  readonly usage: unknown
  readonly fingerprint: string | undefined
}

export type WholeChoice = {
  readonly index: number
  readonly message: { role: string; content: string | null; [field: string]: unknown }
  readonly finish_reason: string
  readonly [field: string]: unknown
}
export type Whole = {
  readonly choices: readonly WholeChoice[]
  // Only of an answer too large to be written on the event loop: its choices as JSON. `choices` then hold what is metered.
  readonly written?: readonly Uint8Array[]
  readonly usage: unknown
  readonly fingerprint: string | undefined
}

export type AnswerListener = {
  chunks(chunks: readonly Chunk[]): void
  whole(whole: Whole): void
  // Exactly once, last. Without a failure the answer is complete.
  end(failure: Failure | undefined): void
}

export type Flow = {
  pause(): void
  resume(): void
  // Ends the upstream call at once; `end` may or may not follow and is to be ignored.
  abort(): void
  // The memory of a large answer, to be released when the answer was sent or is not going to be.
  room?(): { release(): void } | undefined
  upstreamId(): string | null
}

// An upstream that began to answer, or the failures of all that were tried.
export type Answer = {
  // The one that served; when none did, the one that was called last, or that would have been called first.
  readonly model: Model
  readonly attempts: readonly Attempt[]
  // Every target that could have served, in the order in which they were to be tried, and why.
  readonly considered: readonly Considered[]
  readonly served:
    | {
        readonly provider: string
        // What the operator pays the target; undefined when that was not stated.
        readonly cost: TargetCost | undefined
        readonly ignored: readonly string[]
        readonly flow: Flow
        listen(listener: AnswerListener): void
      }
    | undefined
  readonly failures: readonly Failure[]
  // When the request left for the last upstream; null when it never did.
  readonly dispatchedAt: number | null
}

// How it ended and what came.
export type Delivery = {
  readonly answer: Answer
  readonly outcome: Exclude<Outcome, 'refused' | 'recovered'>
  readonly failure: Failure | undefined
  readonly finishReason: string | null
  // The upstream's last word on usage, unjudged.
  readonly usage: unknown
  readonly output: OutputSeen
  readonly firstByteAt: number | null
  // Whether the caller has seen a 200, whatever came of it.
  readonly headersLeft: boolean
}

export type OutputSeen = {
  readonly any: boolean
  // Everything that was read and counts as output, for the tokenizer: a text for each choice.
  readonly texts: readonly string[]
  // Beyond the kept texts: bytes that are counted but not kept.
  readonly bytesBeyond: number
}

// What was booked. Cost is the one number that header, trailer, body, row and ledger share.
export type Receipt = {
  readonly tokens: Tokens
  readonly usageSource: UsageSource
  readonly cost: Nano
  readonly outcome: Outcome
}
