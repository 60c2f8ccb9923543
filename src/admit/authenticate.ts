// Finds the key of a secret by the hash of the whole secret. Cached records can refuse early or cost a re-read; they never admit,
// since the reservation compares versions itself. See docs/decisions/key-lookups.md.
import { hash as digest } from 'node:crypto'
import type { Call } from '../domain/handoff.ts'
import type { MarkedAccount } from '../domain/identifiers.ts'
import {
  ACCOUNT_STATUSES,
  type AuthenticatedKey,
  type Key,
  keyStatus,
  SCOPES,
  type Scope,
  SECRET_BYTES,
  secretAlive,
} from '../domain/key.ts'
import { Refusal } from '../domain/refusal.ts'
import { NO_TAGS } from '../domain/tags.ts'
import { base62Width, isBase62 } from '../lib/base62.ts'
import type { Clock } from '../lib/clock.ts'
import { fairQueue, QueueFull } from '../lib/fair-queue.ts'
import { idHash } from '../lib/id-hash.ts'
import { type Address, addressBlock } from '../lib/ip-address.ts'
import { lru } from '../lib/lru.ts'
import { type Bucket, fullBucket, type Standing, standing, take, waitSeconds } from '../lib/token-bucket.ts'
import { type BillingStore, type LastUse, noUse } from '../store/contract/store.ts'
import type { CountedKey } from './rate-limit.ts'

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
export type Authenticated = {
  readonly caller: AuthenticatedKey & { readonly lastUse: LastUse }
  readonly isCached: boolean
}

// A lookup that began before `since` (monotonic) is not sufficient. Known keys wait only for others of the same account.
export type Ask = { readonly since: number; readonly known?: AuthenticatedKey }

export type AuthenticateNeeds = {
  readonly othersMayChangeKeys: boolean
  readonly billing: Pick<BillingStore, 'findKey'>
  readonly clock: Clock
  readonly keyPrefix: string
  readonly keysCachedMax: number
  readonly longKeysCachedMax: number
  readonly unknownKeysCachedMax: number
  readonly unknownKeyCacheMs: number
  readonly unknownKeyLookupsMax: number
  readonly unknownKeyLookupsWaitingMax: number
  readonly unknownKeyLookupsWaitingPerAddressMax: number
  readonly addressesTrackedMax: number
  readonly addressFailuresPerMinute: number
  readonly onCache: (hit: boolean) => void
}

export function authenticator(needs: AuthenticateNeeds): Authenticator {
  const { clock, keyPrefix, othersMayChangeKeys, onCache } = needs
  const cache = keyCache(needs)
  const failures = addressFailures(needs)
  const lookups = keyLookups(cache, needs)

  function authenticate(call: Call): Authenticated | Promise<Authenticated> {
    const secret = secretOf(credentialOf(call), keyPrefix)
    if (secret === undefined) throw failures.refusal(call.address)
    const hash = digest('sha256', secret)

    const cached = cache.get(hash)
    if (cached !== undefined && isAlive(cached, clock.now())) {
      onCache(true)
      return { caller: cached, isCached: true }
    }
    onCache(false)
    if (!othersMayChangeKeys && cache.isUnknown(hash)) throw failures.refusal(call.address)
    return again(call, hash, { since: call.startedMs }).then(caller => ({ caller, isCached: false }))
  }

  async function again(call: Call, hash: string, ask: Ask): Promise<CachedKey> {
    const began = cache.generation()
    const caller = await lookups.find(hash, ask, call.address)
    if (caller === undefined) {
      if (began === cache.generation()) cache.setUnknown(hash)
      throw failures.refusal(call.address)
    }
    return caller
  }

  return {
    authenticate,
    again,
    othersMayChangeKeys,
    addressStanding: failures.standing,
    forget: cache.forget,
    forgetAccounts: cache.forgetAccounts,
  }
}

const SECRET_CHARS = base62Width(SECRET_BYTES)

// OpenAI's clients send a key as `Authorization: Bearer`, Anthropic's as `x-api-key`; some send it as both.
function credentialOf({ authorizations, apiKeys }: Call): string | undefined {
  if (apiKeys.length === 0 && authorizations.length === 1) return bearerOf(authorizations[0] as string)
  if (authorizations.length > 1 || apiKeys.length > 1) throw new Refusal('duplicate_authorization')
  const [apiKey] = apiKeys
  const [authorization] = authorizations
  if (authorization !== undefined && bearerOf(authorization) !== apiKey) throw new Refusal('duplicate_authorization')
  return apiKey
}

function bearerOf(header: string): string | undefined {
  return header.length > HEADER_CHARS_MAX ? undefined : /^bearer +(\S+) *$/i.exec(header)?.[1]
}

