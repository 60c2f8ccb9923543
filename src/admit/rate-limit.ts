// The limits of a key on this node: the rpm bucket, an allowance of 402 refusals, the requests in flight, and a mirror of the
// daily count that can refuse early (the reservation counts exactly). All of it is one record, which the key's cached record refers
// to: with thousands of keys every further lookup would miss the processor's cache several times.
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
  inFlight(key: Key): number
  dailySpent(caller: AuthenticatedKey): Refusal
  // Drops full buckets and past days, which carry no information.
  prune(): void
}

// A key that remembers where its counts are, in one place: a copy, or a key that two limits know, would mix them up.
export type CountedKey = Key & { counts?: KeyCounts | undefined }

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
  const { of: countsOf, prune } = keyCounts(clock)

  // 402 refusals in a minute: as many as the key's rpm limit, but not fewer than a minimum.
  function unpaidMax({ rpmLimit }: KeyCounts): number {
    return Math.max(unpaidPerMinuteMin, rpmLimit)
  }

  function unpaidStanding(key: Key): Standing | undefined {
    const counts = countsOf(key)
    if (counts.unpaid === undefined) return undefined
    const now = standing(counts.unpaid, unpaidMax(counts), clock.monotonic())
    return now.remaining > 0 ? undefined : now
  }

  // A key without credits may still read its balance.
  function refuseUnpaid(key: Key, endpoint: Endpoint): void {
    const counts = countsOf(key)
    if (counts.unpaid === undefined || !isBilled(endpoint) || unpaidStanding(key) === undefined) return
    throw unpaidSpent(unpaidMax(counts), waitSeconds(counts.unpaid))
  }

  function today(caller: AuthenticatedKey) {
    const now = clock.now()
    const counts = countsOf(caller.key)
    // A changed key may have had its daily count reset; its record was read after that.
    const seenDay = counts.dayVersion >= caller.key.version ? counts.day : 0
    // A clock that jumps back over midnight does not restore a past day: the reservation continues to count in the later day, but
    // accepts no day after tomorrow.
    const today = dayOf(now)
    const day = Math.min(Math.max(today, seenDay, caller.day), today + 1)
    const used = Math.max(seenDay === day ? counts.dayCount : 0, caller.day === day ? caller.dayCount : 0)
    const resetsAt = (day + 1) * DAY_MS
    return { used, resetsAt, resetSeconds: Math.ceil((resetsAt - now) / 1000) }
  }

  function daySpent(caller: AuthenticatedKey): Refusal {
    const { used, resetsAt } = today(caller)
    return dailySpent(caller.key.dailyLimit, used, dayOf(resetsAt) - 1, clock.now())
  }

  function enterWithToken(caller: AuthenticatedKey, giveBack: () => void): Entered {
    const { key } = caller
    if (key.dailyLimit !== null && today(caller).used >= key.dailyLimit) {
      giveBack()
      throw daySpent(caller)
    }
    const leave = takeSlot(countsOf(key), key)
    if (leave === undefined) {
      giveBack()
      throw concurrencyExceeded(key.maxConcurrent)
    }
    return { giveBack, leave }
  }

  return {
    enter(caller, endpoint) {
      refuseUnpaid(caller.key, endpoint)
      const counts = countsOf(caller.key)
      if (!take(counts, counts.rpmLimit, clock.monotonic())) throw rpmRefusal(counts)
      return enterWithToken(caller, () => giveBack(counts))
    },
    refuseUnpaid,
    enterWithToken,
    wasUnpaid(key) {
      const counts = countsOf(key)
      const now = clock.monotonic()
      counts.unpaid ??= fullBucket(unpaidMax(counts), now)
      charge(counts.unpaid, unpaidMax(counts), now)
    },
    unpaidSpent: unpaidStanding,
    sawDay(key, day, count) {
      const counts = countsOf(key)
      if (key.version < counts.dayVersion) return
      const isNews = day > counts.day || (day === counts.day && count > counts.dayCount)
      if (key.version === counts.dayVersion && !isNews && counts.day <= dayOf(clock.now()) + 1) return
      counts.dayVersion = key.version
      counts.day = day
      counts.dayCount = count
    },
    daily: today,
    rpm(key) {
      const counts = countsOf(key)
      return standing(counts, counts.rpmLimit, clock.monotonic())
    },
    inFlight: key => countsOf(key).inFlight,
    dailySpent: daySpent,
    prune,
  }
}

// Of a bucket from which a token could not be taken just now.
export function rpmRefusal(bucket: Bucket): Refusal {
  return rpmSpent(bucket.limit, resetSeconds(bucket), waitSeconds(bucket))
}

// What a node has counted of a key: its rpm bucket, and the rest.
export type KeyCounts = Bucket & {
  // Of the newest record seen: a request that began with an older record must not restore the old limit.
  rpmLimit: number
  version: number
  // The allowance of 402 refusals; most keys never had one.
  unpaid: Bucket | undefined
  // The daily count that the reservation returned, and the key's version by which it was counted; none yet: version 0.
  dayVersion: number
  day: number
  dayCount: number
  inFlight: number
  // No longer the key's: a key that refers to it has to look again.
  isDropped: boolean
}

type DayCount = Pick<KeyCounts, 'dayVersion' | 'day' | 'dayCount'>

const NO_DAY: DayCount = { dayVersion: 0, day: 0, dayCount: 0 }

function keyCounts(clock: Clock) {
  const ofKey = new Map<string, KeyCounts>()
  // Of keys whose other counts were dropped: all keys of a day, so no more than that.
  const days = new Map<string, DayCount>()

  function find({ id, rpmLimit, version }: Key): KeyCounts {
    const known = ofKey.get(id)
    if (known !== undefined) return known
    const bucket = fullBucket(rpmLimit, clock.monotonic())
    const { dayVersion, day, dayCount } = days.get(id) ?? NO_DAY
    const counts: KeyCounts = {
      tokens: bucket.tokens,
      limit: bucket.limit,
      at: bucket.at,
      rpmLimit,
      version,
      unpaid: undefined,
      dayVersion,
      day,
      dayCount,
      inFlight: 0,
      isDropped: false,
    }
    ofKey.set(id, counts)
    days.delete(id)
    return counts
  }

  function isIdle(counts: KeyCounts, now: number): boolean {
    if (counts.unpaid !== undefined && isFull(counts.unpaid, now)) counts.unpaid = undefined
    return counts.inFlight === 0 && counts.unpaid === undefined && isFull(counts, now)
  }

  return {
    of(key: CountedKey): KeyCounts {
      let { counts } = key
      if (counts === undefined || counts.isDropped) {
        counts = find(key)
        key.counts = counts
      }
      if (key.version > counts.version) {
        counts.rpmLimit = key.rpmLimit
        counts.version = key.version
      }
      return counts
    },
    prune(): void {
      const now = clock.monotonic()
      const today = dayOf(clock.now())
      for (const [id, counts] of ofKey) {
        if (!isIdle(counts, now)) continue
        counts.isDropped = true
        ofKey.delete(id)
        const { dayVersion, day, dayCount } = counts
        if (day >= today) days.set(id, { dayVersion, day, dayCount })
      }
      for (const [id, { day }] of days) if (day < today) days.delete(id)
    },
  }
}

// Returns its undo, which has an effect once; undefined if none is free.
function takeSlot(counts: KeyCounts, { maxConcurrent }: Key): (() => void) | undefined {
  if (counts.inFlight >= maxConcurrent) return undefined
  counts.inFlight += 1
  let there = true
  return () => {
    if (!there) return
    there = false
    counts.inFlight -= 1
  }
}
