// The limits of a key on one of several nodes: requests per minute are counted in a bucket shared by all nodes, and while that is
// unavailable each node has its share. The last known level is kept, for headers and as the start of the share.
import type { Key } from '../domain/key.ts'
import { type Bucket, fullBucket, giveBack, isFull, lower, type Standing, standing, take } from '../lib/token-bucket.ts'
import type { BucketSaid, SharedBuckets } from '../store/contract/buckets.ts'
import { keyLimits, type LimitNeeds, type Limits, rpmRefusal } from './rate-limit.ts'

export type SharedLimitNeeds = LimitNeeds & {
  readonly buckets: SharedBuckets
  // The number of nodes that share a limit while the shared bucket is unavailable.
  readonly nodesAlive: () => number
  // A request was counted by this node alone.
  readonly onLocal: () => void
}

export function sharedLimits(needs: SharedLimitNeeds): Limits {
  const local = keyLimits(needs)
  const rpm = sharedRpm(needs)
  return {
    ...local,
    async enter(caller, endpoint) {
      local.refuseUnpaid(caller.key, endpoint)
      return local.enterWithToken(caller, await rpm.take(caller.key))
    },
    look: rpm.look,
    confirmed: rpm.confirmed,
    rpm: rpm.standing,
    prune() {
      local.prune()
      rpm.prune()
    },
  }
}

// `said` is the last known shared bucket, refilled since; `share` is this node's own, kept while the shared one is available, so
// that a flapping Redis refills nothing.
type Seen = {
  readonly said: Bucket
  readonly share: Bucket
  limit: number
  version: number
  // The shared bucket was read since the share was last used.
  isNews: boolean
  // The last request was counted by the share.
  isAlone: boolean
}

function sharedRpm({ clock, buckets, nodesAlive, onLocal }: SharedLimitNeeds) {
  const seenKeys = new Map<string, Seen>()

  // The limit is that of the newest record seen, as everywhere.
  function seenOf(key: Key): Seen {
    let seen = seenKeys.get(key.id)
    if (seen === undefined) {
      const now = clock.monotonic()
      const { rpmLimit: limit, version } = key
      const [said, share] = [fullBucket(limit, now), fullBucket(shareOf(limit), now)]
      seen = { said, share, limit, version, isNews: false, isAlone: false }
      seenKeys.set(key.id, seen)
    } else if (key.version > seen.version) {
      seen.limit = key.rpmLimit
      seen.version = key.version
    }
    return seen
  }

  function hear(seen: Seen, { tokens, limit, version }: BucketSaid): void {
    if (version < seen.version) return
    seen.said.tokens = tokens
    seen.said.limit = limit
    seen.said.at = clock.monotonic()
    seen.limit = limit
    seen.version = version
    seen.isNews = true
    seen.isAlone = false
  }

  function shareOf(limit: number): number {
    return Math.max(1, Math.floor(limit / Math.max(1, nodesAlive())))
  }

  // Never more than its share of what was left in total.
  function ownShare(seen: Seen): { readonly bucket: Bucket; readonly size: number } {
    const { said, share, limit } = seen
    const now = clock.monotonic()
    const size = shareOf(limit)
    if (seen.isNews) {
      lower(said, limit, now, limit)
      lower(share, size, now, (said.tokens * size) / limit)
      seen.isNews = false
    }
    return { bucket: share, size }
  }

  return {
    // Returns its undo.
    async take(key: Key): Promise<() => void> {
      const said = await buckets.take(key)
      const seen = seenOf(key)
      if (said === undefined) {
        onLocal()
        seen.isAlone = true
        const { bucket, size } = ownShare(seen)
        if (!take(bucket, size, clock.monotonic())) throw rpmRefusal(bucket)
        return () => giveBack(bucket)
      }
      hear(seen, said)
      if (!said.isTaken) throw rpmRefusal(seen.said)
      return () => {
        giveBack(seen.said)
        buckets.giveBack(key.id)
      }
    },
    async look(key: Key): Promise<void> {
      const said = buckets.isUp() ? await buckets.look(key) : undefined
      if (said !== undefined) hear(seenOf(key), said)
    },
    // Two requests that overlap a key change may revert its bucket for a moment: the next request with the newer record corrects
    // it, and used tokens stay used.
    confirmed(key: Key): void {
      const seen = seenKeys.get(key.id)
      if (seen === undefined || seen.version <= key.version) return
      buckets.follow(key, seen.version)
      seen.limit = key.rpmLimit
      seen.version = key.version
    },
    standing(key: Key): Standing {
      const seen = seenOf(key)
      const now = clock.monotonic()
      if (buckets.isUp() && !seen.isAlone) return standing(seen.said, seen.limit, now)
      const { bucket, size } = ownShare(seen)
      return { ...standing(bucket, size, now), limit: seen.limit }
    },
    prune(): void {
      const now = clock.monotonic()
      for (const [id, { said, share }] of seenKeys) if (isFull(said, now) && isFull(share, now)) seenKeys.delete(id)
    },
  }
}
