// The limits of a key on this node: the rpm bucket, an allowance of 402 refusals, the requests in flight, and a mirror of the
// daily count that can refuse early (the reservation counts exactly).
import { type AuthenticatedKey, DAY_MS, dayOf, type Key } from '../domain/key.ts'
import { concurrencyExceeded, dailySpent, rpmSpent, unpaidSpent } from '../domain/limit-refusals.ts'
import type { Refusal } from '../domain/refusal.ts'
import { type Endpoint, isBilled } from '../domain/usage.ts'
import type { Clock } from '../lib/clock.ts'
import {
  type Bucket,
  charge,
  fullBucket,
  giveBack,
  isFull,
  resetSeconds,
  type Standing,
  standing,
  take,
  waitSeconds,
} from '../lib/token-bucket.ts'

export type Limits = {
  // Takes an rpm token and a concurrency slot, or refuses. A promise only where the nodes share their buckets.
  enter(caller: AuthenticatedKey, endpoint: Endpoint): Entered | Promise<Entered>
  // Where the nodes share their buckets: reads this bucket, for a response that took nothing from it.
  look?(key: Key): Promise<void>
  // The reservation refused a request for credits. It costs no rpm token and is counted separately.
  wasUnpaid(key: Key): void
  // The state of the key's 402 allowance once it is used up; undefined if some is left.
  unpaidSpent(key: Key): Standing | undefined
  // The daily count returned by the reservation.
  sawDay(key: Key, day: number, count: number): void
  // Where the nodes share their buckets: the reservation has admitted with this record, so it is the one in force.
  confirmed?(key: Key): void
  daily(caller: AuthenticatedKey): { readonly used: number; readonly resetSeconds: number; readonly resetsAt: number }
  rpm(key: Key): Standing
  inFlight(keyId: string): number
  dailySpent(caller: AuthenticatedKey): Refusal
  // Drops full buckets and past days, which carry no information.
  prune(): void
}

// Two undos: of the token and of the slot.
export type Entered = { readonly giveBack: () => void; readonly leave: () => void }

export type LocalLimits = Omit<Limits, 'enter'> & {
  enter(caller: AuthenticatedKey, endpoint: Endpoint): Entered
  // The parts of `enter`: before the token, and after it.
  refuseUnpaid(key: Key, endpoint: Endpoint): void
  enterWithToken(caller: AuthenticatedKey, giveBack: () => void): Entered
}

export type LimitNeeds = { readonly clock: Clock; readonly unpaidPerMinuteMin: number }

export function keyLimits({ clock, unpaidPerMinuteMin }: LimitNeeds): LocalLimits {
  const buckets = rpmBuckets(clock)
  const unpaid = unpaidAllowances(buckets, unpaidPerMinuteMin, clock)
  const days = dailyCounts(clock)
  const slots = concurrencySlots()

  // A key without credits may still read its balance.
  function refuseUnpaid(key: Key, endpoint: Endpoint): void {
    if (isBilled(endpoint)) unpaid.refuseIfSpent(key)
  }

  function enterWithToken(caller: AuthenticatedKey, giveBack: () => void): Entered {
    const { key } = caller
    if (key.dailyLimit !== null && days.today(caller).used >= key.dailyLimit) {
      giveBack()
      throw days.spent(caller)
    }
    const leave = slots.take(key)
    if (leave === undefined) {
      giveBack()
      throw concurrencyExceeded(key.maxConcurrent)
    }
    return { giveBack, leave }
  }

  return {
    enter(caller, endpoint) {
      refuseUnpaid(caller.key, endpoint)
      const { bucket, limit } = buckets.of(caller.key)
      if (!take(bucket, limit, clock.monotonic())) throw rpmRefusal(bucket)
      return enterWithToken(caller, () => giveBack(bucket))
    },
    refuseUnpaid,
    enterWithToken,
    wasUnpaid: unpaid.charge,
    unpaidSpent: unpaid.spent,
    sawDay: days.saw,
    daily: days.today,
    rpm(key) {
      const { bucket, limit } = buckets.of(key)
      return standing(bucket, limit, clock.monotonic())
    },
    inFlight: slots.inFlight,
    dailySpent: days.spent,
    prune() {
      buckets.prune()
      unpaid.prune()
      days.prune()
    },
  }
}

// Of a bucket from which a token could not be taken just now.
export function rpmRefusal(bucket: Bucket): Refusal {
  return rpmSpent(bucket.limit, resetSeconds(bucket), waitSeconds(bucket))
}

