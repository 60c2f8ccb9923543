// The limits of a key on this node: the rpm bucket, an allowance of refusals for credits, the requests in flight, and a
// mirror of the day's count that can refuse early (the gate counts exactly).
import { type Bearer, DAY_MS, dayOf, type Key } from '../domain/key.ts'
import { Refusal } from '../domain/refusal.ts'
import type { Endpoint } from '../domain/usage.ts'
import type { Clock } from '../lib/clock.ts'
import {
  type Bucket,
  charge,
  fullBucket,
  giveBack,
  isFull,
  type Standing,
  standing,
  take,
  waitSeconds,
} from '../lib/token-bucket.ts'

export type Limits = {
  // Takes an rpm token and a place in flight, or refuses. A promise only where the nodes share their buckets.
  enter(bearer: Bearer, endpoint: Endpoint): Entered | Promise<Entered>
  // Where the nodes share their buckets: asks how this one stands, for an answer that took nothing from it.
  look?(key: Key): Promise<void>
  // The gate refused a request for credits. It costs no rpm token, so it is counted by itself.
  wasUnpaid(key: Key): void
  // How the key stands with such refusals once none are left to it; undefined: some are.
  unpaidSpent(key: Key): Standing | undefined
  // What the gate said of the day.
  sawDay(key: Key, day: number, count: number): void
  // Where the nodes share their buckets: the gate has admitted under this record, so that it is the one in force.
  confirmed?(key: Key): void
  daily(bearer: Bearer): { readonly used: number; readonly resetSeconds: number; readonly resetsAt: number }
  rpm(key: Key): Standing
  inFlight(keyId: string): number
  dailySpent(bearer: Bearer): Refusal
  // Drops full buckets and past days: they say nothing.
  prune(): void
}

// Two undos: of the token and of the place.
export type Entered = { readonly giveBack: () => void; readonly leave: () => void }

export type LocalLimits = Omit<Limits, 'enter'> & {
  enter(bearer: Bearer, endpoint: Endpoint): Entered
  // The parts of `enter`: what comes before the token, and what comes after it.
  refuseUnpaid(key: Key, endpoint: Endpoint): void
  enterWithToken(bearer: Bearer, giveBack: () => void): Entered
}

export type LimitNeeds = { readonly clock: Clock; readonly unpaidPerMinuteMin: number }

