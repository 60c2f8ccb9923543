// What a provider protocol must do: send one chat to one provider and report the answer in OpenAI's format. An adapter is pure
// translation: no money, no retries, no choice of target.
import type { Credential, Provider } from '../domain/catalog.ts'
import type { Chat, Vectors } from '../domain/chat.ts'
import type { Failure } from '../domain/failure.ts'
import type { AnswerListener, UpstreamStream } from '../domain/handoff.ts'
import type { Silence } from './http-client.ts'

export type UpstreamRequest = {
  readonly requestId: string
  // The account; empty for probes.
  readonly accountId: string
  readonly chat: Chat
  // The credential that identifies us to the provider; undefined for one that needs none.
  readonly credential: Credential | undefined
  // The provider's name for the model.
  readonly model: string
  // Sent as the cap when the caller named a maximum or a low balance set one; null leaves it to the upstream.
  readonly outputTokens: number | null
  // What was held for the output of each choice, whether it is sent or not: no reasoning budget may exceed it.
  readonly outputBound: number
  // For a request for embeddings: the vectors that must come back.
  readonly vectors?: Vectors | undefined
  // The tenant's identifiers in the form that may be sent: HMACs.
  readonly identifiers: Readonly<Record<string, string>>
  // The HMAC of the account, for providers that partition their prompt cache by it.
  readonly accountMark: string
  // The remaining time that all attempts of a request share.
  readonly totalMsMax: number
  // Silence during the model's reasoning; undefined where silence means a failure.
  readonly silence?: Silence | undefined
  // Sent along if tracing is passed on to providers.
  readonly traceparent?: string | undefined
  // The request is being sent: from here on the upstream may be working on it.
  onSent(): void
}

export type Adapter = {
  readonly provider: Provider
  call(upstreamRequest: UpstreamRequest, listener: AnswerListener): UpstreamStream
  // The tokens of the prompt, where the protocol has a count. Calls back once, unless aborted.
  countTokens?(upstreamRequest: UpstreamRequest, done: (counted: number | Failure) => void): { abort(): void }
  // Names of the caller's fields that this protocol does not forward for this model.
  ignored(chat: Chat, model: string): readonly string[]
  // Its provider has changed: calls in flight continue to their end, nothing is kept for later.
  retire(): void
  close(): Promise<void>
}