type RpmBuckets = ReturnType<typeof rpmBuckets>

function rpmBuckets(clock: Clock) {
  const buckets = new Map<string, { readonly bucket: Bucket; limit: number; version: number }>()

  return {
    // The limit is that of the newest record seen: a request that began with an older record must not restore the old limit.
    of(key: Key): { readonly bucket: Bucket; readonly limit: number } {
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
    },
    prune(): void {
      const now = clock.monotonic()
      for (const [id, { bucket }] of buckets) if (isFull(bucket, now)) buckets.delete(id)
    },
  }
}

// How many 402 refusals a key may get in a minute.
function unpaidAllowances(buckets: RpmBuckets, perMinuteMin: number, clock: Clock) {
  const unpaid = new Map<string, Bucket>()

  // As many as the key's rpm limit, but not fewer than a minimum.
  function perMinute(key: Key): number {
    return Math.max(perMinuteMin, buckets.of(key).limit)
  }

  function spent(key: Key): Standing | undefined {
    const bucket = unpaid.get(key.id)
    if (bucket === undefined) return undefined
    const now = standing(bucket, perMinute(key), clock.monotonic())
    return now.remaining > 0 ? undefined : now
  }

  return {
    spent,
    refuseIfSpent(key: Key): void {
      const bucket = unpaid.get(key.id)
      if (bucket === undefined || spent(key) === undefined) return
      throw unpaidSpent(perMinute(key), waitSeconds(bucket))
    },
    charge(key: Key): void {
      const now = clock.monotonic()
      const allowed = perMinute(key)
      let bucket = unpaid.get(key.id)
      if (bucket === undefined) {
        bucket = fullBucket(allowed, now)
        unpaid.set(key.id, bucket)
      }
      charge(bucket, allowed, now)
    },
    prune(): void {
      const now = clock.monotonic()
      for (const [id, bucket] of unpaid) if (isFull(bucket, now)) unpaid.delete(id)
    },
  }
}

// The mirror of the store's daily counts.
function dailyCounts(clock: Clock) {
  const days = new Map<string, { version: number; day: number; count: number }>()

  function today(caller: AuthenticatedKey) {
    const now = clock.now()
    const known = days.get(caller.key.id)
    // A changed key may have had its daily count reset; its record was read after that.
    const seen = known !== undefined && known.version >= caller.key.version ? known : undefined
    // A clock that jumps back over midnight does not restore a past day: the reservation continues to count in the later day, but
    // accepts no day after tomorrow.
    const today = dayOf(now)
    const day = Math.min(Math.max(today, seen?.day ?? 0, caller.day), today + 1)
    const used = Math.max(seen?.day === day ? seen.count : 0, caller.day === day ? caller.dayCount : 0)
    const resetsAt = (day + 1) * DAY_MS
    return { used, resetsAt, resetSeconds: Math.ceil((resetsAt - now) / 1000) }
  }

  return {
    today,
    spent(caller: AuthenticatedKey): Refusal {
      const { used, resetsAt } = today(caller)
      return dailySpent(caller.key.dailyLimit, used, dayOf(resetsAt) - 1, clock.now())
    },
    saw({ id, version }: Key, day: number, count: number): void {
      const seen = days.get(id)
      if (seen === undefined || version > seen.version) days.set(id, { version, day, count })
      else if (version < seen.version) return
      else if (day > seen.day || (day === seen.day && count > seen.count) || seen.day > dayOf(clock.now()) + 1) {
        seen.day = day
        seen.count = count
      }
    },
    prune(): void {
      const today = dayOf(clock.now())
      for (const [id, seen] of days) if (seen.day < today) days.delete(id)
    },
  }
}

// The requests in flight of each key.
function concurrencySlots() {
  const inFlight = new Map<string, number>()

  return {
    inFlight: (keyId: string) => inFlight.get(keyId) ?? 0,
    // Returns its undo, which has an effect once; undefined if none is free.
    take({ id, maxConcurrent }: Key): (() => void) | undefined {
      const running = inFlight.get(id) ?? 0
      if (running >= maxConcurrent) return undefined
      inFlight.set(id, running + 1)
      let there = true
      return () => {
        if (!there) return
        there = false
        const left = (inFlight.get(id) ?? 1) - 1
        if (left === 0) inFlight.delete(id)
        else inFlight.set(id, left)
      }
    },
  }
}
