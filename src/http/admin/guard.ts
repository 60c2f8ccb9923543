// Who may pass into the admin API: the bearer of the admin token. Failures are slowed and counted per address; the right
// token passes whatever its neighbours did.
import { setTimeout as sleep } from 'node:timers/promises'
import type { FastifyRequest } from 'fastify'
import { Refusal } from '../../domain/refusal.ts'
import { addressBlock, parseAddress } from '../../lib/cidr.ts'
import type { Clock } from '../../lib/clock.ts'
import { lru } from '../../lib/lru.ts'
import type { Actor } from '../../store/contract-operator.ts'
import { bearsToken } from '../bearer-token.ts'

const WINDOW_MS = 60_000
const FAILURES_MAX = 20
const ADDRESSES_MAX = 10_000
const DELAY_MS = 250
// Past this many at once a failure is answered without delay: the delay must not become a way to fill memory.
const DELAYED_MAX = 64

export type Guard = {
  // Throws the refusal, or remembers who it is.
  check(request: FastifyRequest): Promise<void>
  actorOf(request: FastifyRequest): Actor
}

export type GuardNeeds = {
  readonly clock: Clock
  // SHA-256 of the admin token; read at every call, since a new token replaces the old one.
  adminTokenHash(): Buffer
  // The client's address by the rule of trusted proxies; throws a refusal if it cannot be told.
  addressOf(request: FastifyRequest): string
}

export function adminGuard(needs: GuardNeeds): Guard {
  const actors = new WeakMap<FastifyRequest, Actor>()
  const failures = lru<string, { readonly since: number; readonly count: number }>(ADDRESSES_MAX)
  let delayed = 0

  function countFailure(address: string): number {
    const block = blockOf(address)
    const now = needs.clock.monotonic()
    const before = failures.get(block)
    const fresh = before === undefined || now - before.since >= WINDOW_MS
    const entry = fresh ? { since: now, count: 1 } : { since: before.since, count: before.count + 1 }
    failures.set(block, entry)
    return entry.count > FAILURES_MAX ? (entry.since + WINDOW_MS - now) / 1000 : 0
  }

  async function delay(): Promise<void> {
    if (delayed >= DELAYED_MAX) return
    delayed++
    await sleep(DELAY_MS)
    delayed--
  }

  return {
    async check(request) {
      const given = request.raw.headersDistinct.authorization ?? []
      if (given.length > 1) throw new Refusal('duplicate_authorization')
      const address = needs.addressOf(request)
      if (bearsToken(given[0], needs.adminTokenHash())) {
        actors.set(request, { name: 'admin', address })
        return
      }
      const waitSeconds = countFailure(address)
      await delay()
      if (waitSeconds > 0) throw new Refusal('too_many_failures', { retryAfter: waitSeconds })
      throw new Refusal('invalid_api_key', {
        message: 'No valid admin token was given. Send it as "Authorization: Bearer <token>".',
        headers: { 'www-authenticate': 'Bearer' },
      })
    },

    actorOf(request) {
      const actor = actors.get(request)
      if (actor === undefined) throw new Error('an admin endpoint was reached past its guard')
      return actor
    },
  }
}

function blockOf(address: string): string {
  const parsed = parseAddress(address)
  return parsed === undefined ? address : addressBlock(parsed)
}
