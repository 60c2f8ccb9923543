// A token bucket: capacity = limit, refilled by limit/60 per second. Over any t seconds it admits at most limit + limit·t/60,
// whatever happens to its limit.

export type Bucket = { tokens: number; limit: number; at: number }

export type Standing = { readonly limit: number; readonly remaining: number; readonly resetSeconds: number }

export function fullBucket(limit: number, nowMs: number): Bucket {
  return { tokens: limit, limit, at: nowMs }
}

export function take(bucket: Bucket, limit: number, nowMs: number): boolean {
  settle(bucket, limit, nowMs)
  if (bucket.tokens < 1) return false
  bucket.tokens -= 1
  return true
}

// Takes a token whether one is available or not: use that is known only afterwards becomes a debt to the refill.
export function charge(bucket: Bucket, limit: number, nowMs: number): void {
  settle(bucket, limit, nowMs)
  bucket.tokens -= 1
}

export function giveBack(bucket: Bucket): void {
  bucket.tokens = Math.min(bucket.limit, bucket.tokens + 1)
}

// Reduces the current level to at most this many tokens.
export function lower(bucket: Bucket, limit: number, nowMs: number, tokensMax: number): void {
  settle(bucket, limit, nowMs)
  bucket.tokens = Math.min(bucket.tokens, tokensMax)
}

export function standing(bucket: Bucket, limit: number, nowMs: number): Standing {
  settle(bucket, limit, nowMs)
  return {
    limit,
    remaining: Math.max(0, Math.floor(bucket.tokens)),
    resetSeconds: resetSeconds(bucket),
  }
}

// Until it is full, as of its last use.
export function resetSeconds({ tokens, limit }: Bucket): number {
  return Math.ceil(((limit - tokens) * 60) / limit)
}

// Seconds, with fractions, until one token is available.
export function waitSeconds(bucket: Bucket): number {
  return Math.max(0, ((1 - bucket.tokens) * 60) / bucket.limit)
}

export function isFull(bucket: Bucket, nowMs: number): boolean {
  settle(bucket, bucket.limit, nowMs)
  return bucket.tokens >= bucket.limit
}

// Refills for the elapsed time (a clock that jumps back refills nothing) and applies a changed limit, keeping what was used.
function settle(bucket: Bucket, limit: number, nowMs: number): void {
  const passed = Math.max(0, nowMs - bucket.at)
  bucket.tokens = Math.min(bucket.limit, bucket.tokens + (passed * bucket.limit) / 60_000)
  bucket.at = nowMs
  if (limit === bucket.limit) return
  bucket.tokens = Math.max(0, limit - (bucket.limit - bucket.tokens))
  bucket.limit = limit
}
