// What a wire must do: take one chat, speak it to one provider, and report what comes back in OpenAI's words. An adapter
// is pure translation: no money, no retry, no choice.
import type { Credential, Provider } from '../domain/catalog.ts'
import type { Chat } from '../domain/chat.ts'
import type { AnswerListener, Flow } from '../domain/handoff.ts'
import type { Silence } from './http1/connection.ts'

export type Errand = {
  readonly requestId: string
  // For whom it is; empty for what we ask ourselves.
  readonly accountId: string
  readonly chat: Chat
  // By which of our secrets the provider is to know us; undefined for one that asks for none.
  readonly credential: Credential | undefined
  // The provider's name for the model.
  readonly model: string
  // Sent as the cap when the caller named a maximum or a low balance set one; null leaves it to the upstream.
  readonly outputTokens: number | null
  // What was held for the output of each choice, whether it is sent or not: no budget may be above it.
  readonly outputBound: number
  // The tenant's identifiers as they may leave: HMACs.
  readonly identifiers: Readonly<Record<string, string>>
  // The HMAC of the account, for providers whose prompt caches are partitioned by it.
  readonly accountMark: string
  // What is left of the time that all tries of a request share.
  readonly totalMsMax: number
  // Silence that is the model's thinking; undefined where silence means that something is wrong.
  readonly silence?: Silence | undefined
  // The request leaves: from here on the upstream may be working on it.
  onSent(): void
}

export type Adapter = {
  readonly provider: Provider
  call(errand: Errand, listener: AnswerListener): Flow
  // Names of the caller's fields that this wire does not forward.
  ignored(chat: Chat): readonly string[]
  // Its provider has changed: what is under way goes on to its end, nothing is kept for later.
  retire(): void
  close(): Promise<void>
}
