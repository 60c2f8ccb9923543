// A tenant's user, session and cache identifiers as HMACs: upstream they neither collide with another tenant's nor reveal the
// tenant.
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

// An account that remembers its mark.
export type MarkedAccount = { readonly id: string; mark?: string | undefined }

// The account itself, for providers whose prompt cache it partitions. Constant for all requests of an account.
export function accountMark(account: MarkedAccount, hmacKey: Buffer): string {
  account.mark ??= createHmac('sha256', hmacKey).update(`account\n${account.id}`).digest('base64url')
  return account.mark
}

// Requests with the same identifier go to the same target while it is healthy, so that its prompt cache stays warm.
export function stickyWord({ session_id: session, prompt_cache_key: cacheKey }: Identifiers): string | null {
  return session ?? cacheKey ?? null
}
