// Whether a request bears a token that we know by its hash.
import { createHash, timingSafeEqual } from 'node:crypto'

// Hashes are compared and not tokens, so that neither length nor content can be told from the time it takes.
export function bearsToken(authorization: string | undefined, wanted: Buffer): boolean {
  const token = bearerOf(authorization ?? '')
  return token !== '' && timingSafeEqual(tokenHash(token), wanted)
}

// The token, or nothing that could be one.
export function bearerOf(authorization: string): string {
  return /^Bearer +([\x21-\x7e]{1,1024})$/i.exec(authorization)?.[1] ?? ''
}

export function tokenHash(token: string): Buffer {
  return createHash('sha256').update(token).digest()
}
