// Whether a request has a bearer token with a known hash.
import { createHash, timingSafeEqual } from 'node:crypto'

// Hashes are compared and not tokens, so that timing reveals neither length nor content.
export function bearsToken(authorization: string | undefined, wanted: Buffer): boolean {
  const token = bearerOf(authorization ?? '')
  return token !== '' && timingSafeEqual(tokenHash(token), wanted)
}

// The token, or undefined if there is none.
export function bearerOf(authorization: string): string {
  return /^Bearer +([\x21-\x7e]{1,1024})$/i.exec(authorization)?.[1] ?? ''
}

export function tokenHash(token: string): Buffer {
  return createHash('sha256').update(token).digest()
}
