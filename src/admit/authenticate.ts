// Finds the key of a secret by the hash of the whole secret. Cached records can refuse early or cost a re-read; they never admit,
// since the reservation compares versions itself. See docs/decisions/key-lookups.md.
import { hash as digest } from 'node:crypto'
import type { Call } from '../domain/handoff.ts'
import { type AuthenticatedKey, keyStatus, SECRET_BYTES, secretAlive } from '../domain/key.ts'
import { Refusal } from '../domain/refusal.ts'
import { base62Width, isBase62 } from '../lib/base62.ts'
import type { Clock } from '../lib/clock.ts'
import { fairQueue, QueueFull } from '../lib/fair-queue.ts'
import { type Address, addressBlock } from '../lib/ip-address.ts'
import { lru } from '../lib/lru.ts'
import { type Bucket, fullBucket, type Standing, standing, take, waitSeconds } from '../lib/token-bucket.ts'
import type { BillingStore } from '../store/contract/store.ts'

export type Authenticator = {
  // A promise only if a lookup is needed.
  authenticate(call: Call): Authenticated | Promise<Authenticated>
  // Looks up again, bypassing the cache; a key revoked meanwhile is refused like an unknown one.
  again(call: Call, hash: string, ask: Ask): Promise<AuthenticatedKey>
  // Whether cached records may be changed by other nodes without notice.
  readonly othersMayChangeKeys: boolean
  // The failure bucket of the caller's address; reading debits nothing.
  addressStanding(address: Address | undefined): Standing
  forget(keyId: string): void
  // Clears everything: which records an account change affects is not worth finding out.
  forgetAccounts(): void
}

// Whether the record came from the cache or was read for this call.
export type Authenticated = { readonly caller: AuthenticatedKey; readonly hash: string; readonly isCached: boolean }

// A lookup that began before `since` (monotonic) is not sufficient. Known keys wait only for others of the same account.
export type Ask = { readonly since: number; readonly known?: AuthenticatedKey }

export type AuthenticateNeeds = {
  readonly othersMayChangeKeys: boolean
  readonly billing: Pick<BillingStore, 'findKey'>
  readonly clock: Clock
  readonly keyPrefix: string
  readonly keysCachedMax: number
  readonly unknownKeysCachedMax: number
  readonly unknownKeyCacheMs: number
  readonly unknownKeyLookupsMax: number
  readonly unknownKeyLookupsWaitingMax: number
  readonly unknownKeyLookupsWaitingPerAddressMax: number
  readonly addressesTrackedMax: number
  readonly addressFailuresPerMinute: number
  readonly onCache: (hit: boolean) => void
}

const SECRET_CHARS = base62Width(SECRET_BYTES)

