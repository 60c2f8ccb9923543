// The hours of usage roll-ups, and request durations as counts in fixed logarithmic buckets: enough for a median or a 95th
// percentile over any range of hours.
import { DAY_MS } from './key.ts'

export const HOUR_MS = 3_600_000
export const DAY_HOURS = DAY_MS / HOUR_MS

export function hourOf(at: number): number {
  return Math.floor(at / HOUR_MS)
}

// Each bucket ends a tenth above its start: a percentile is off by at most a twentieth. The last bucket takes the rest.
const BUCKET_GROWTH = 1.1
const BUCKET_LAST = 200

export function bucketOf(ms: number): number {
  if (ms < 1) return 0
  return Math.min(Math.floor(Math.log(ms) / Math.log(BUCKET_GROWTH)) + 1, BUCKET_LAST)
}

// The middle of the bucket, in whole milliseconds.
function bucketMs(bucket: number): number {
  return bucket === 0 ? 0 : Math.round(BUCKET_GROWTH ** (bucket - 0.5))
}

// The number of requests per bucket.
export type Durations = Map<number, number>

export function addDuration(durations: Durations, bucket: number, requests: number): void {
  durations.set(bucket, (durations.get(bucket) ?? 0) + requests)
}

// Null if nothing was timed.
export function percentileMs(durations: ReadonlyMap<number, number>, part: number): number | null {
  let total = 0
  for (const requests of durations.values()) total += requests
  let left = Math.ceil(total * part)
  for (const bucket of [...durations.keys()].sort((a, b) => a - b)) {
    left -= durations.get(bucket) ?? 0
    if (left <= 0) return bucketMs(bucket)
  }
  return null
}
