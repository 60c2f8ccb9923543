// A chat that was parsed and checked: what the stages of a request are given.
import type { Message } from './prompt.ts'
import type { ReasoningWish } from './reasoning.ts'
import type { Wishes } from './routing.ts'

export type MediaKind = 'image' | 'audio' | 'file'

export type Media = { readonly kind: MediaKind; readonly param: string; readonly isRemote: boolean }

export type Chat = {
  readonly model: string
  readonly stream: boolean
  readonly includeUsage: boolean
  readonly n: number
  readonly maxTokens: number | null
  // Under which of its two names the caller gave it.
  readonly maxTokensName: 'max_tokens' | 'max_completion_tokens'
  readonly messages: readonly Message[]
  // Serialised once: it is measured for the hold and sent upstream as it is.
  readonly messagesJson: string
  readonly promptBytes: number
  readonly media: readonly Media[]
  // Where the first picture by address stands, which not every provider fetches.
  readonly remoteMedia: string | undefined
  // Allowlisted fields, in the caller's words.
  readonly forwarded: Readonly<Record<string, unknown>>
  // Identifiers of the tenant's users, still in the clear: they leave only as an HMAC.
  readonly identifiers: Readonly<Record<string, string>>
  // Fields that only a provider listing them as `passthrough` gets.
  readonly extras: ReadonlyMap<string, unknown>
  // Fields of messages and parts that nobody gets, without the number of the message.
  readonly leftOut: readonly string[]
  // What it asks of routing.
  readonly wishes: Wishes
  readonly reasoning: ReasoningWish
}