const HEADER_CHARS_MAX = 512

function secretOf(secret: string | undefined, keyPrefix: string): string | undefined {
  if (secret === undefined || !secret.startsWith(keyPrefix)) return undefined
  const random = secret.slice(keyPrefix.length)
  return random.length === SECRET_CHARS && isBase62(random) ? secret : undefined
}

function isAlive(caller: AuthenticatedKey, now: number): boolean {
  return secretAlive(caller.secret, now) && keyStatus(caller.key, now) === 'active'
}

// With places for what is remembered of a key and its account: `counts` by the limits, `mark` for upstreams, `retries` by the retry
// budget. They are filled in place, so a cached record is neither copied nor frozen.
type CachedKey = AuthenticatedKey & {
  readonly key: CountedKey
  readonly account: MarkedAccount & { retries?: undefined }
  readonly lastUse: LastUse
}

// Records by the hash of their secret, and hashes recently found to be unknown.
type KeyCache = ReturnType<typeof keyCache>

function keyCache(needs: AuthenticateNeeds) {
  const { clock, unknownKeyCacheMs } = needs
  const cachedKeys = lru<string, CachedKey>(needs.keysCachedMax, unlink, idHash)
  // Customers choose the lists of their keys, and thousands of long ones would fill the memory. A hash is in one of the two caches.
  const longKeys = lru<string, CachedKey>(needs.longKeysCachedMax, unlink, idHash)
  // The cached secrets of a key, complete and exact: a revoked key must be found here. Nearly always one.
  const hashesOf = new Map<string, readonly string[]>()
  // With their expiry.
  const unknownKeys = lru<string, number>(needs.unknownKeysCachedMax)
  let generation = 0

  function unlink(hash: string, { key }: AuthenticatedKey): void {
    const others = hashesOf.get(key.id)?.filter(each => each !== hash) ?? []
    if (others.length === 0) hashesOf.delete(key.id)
    else hashesOf.set(key.id, others)
  }

  return {
    get: (hash: string) => cachedKeys.get(hash) ?? longKeys.get(hash),
    set(hash: string, cached: CachedKey): void {
      const [own, other] = isLong(cached) ? [longKeys, cachedKeys] : [cachedKeys, longKeys]
      other.delete(hash)
      own.set(hash, cached)
      const hashes = hashesOf.get(cached.key.id)
      if (hashes === undefined) hashesOf.set(cached.key.id, [hash])
      else if (!hashes.includes(hash)) hashesOf.set(cached.key.id, [...hashes, hash])
    },
    isUnknown: (hash: string) => (unknownKeys.get(hash) ?? 0) > clock.monotonic(),
    setUnknown: (hash: string) => unknownKeys.set(hash, clock.monotonic() + unknownKeyCacheMs),
    // Incremented with every `forget`: a lookup that began before must not fill the cache afterwards.
    generation: () => generation,
    forget(keyId: string): void {
      generation += 1
      for (const hash of hashesOf.get(keyId) ?? []) {
        cachedKeys.delete(hash)
        longKeys.delete(hash)
      }
      hashesOf.delete(keyId)
      // An expired key may have been given a new expiry.
      unknownKeys.clear()
    },
    // Rare, and forgetting too much costs one lookup each.
    forgetAccounts(): void {
      generation += 1
      cachedKeys.clear()
      longKeys.clear()
      hashesOf.clear()
    },
  }
}

const LONG_CHARS = 2000

function isLong({ key }: AuthenticatedKey): boolean {
  let chars = 0
  for (const each of key.ipAllowlist) chars += each.length
  for (const each of key.allowedModels) chars += each.length
  return chars > LONG_CHARS
}

// With what thousands of records have in common only once: a record that another thread has sent shares nothing. Listing the
// fields makes each record one piece of memory; in a copy most of them would be in a second one.
function compact(caller: AuthenticatedKey, hash: string): CachedKey {
  const { key, account, secret } = caller
  return {
    key: {
      id: key.id,
      accountId: account.id,
      version: key.version,
      revokedAt: key.revokedAt,
      expiredAt: key.expiredAt,
      expiresAt: key.expiresAt,
      scopes: scopesOf(key),
      ipAllowlist: key.ipAllowlist.length === 0 ? EMPTY : key.ipAllowlist,
      rpmLimit: key.rpmLimit,
      dailyLimit: key.dailyLimit,
      maxConcurrent: key.maxConcurrent,
      counts: undefined,
      allowedModels: key.allowedModels.length === 0 ? EMPTY : key.allowedModels,
      tags: Object.keys(key.tags).length === 0 ? NO_TAGS : key.tags,
      creditLimit: key.creditLimit,
      name: key.name,
      createdAt: key.createdAt,
      lastUsedAt: key.lastUsedAt,
    },
    secret: { last4: secret.last4, graceExpiresAt: secret.graceExpiresAt, lastUsedAt: secret.lastUsedAt },
    account: {
      id: account.id,
      name: account.name,
      status: ACCOUNT_STATUSES.find(status => status === account.status) ?? account.status,
      mark: undefined,
      retries: undefined,
    },
    lastUse: noUse(hash),
    label: caller.label,
    day: caller.day,
    dayCount: caller.dayCount,
  }
}

