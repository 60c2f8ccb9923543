// The rows of refusals that cost their key nothing, written behind: each key has an allowance of them, so that a caller
// that hammers fills neither the disk nor the line of those who pay. What is beyond is only counted.
import { type Bucket, fullBucket, isFull, take } from '../lib/bucket.ts'
import type { Clock } from '../lib/clock.ts'
import type { Gates } from '../store/contract.ts'

export type RefusalNotes = Pick<Gates, 'note'> & {
  // Drops full buckets: they say nothing.
  prune(): void
}

export type NoteNeeds = {
  readonly gates: Pick<Gates, 'note'>
  readonly clock: Clock
  readonly refusalRowsPerMinute: number
  readonly onUnwritten: () => void
}

export function refusalNotes(needs: NoteNeeds): RefusalNotes {
  const { gates, clock, refusalRowsPerMinute } = needs
  const buckets = new Map<string, Bucket>()

  function bucketOf(keyId: string): Bucket {
    let bucket = buckets.get(keyId)
    if (bucket === undefined) {
      bucket = fullBucket(refusalRowsPerMinute, clock.monotonic())
      buckets.set(keyId, bucket)
    }
    return bucket
  }

  return {
    note(row) {
      if (take(bucketOf(row.facts.keyId), refusalRowsPerMinute, clock.monotonic())) gates.note(row)
      else needs.onUnwritten()
    },
    prune() {
      const now = clock.monotonic()
      for (const [keyId, bucket] of buckets) if (isFull(bucket, now)) buckets.delete(keyId)
    },
  }
}
