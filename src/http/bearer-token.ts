// Whether a request bears a token that we know by its hash.
import { createHash, timingSafeEqual } from 'node:crypto'

// Hashes are compared and not tokens, so that neither length nor content can be told from the time it takes.
export function bearsToken(authorization: string | undefined, wanted: Buffer): boolean {
  const token = /^Bearer +([\x21-\x7e]{1,1024})$/i.exec(authorization ?? '')?.[1]
  return token !== undefined && timingSafeEqual(tokenHash(token), wanted)
}

export function tokenHash(token: string): Buffer {
  return createHash('sha256').update(token).digest()
}
