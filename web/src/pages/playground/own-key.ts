// The key that pays for the playground: one that the server makes for this operator, or one that was pasted. Kept in memory until
// the operator signs out or the page is reloaded.
import { call } from '../../api/call.ts'
import { serverNow } from '../../api/connection.ts'
import type { KeyWithSecret } from '../../api/keys.ts'

let pasted = ''

export function rememberKey(secret: string): void {
  pasted = secret
}

export function rememberedKey(): string {
  return pasted
}

type OwnKey = { readonly secret: string; readonly expiresAt: number }

// By account. Promises, so that two models that are asked at once share a key.
const made = new Map<string, Promise<OwnKey>>()

// A new one well before the old one expires.
const RENEWED_BEFORE_MS = 5 * 60_000

export async function keyFor(accountId: string): Promise<string> {
  const known = made.get(accountId) ?? make(accountId)
  const { secret, expiresAt } = await known
  if (expiresAt - serverNow() > RENEWED_BEFORE_MS) return secret
  const next = made.get(accountId)
  return (await (next === known || next === undefined ? make(accountId) : next)).secret
}

// It was refused: revoked, expired, or its credit is spent.
export function forgetKey(accountId: string): void {
  made.delete(accountId)
}

// All of them, so that the next operator at this browser has none of the last one's.
export function forgetKeys(): void {
  pasted = ''
  made.clear()
}

function make(accountId: string): Promise<OwnKey> {
  const next = create(accountId)
  made.set(accountId, next)
  // Not a newer one.
  next.catch(() => made.get(accountId) === next && made.delete(accountId))
  return next
}

async function create(accountId: string): Promise<OwnKey> {
  const body = accountId === '' ? {} : { account_id: accountId }
  const { secret, expires_at } = await call<KeyWithSecret>('POST', '/keys/playground', { body })
  return { secret, expiresAt: Date.parse(expires_at ?? '') }
}
