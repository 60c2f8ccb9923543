// Wrong tokens: each is answered after the same time, whatever was wrong with it, and counted by address. A valid token never has
// to wait.
import { setTimeout as sleep } from 'node:timers/promises'
import { Refusal } from '../../domain/refusal.ts'
import type { Clock } from '../../lib/clock.ts'
import { addressBlock, parseAddress } from '../../lib/ip-address.ts'
import { lru } from '../../lib/lru.ts'

const WINDOW_MS = 60_000
const FAILURES_MAX = 20
const ADDRESSES_MAX = 10_000
const DELAY_MS = 250
// Beyond this many at once a failure is answered without delay: the delay must not become a way to fill memory.
const DELAYED_MAX = 64

export type Failures = {
  // For a token that was looked up since then; throws after the delay.
  answer(address: string, since: number): Promise<never>
}

export function failures(clock: Clock): Failures {
  const counts = lru<string, { readonly since: number; readonly count: number }>(ADDRESSES_MAX)
  let delayed = 0

  // How many seconds this address has to wait, if it has exceeded its allowance.
  function count(address: string): number {
    const block = blockOf(address)
    const now = clock.monotonic()
    const before = counts.get(block)
    const fresh = before === undefined || now - before.since >= WINDOW_MS
    const entry = fresh ? { since: now, count: 1 } : { since: before.since, count: before.count + 1 }
    counts.set(block, entry)
    return entry.count > FAILURES_MAX ? (entry.since + WINDOW_MS - now) / 1000 : 0
  }

  async function delayUntil(at: number): Promise<void> {
    if (delayed >= DELAYED_MAX) return
    delayed++
    await sleep(at - clock.monotonic())
    delayed--
  }

  return {
    async answer(address, since) {
      const waitSeconds = count(address)
      await delayUntil(since + DELAY_MS)
      if (waitSeconds > 0) throw new Refusal('too_many_failures', { retryAfter: waitSeconds })
      throw noToken()
    },
  }
}

export function noToken(): Refusal {
  return new Refusal('invalid_api_key', {
    message: 'Invalid or missing admin token. Send it as "Authorization: Bearer <token>", or sign in.',
    headers: { 'www-authenticate': 'Bearer' },
  })
}

function blockOf(address: string): string {
  const parsed = parseAddress(address)
  return parsed === undefined ? address : addressBlock(parsed)
}
