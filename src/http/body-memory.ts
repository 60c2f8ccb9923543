// Bounds the memory of request bodies, on this node and per account. Counted before they are read; the express path has already
// read its small ones by then.
import { Refusal } from '../domain/refusal.ts'

export type BodyMemory = {
  // Memory for one request; it grows with `reserve` and is released once.
  open(accountId: string): { reserve(bytes: number): void; release(): void }
  readonly bytes: number
}

export function bodyMemory(bytesMax: number, bytesMaxPerAccount: number): BodyMemory {
  const ofAccount = new Map<string, number>()
  let total = 0
  return {
    open(accountId) {
      let mine = 0
      return {
        reserve(bytes) {
          const used = ofAccount.get(accountId) ?? 0
          if (total + bytes > bytesMax || used + bytes > bytesMaxPerAccount) {
            throw new Refusal('service_unavailable', {
              retryAfter: 1,
              message: 'Too many request bodies are in memory; try again.',
            })
          }
          total += bytes
          mine += bytes
          ofAccount.set(accountId, used + bytes)
        },
        release() {
          if (mine === 0) return
          const left = (ofAccount.get(accountId) ?? 0) - mine
          if (left <= 0) ofAccount.delete(accountId)
          else ofAccount.set(accountId, left)
          total -= mine
          mine = 0
        },
      }
    },
    get bytes() {
      return total
    },
  }
}
