// A parsed and validated chat, as the stages of a request receive it.
import type { Message } from './prompt.ts'
import type { ReasoningPreference } from './reasoning.ts'
import type { RoutingPreferences } from './routing.ts'

export type MediaKind = 'image' | 'audio' | 'file'

export type Media = { readonly kind: MediaKind; readonly param: string; readonly isRemote: boolean }

export type Chat = {
  readonly model: string
  readonly stream: boolean
  readonly includeUsage: boolean
  readonly n: number
  readonly maxTokens: number | null
  // The field name that the caller used for it.
  readonly maxTokensName: 'max_tokens' | 'max_completion_tokens'
  readonly messages: readonly Message[]
  // Serialised once: measured for the hold and sent upstream unchanged.
  readonly messagesJson: string
  readonly promptBytes: number
  readonly media: readonly Media[]
  // The path of the first image URL, which not every provider fetches.
  readonly remoteMedia: string | undefined
  // Allowlisted fields, as the caller sent them.
  readonly forwarded: Readonly<Record<string, unknown>>
  // Identifiers of the tenant's users, not yet hashed: they are sent upstream only as an HMAC.
  readonly identifiers: Readonly<Record<string, string>>
  // Fields that are sent only to providers that list them as `passthrough`.
  readonly extras: ReadonlyMap<string, unknown>
  // Fields of messages and parts that are sent to no provider, without the index of the message.
  readonly leftOut: readonly string[]
  // The caller's routing preferences.
  readonly preferences: RoutingPreferences
  readonly reasoning: ReasoningPreference
}
