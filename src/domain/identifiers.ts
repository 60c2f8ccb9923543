// Users, sessions and cache keys of a tenant: upstream they neither collide with another tenant's nor tell who it is.
import { createHmac } from 'node:crypto'
import type { Chat } from './chat.ts'

export type Identifiers = Readonly<Record<string, string>>

export function identifiersOf(chat: Chat, accountId: string, hmacKey: Buffer): Identifiers {
  const hashed: Record<string, string> = {}
  for (const [name, value] of Object.entries(chat.identifiers)) {
    hashed[name] = createHmac('sha256', hmacKey).update(`${accountId}\n${value}`).digest('base64url')
  }
  return hashed
}

// Requests with the same word go to the same target while it is well, so that its prompt cache stays warm.
export function stickyWord({ session_id: session, prompt_cache_key: cacheKey }: Identifiers): string | null {
  return session ?? cacheKey ?? null
}