export function authenticator(needs: AuthenticateNeeds): Authenticator {
  const cachedKeys = lru<string, AuthenticatedKey>(needs.keysCachedMax, unlink)
  // The cached secrets of a key, complete and exact: a revoked key must be found here.
  const hashesOf = new Map<string, Set<string>>()
  // Hashes recently found to be unknown, with their expiry.
  const unknownKeys = lru<string, number>(needs.unknownKeysCachedMax)
  const failures = lru<string, Bucket>(needs.addressesTrackedMax)
  const queue = {
    concurrent: needs.unknownKeyLookupsMax,
    waitingMax: needs.unknownKeyLookupsWaitingMax,
    waitingPerOwnerMax: needs.unknownKeyLookupsWaitingPerAddressMax,
  }
  // Unknown keys queue by address; invalid keys from anywhere do not delay known keys.
  const unknownLookups = fairQueue<AuthenticatedKey | undefined>(queue)
  const knownLookups = fairQueue<AuthenticatedKey | undefined>(queue)
  const underWay = new Map<string, Lookup>()
  // Incremented with every `forget`: a lookup that began before must not fill the cache afterwards.
  let forgotten = 0

  function authenticate(call: Call): Authenticated | Promise<Authenticated> {
    if (call.authorizations.length > 1) throw new Refusal('duplicate_authorization')
    const secret = secretOf(call.authorizations[0])
    if (secret === undefined) throw unknownKey(call)
    const hash = digest('sha256', secret)

    const cached = cachedKeys.get(hash)
    if (cached !== undefined && alive(cached)) {
      needs.onCache(true)
      return { caller: cached, hash, isCached: true }
    }
    needs.onCache(false)
    if (!needs.othersMayChangeKeys && (unknownKeys.get(hash) ?? 0) > needs.clock.monotonic()) throw unknownKey(call)
    return again(call, hash, { since: call.startedMs }).then(caller => ({ caller, hash, isCached: false }))
  }

  async function again(call: Call, hash: string, { since, known }: Ask): Promise<AuthenticatedKey> {
    const began = forgotten
    const caller = await lookup(hash, since, read => {
      const run = known === undefined ? unknownLookups.run : knownLookups.run
      return run(known?.account.id ?? block(call.address), read)
    })
    if (caller === undefined) {
      if (began === forgotten) unknownKeys.set(hash, needs.clock.monotonic() + needs.unknownKeyCacheMs)
      throw unknownKey(call)
    }
    return caller
  }

  // At most one lookup per secret is running, and one waits for all callers that arrived after it began.
  function lookup(hash: string, since: number, queued: Queued): Promise<AuthenticatedKey | undefined> {
    const running = underWay.get(hash)
    if (running === undefined) return begin(hash, queued)
    if (running.began >= since) return running.found
    const next = () => begin(hash, queued)
    running.next ??= running.found.then(next, next)
    return running.next
  }

  function begin(hash: string, queued: Queued): Promise<AuthenticatedKey | undefined> {
    const look: Lookup = { began: Number.POSITIVE_INFINITY, found: NOBODY, next: undefined }
    const read = () => {
      look.began = needs.clock.monotonic()
      return readKey(hash)
    }
    underWay.set(hash, look)
    look.found = queued(read)
      .catch(refuseIfFull)
      .finally(() => {
        if (underWay.get(hash) === look) underWay.delete(hash)
      })
    return look.found
  }

  async function readKey(hash: string): Promise<AuthenticatedKey | undefined> {
    const began = forgotten
    const caller = await needs.billing.findKey(hash)
    if (caller !== undefined && began === forgotten) remember(hash, caller)
    return caller
  }

  function remember(hash: string, caller: AuthenticatedKey): void {
    cachedKeys.set(hash, caller)
    const hashes = hashesOf.get(caller.key.id) ?? new Set()
    hashesOf.set(caller.key.id, hashes.add(hash))
  }

  function unlink(hash: string, { key }: AuthenticatedKey): void {
    const hashes = hashesOf.get(key.id)
    hashes?.delete(hash)
    if (hashes?.size === 0) hashesOf.delete(key.id)
  }

  function secretOf(header: string | undefined): string | undefined {
    if (header === undefined || header.length > 512) return undefined
    const match = /^bearer +(\S+) *$/i.exec(header)
    const secret = match?.[1]
    if (secret === undefined || !secret.startsWith(needs.keyPrefix)) return undefined
    const random = secret.slice(needs.keyPrefix.length)
    return random.length === SECRET_CHARS && isBase62(random) ? secret : undefined
  }

  // The same message for every reason; an address beyond its policy gets 429 instead.
  function unknownKey(call: Call): Refusal {
    const bucket = failuresOf(call.address)
    if (take(bucket, needs.addressFailuresPerMinute, needs.clock.monotonic())) {
      return new Refusal('invalid_api_key', { headers: { 'WWW-Authenticate': 'Bearer' } })
    }
    return new Refusal('too_many_failures', { retryAfter: waitSeconds(bucket), metadata: { limit: 'address' } })
  }

  function failuresOf(address: Address | undefined): Bucket {
    const owner = block(address)
    let bucket = failures.get(owner)
    if (bucket === undefined) {
      bucket = fullBucket(needs.addressFailuresPerMinute, needs.clock.monotonic())
      failures.set(owner, bucket)
    }
    return bucket
  }

  function alive(caller: AuthenticatedKey): boolean {
    const now = needs.clock.now()
    return secretAlive(caller.secret, now) && keyStatus(caller.key, now) === 'active'
  }

  function forget(keyId: string): void {
    forgotten += 1
    for (const hash of hashesOf.get(keyId) ?? []) cachedKeys.delete(hash)
    hashesOf.delete(keyId)
    // An expired key may have been given a new expiry.
    unknownKeys.clear()
  }

  return {
    authenticate,
    again,
    othersMayChangeKeys: needs.othersMayChangeKeys,
    addressStanding: address => standing(failuresOf(address), needs.addressFailuresPerMinute, needs.clock.monotonic()),
    forget,
    // Rare, and forgetting too much costs one lookup each.
    forgetAccounts() {
      forgotten += 1
      cachedKeys.clear()
      hashesOf.clear()
    },
  }
}

// When its read began; until then it serves every caller.
type Lookup = {
  began: number
  found: Promise<AuthenticatedKey | undefined>
  next: Promise<AuthenticatedKey | undefined> | undefined
}
type Queued = (read: () => Promise<AuthenticatedKey | undefined>) => Promise<AuthenticatedKey | undefined>

const NOBODY = Promise.resolve(undefined)

function block(address: Address | undefined): string {
  return address === undefined ? 'unreadable' : addressBlock(address)
}

function refuseIfFull(error: unknown): never {
  if (error instanceof QueueFull) throw new Refusal('service_unavailable', { retryAfter: 1 })
  throw error
}