export function keyLimits({ clock, unpaidPerMinuteMin }: LimitNeeds): LocalLimits {
  const buckets = new Map<string, { readonly bucket: Bucket; limit: number; version: number }>()
  const unpaid = new Map<string, Bucket>()
  const days = new Map<string, { version: number; day: number; count: number }>()
  const inFlight = new Map<string, number>()

  // The limit is that of the newest record seen: a request that began under an older one must not bring it back.
  function bucketOf(key: Key) {
    let entry = buckets.get(key.id)
    if (entry === undefined) {
      const bucket = fullBucket(key.rpmLimit, clock.monotonic())
      entry = { bucket, limit: key.rpmLimit, version: key.version }
      buckets.set(key.id, entry)
    } else if (key.version > entry.version) {
      entry.limit = key.rpmLimit
      entry.version = key.version
    }
    return entry
  }

  function daily(bearer: Bearer) {
    const now = clock.now()
    const known = days.get(bearer.key.id)
    // A changed key may have had its day reset; its record was read after that.
    const seen = known !== undefined && known.version >= bearer.key.version ? known : undefined
    // A clock that jumps back over midnight does not bring a past day back: the gate counts on in the later one, but believes
    // no day after tomorrow.
    const today = dayOf(now)
    const day = Math.min(Math.max(today, seen?.day ?? 0, bearer.day), today + 1)
    const used = Math.max(seen?.day === day ? seen.count : 0, bearer.day === day ? bearer.dayCount : 0)
    const resetsAt = (day + 1) * DAY_MS
    return { used, resetsAt, resetSeconds: Math.ceil((resetsAt - now) / 1000) }
  }

  function dailySpent(bearer: Bearer): Refusal {
    return new Refusal('daily_limit_exceeded', {
      retryAfter: daily(bearer).resetSeconds,
      metadata: { limit: 'daily' },
      headers: { 'x-should-retry': 'false' },
    })
  }

  // As many as it may make requests, and not few where that is little.
  function unpaidPerMinute(key: Key): number {
    return Math.max(unpaidPerMinuteMin, bucketOf(key).limit)
  }

  function unpaidSpent(key: Key): Standing | undefined {
    const bucket = unpaid.get(key.id)
    if (bucket === undefined) return undefined
    const now = standing(bucket, unpaidPerMinute(key), clock.monotonic())
    return now.remaining > 0 ? undefined : now
  }

  // Only chats cost something: whoever has no credits may still ask what it has.
  function refuseUnpaid(key: Key, endpoint: Endpoint): void {
    if (endpoint !== 'chat.completions') return
    const bucket = unpaid.get(key.id)
    if (bucket === undefined || unpaidSpent(key) === undefined) return
    throw new Refusal('rate_limit_exceeded', {
      message: 'Too many requests of this key were refused for lack of credits; add credits, or come more slowly.',
      retryAfter: waitSeconds(bucket),
      metadata: { limit: 'unpaid' },
    })
  }

  function enterWithToken(bearer: Bearer, giveBack: () => void): Entered {
    const { key } = bearer
    if (key.dailyLimit !== null && daily(bearer).used >= key.dailyLimit) {
      giveBack()
      throw dailySpent(bearer)
    }
    const running = inFlight.get(key.id) ?? 0
    if (running >= key.maxConcurrent) {
      giveBack()
      throw new Refusal('concurrency_exceeded', { retryAfter: 1, metadata: { limit: 'concurrent' } })
    }
    inFlight.set(key.id, running + 1)
    let there = true
    return {
      giveBack,
      leave() {
        if (!there) return
        there = false
        const left = (inFlight.get(key.id) ?? 1) - 1
        if (left === 0) inFlight.delete(key.id)
        else inFlight.set(key.id, left)
      },
    }
  }

  return {
    enter(bearer, endpoint) {
      refuseUnpaid(bearer.key, endpoint)
      const { bucket, limit } = bucketOf(bearer.key)
      if (!take(bucket, limit, clock.monotonic())) throw rpmSpent(bucket)
      return enterWithToken(bearer, () => giveBack(bucket))
    },
    refuseUnpaid,
    enterWithToken,
    wasUnpaid(key) {
      const now = clock.monotonic()
      const allowed = unpaidPerMinute(key)
      let bucket = unpaid.get(key.id)
      if (bucket === undefined) {
        bucket = fullBucket(allowed, now)
        unpaid.set(key.id, bucket)
      }
      charge(bucket, allowed, now)
    },
    unpaidSpent,
    sawDay({ id, version }, day, count) {
      const seen = days.get(id)
      if (seen === undefined || version > seen.version) days.set(id, { version, day, count })
      else if (version < seen.version) return
      else if (day > seen.day || (day === seen.day && count > seen.count) || seen.day > dayOf(clock.now()) + 1) {
        seen.day = day
        seen.count = count
      }
    },
    daily,
    rpm(key) {
      const { bucket, limit } = bucketOf(key)
      return standing(bucket, limit, clock.monotonic())
    },
    inFlight: keyId => inFlight.get(keyId) ?? 0,
    dailySpent,
    prune() {
      const now = clock.monotonic()
      const today = dayOf(clock.now())
      for (const [id, { bucket }] of buckets) if (isFull(bucket, now)) buckets.delete(id)
      for (const [id, bucket] of unpaid) if (isFull(bucket, now)) unpaid.delete(id)
      for (const [id, seen] of days) if (seen.day < today) days.delete(id)
    },
  }
}

export function rpmSpent(bucket: Bucket): Refusal {
  return new Refusal('rate_limit_exceeded', { retryAfter: waitSeconds(bucket), metadata: { limit: 'rpm' } })
}
