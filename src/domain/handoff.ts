// The types that the stages pass to each other: Call → Pass → Answer → Delivery → Receipt. Plain types; the stages never import
// one another.
import type { Address } from '../lib/ip-address.ts'
import type { Model } from './catalog.ts'
import type { Nano, TargetCost, Tokens } from './credits.ts'
import type { Failure } from './failure.ts'
import type { AuthenticatedKey } from './key.ts'
import type { Refusal } from './refusal.ts'
import type { Considered } from './routing.ts'
import type { Tags } from './tags.ts'
import type { RequestTrace } from './trace.ts'
import type { Attempt, Endpoint, Outcome, RequestFacts, UsageSource } from './usage.ts'

// A request as the router received it, before any decision.
export type Call = {
  readonly requestId: string
  readonly clientRequestId: string | null
  readonly method: string
  readonly path: string
  readonly query: string
  // Every Authorization and X-Api-Key header, as sent.
  readonly authorizations: readonly string[]
  readonly apiKeys: readonly string[]
  // The caller's address by the trusted proxy rules; undefined when a hop was unreadable.
  readonly address: Address | undefined
  readonly receivedAt: number
  readonly startedMs: number
  // The tags of the request, if it has any; malformed ones are refused once its body is read.
  readonly tags: Tags | undefined
  readonly tagsRefusal: Refusal | undefined
  readonly client: Client
  // Undefined where requests are not traced.
  readonly trace: RequestTrace | undefined
}

// The caller's connection and whether it is still open.
export type Client = {
  readonly gone: boolean
  // Calls back once when the caller disconnects before the answer is complete, immediately if it already has. Returns an
  // unsubscribe function.
  onGone(listener: () => void): () => void
  // Calls back when the gateway ends the request itself, immediately if it already has: on shutdown, or when a revoke ends its
  // streams.
  onCancelled(listener: (failure: Failure) => void): () => void
}

// An admitted call: known key, allowed address, required scope, within its limits.
export type Pass = {
  readonly call: Call
  readonly endpoint: Endpoint
  // Replaced when the reservation finds that the cached record is stale.
  caller: AuthenticatedKey
  // Whether the reservation has written the request's row, open or refused.
  hasRow: boolean
  // What its row says of the body; not known before the body was read.
  modelRequested: string | null
  stream: boolean
  readonly hash: string
  readonly facts: () => RequestFacts
  // Returns the rpm token; for refusals that count against nothing.
  giveBack(): void
  // Releases the key's concurrency slot. Idempotent.
  leave(): void
}

// An upstream's answer in OpenAI's shape.
export const FINISH_REASONS = ['stop', 'length', 'tool_calls', 'content_filter', 'function_call'] as const

export type ChunkChoice = {
  readonly index: number
  delta: { role?: string; content?: string | null; [field: string]: unknown }
  finish_reason: string | null
  readonly [field: string]: unknown
}
export type Chunk = {
  readonly choices: readonly ChunkChoice[]
  // The upstream's own event, if it speaks the caller's dialect: it is passed through, and `choices` hold what is metered of it.
  readonly native?: NativeEvent
  readonly usage: unknown
  readonly fingerprint: string | undefined
}

export type WholeChoice = {
  readonly index: number
  readonly message: { role: string; content: string | null; [field: string]: unknown }
  readonly finish_reason: string
  readonly [field: string]: unknown
}
export type NativeEvent = { readonly type: string; readonly [field: string]: unknown }

export type Whole = {
  readonly choices: readonly WholeChoice[]
  // The upstream's own answer, if it speaks the caller's dialect.
  readonly native?: Readonly<Record<string, unknown>>
  // Only for an answer that is too large to serialise on the event loop: its choices as JSON. `choices` then holds the metered
  // part.
  readonly written?: readonly Uint8Array[]
  // Only for embeddings: the list of them as JSON, in the caller's encoding, in the order of the inputs. There are no choices.
  readonly embeddings?: readonly Uint8Array[]
  readonly usage: unknown
  readonly fingerprint: string | undefined
}

export type AnswerListener = {
  chunks(chunks: readonly Chunk[]): void
  whole(whole: Whole): void
  // Called exactly once, last. Without a failure the answer is complete.
  end(failure: Failure | undefined): void
}

export type UpstreamStream = {
  pause(): void
  resume(): void
  // Ends the upstream call immediately; a later `end` must be ignored.
  abort(): void
  // The memory of a large answer, to be released when the answer was sent or is abandoned.
  readonly reservation?: (() => { release(): void } | undefined) | undefined
  upstreamId(): string | null
}

// An upstream that began to answer, or the failures of all that were tried.
export type Answer = {
  // The target that served; when none did, the last one called, or the first in the plan.
  readonly model: Model
  readonly attempts: readonly Attempt[]
  // Every target that could have served, in the planned order, with the reason for its place.
  readonly considered: readonly Considered[]
  readonly served:
    | {
        readonly provider: string
        // The operator's cost of the target; undefined when not stated.
        readonly cost: TargetCost | undefined
        readonly ignored: readonly string[]
        readonly stream: UpstreamStream
        listen(listener: AnswerListener): void
      }
    | undefined
  readonly failures: readonly Failure[]
  // When the request was sent to the last upstream; null when it never was.
  readonly dispatchedAt: number | null
}

// How the answer ended and what was received.
export type Delivery = {
  readonly answer: Answer
  readonly outcome: Exclude<Outcome, 'refused' | 'recovered'>
  readonly failure: Failure | undefined
  readonly finishReason: string | null
  // The upstream's last reported usage, not validated.
  readonly usage: unknown
  readonly output: OutputSeen
  readonly firstByteAt: number | null
  // Whether the caller has received a 200, whatever happened later.
  readonly headersLeft: boolean
}

export type OutputSeen = {
  readonly any: boolean
  // Everything that was read and counts as output, for the tokenizer: one text per choice.
  readonly texts: readonly string[]
  // Bytes in addition to the stored texts that are counted but not stored.
  readonly bytesBeyond: number
}

// What was booked. `cost` is the one number that header, trailer, body, row and ledger share.
export type Receipt = {
  readonly tokens: Tokens
  readonly usageSource: UsageSource
  readonly cost: Nano
  readonly outcome: Outcome
}