const EMPTY: readonly string[] = Object.freeze([])
// A list in another order than the usual one is not shared.
const scopeLists = new Map<string, readonly Scope[]>()

function scopesOf({ scopes }: Key): readonly Scope[] {
  const name = scopes.join()
  const known = scopeLists.get(name)
  if (known !== undefined) return known
  const list = SCOPES.filter(scope => scopes.includes(scope))
  if (list.join() !== name) return scopes
  scopeLists.set(name, list)
  return list
}

// How often each address has failed to authenticate.
function addressFailures({ clock, addressesTrackedMax, addressFailuresPerMinute }: AuthenticateNeeds) {
  const buckets = lru<string, Bucket>(addressesTrackedMax)

  function bucketOf(address: Address | undefined): Bucket {
    const owner = block(address)
    let bucket = buckets.get(owner)
    if (bucket === undefined) {
      bucket = fullBucket(addressFailuresPerMinute, clock.monotonic())
      buckets.set(owner, bucket)
    }
    return bucket
  }

  return {
    // Counts a failure. The same message for every reason; an address beyond its policy gets 429 instead.
    refusal(address: Address | undefined): Refusal {
      const bucket = bucketOf(address)
      if (take(bucket, addressFailuresPerMinute, clock.monotonic())) {
        return new Refusal('invalid_api_key', { headers: { 'WWW-Authenticate': 'Bearer' } })
      }
      return new Refusal('too_many_failures', { retryAfter: waitSeconds(bucket), metadata: { limit: 'address' } })
    },
    standing: (address: Address | undefined) =>
      standing(bucketOf(address), addressFailuresPerMinute, clock.monotonic()),
  }
}

type Found = Promise<CachedKey | undefined>

// When its read began; until then it serves every caller.
type Lookup = { began: number; found: Found; next: Found | undefined }

const NOBODY = Promise.resolve(undefined)

// Reads records from the store. At most one lookup per secret is running, and one waits for all callers that arrived after it
// began.
function keyLookups(cache: KeyCache, { billing, clock, ...bounds }: AuthenticateNeeds) {
  const queue = {
    concurrent: bounds.unknownKeyLookupsMax,
    waitingMax: bounds.unknownKeyLookupsWaitingMax,
    waitingPerOwnerMax: bounds.unknownKeyLookupsWaitingPerAddressMax,
  }
  // Unknown keys queue by address; invalid keys from anywhere do not delay known keys.
  const unknownLookups = fairQueue<CachedKey | undefined>(queue)
  const knownLookups = fairQueue<CachedKey | undefined>(queue)
  const underWay = new Map<string, Lookup>()

  function find(hash: string, { since, known }: Ask, address: Address | undefined): Found {
    const running = underWay.get(hash)
    if (running !== undefined && running.began >= since) return running.found
    const next = () => begin(hash, known, address)
    if (running === undefined) return next()
    running.next ??= running.found.then(next, next)
    return running.next
  }

  function begin(hash: string, known: AuthenticatedKey | undefined, address: Address | undefined): Found {
    const look: Lookup = { began: Number.POSITIVE_INFINITY, found: NOBODY, next: undefined }
    const read = () => {
      look.began = clock.monotonic()
      return readKey(hash)
    }
    underWay.set(hash, look)
    const { run } = known === undefined ? unknownLookups : knownLookups
    look.found = run(known?.account.id ?? block(address), read)
      .catch(refuseIfFull)
      .finally(() => {
        if (underWay.get(hash) === look) underWay.delete(hash)
      })
    return look.found
  }

  async function readKey(hash: string): Found {
    const began = cache.generation()
    const found = await billing.findKey(hash)
    if (found === undefined) return undefined
    const caller = compact(found, hash)
    if (began === cache.generation()) cache.set(hash, caller)
    return caller
  }

  return { find }
}

function block(address: Address | undefined): string {
  return address === undefined ? 'unreadable' : addressBlock(address)
}

function refuseIfFull(error: unknown): never {
  if (error instanceof QueueFull) throw new Refusal('service_unavailable', { retryAfter: 1 })
  throw error
}
