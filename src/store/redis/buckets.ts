// The rpm buckets in Redis: lib/token-bucket.ts as one script on one key, by Redis' own clock. Only plain commands, so that
// Valkey can run it, at one address: a sharded cluster needs a proxy, and each script names its one key for that. A bucket that
// is full again expires. See docs/decisions/redis-limits.md.
import { createHash } from 'node:crypto'
import type { BucketKey, BucketSaid, Hint, SharedBuckets } from '../contract/buckets.ts'
import { isUnknownScript, type RedisClient, type RedisLink } from './connection.ts'

type Script = { readonly text: string; readonly sha: string }

// Stored as "tokens limit version at". A clock that jumps back refills nothing and is used from there on, so that it locks nobody
// out. A changed limit keeps what was used; an older record of the key does not restore its limit, but its requests are not
// admitted beyond it: after a restore of the database the older record is the current one, and a version may be used twice.
export const TAKE = scriptOf(`
local limit, version, wanted = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local time = redis.call('TIME')
local now = time[1] * 1000 + time[2] / 1000
local tokens = limit
local allowed
local kept = redis.call('GET', KEYS[1])
if kept then
  local words = {}
  for word in string.gmatch(kept, '%S+') do words[#words + 1] = tonumber(word) end
  if #words == 4 then
    tokens = math.min(words[2], words[1] + math.max(0, now - words[4]) * words[2] / 60000)
    if version > words[3] or (version == words[3] and limit ~= words[2]) then
      tokens = math.max(0, limit - (words[2] - tokens))
    else
      allowed = math.max(0, math.min(tokens, limit - (words[2] - tokens)))
      limit, version = words[2], words[3]
    end
  end
end
local taken = 0
if (allowed or tokens) >= wanted then
  tokens = tokens - wanted
  taken = 1
end
redis.call('SET', KEYS[1], string.format('%.17g %d %d %.17g', tokens, limit, version, now), 'PX', 120000)
return { taken, string.format('%.17g', tokens), limit, version }`)

// A missing bucket is full.
export const GIVE_BACK = scriptOf(`
local kept = redis.call('GET', KEYS[1])
if not kept then return 0 end
local tokens, limit, others = string.match(kept, '^(%S+) (%S+) (.+)$')
if not tokens then return 0 end
tokens = math.min(tonumber(limit), tonumber(tokens) + 1)
redis.call('SET', KEYS[1], string.format('%.17g %s %s', tokens, limit, others), 'KEEPTTL')
return 1`)

// For a record of the key that is known to be in force, although the bucket has seen a newer one.
const FOLLOW = scriptOf(`
local limit, version, wrong = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local kept = redis.call('GET', KEYS[1])
if not kept then return 0 end
local words = {}
for word in string.gmatch(kept, '%S+') do words[#words + 1] = tonumber(word) end
if #words ~= 4 or words[3] ~= wrong then return 0 end
local tokens = math.max(0, limit - (words[2] - words[1]))
redis.call('SET', KEYS[1], string.format('%.17g %d %d %.17g', tokens, limit, version, words[4]), 'KEEPTTL')
return 1`)

export function redisBuckets(link: RedisLink): SharedBuckets {
  async function ask(key: BucketKey, wanted: '0' | '1'): Promise<BucketSaid | undefined> {
    try {
      return said(await run(link, TAKE, [nameOf(key.id), String(key.rpmLimit), String(key.version), wanted]))
    } catch {
      return undefined
    }
  }

  return {
    take: key => ask(key, '1'),
    look: key => ask(key, '0'),
    giveBack(keyId) {
      run(link, GIVE_BACK, [nameOf(keyId)]).catch(() => undefined)
    },
    follow(key, wrongVersion) {
      const args = [nameOf(key.id), String(key.rpmLimit), String(key.version), String(wrongVersion)]
      run(link, FOLLOW, args).catch(() => undefined)
    },
    isUp: link.isUp,
  }
}

// Whether the script runs and may write: on a replica, or out of memory, it may not.
export async function canCount(client: RedisClient): Promise<void> {
  said(await client.sendCommand(['EVAL', TAKE.text, '1', nameOf('probe'), '1', '1', '0']))
}

async function run(link: RedisLink, script: Script, args: readonly string[]): Promise<unknown> {
  try {
    return await link.send(['EVALSHA', script.sha, '1', ...args])
  } catch (error) {
    if (!isUnknownScript(error)) throw error
    return link.send(['EVAL', script.text, '1', ...args])
  }
}

function said(answer: unknown): BucketSaid {
  const [isTaken, tokens, limit, version] = (Array.isArray(answer) ? answer : []).map(Number)
  if (tokens === undefined || limit === undefined || version === undefined || !Number.isFinite(tokens + limit)) {
    throw new Error('unexpected result of the Redis script')
  }
  return { isTaken: isTaken === 1, tokens, limit, version }
}

function nameOf(keyId: string): string {
  return `turnpike:rpm:${keyId}`
}

function scriptOf(text: string): Script {
  return { text, sha: createHash('sha1').update(text).digest('hex') }
}

// Hints between nodes over Redis publish/subscribe: only ids, never a secret or a hash. A node that misses one reads the database
// once more; nothing depends on them.
const CHANNEL = 'turnpike:hints'

type HintListener = { readonly self: string; hear(hint: Hint): void }

// On a separate connection: a subscribed one can run no other commands.
export function subscribeHints(client: RedisClient, listener: HintListener): Promise<void> {
  return client.subscribe(CHANNEL, message => {
    const hint = readHint(message, listener.self)
    if (hint !== undefined) listener.hear(hint)
  })
}

// Best effort; not awaited.
export function publishHint(link: RedisLink, self: string, hint: Hint): void {
  const words = [self, hint.kind, ...('keyId' in hint ? [hint.keyId] : [])]
  link.send(['PUBLISH', CHANNEL, words.join(' ')]).catch(() => undefined)
}

// Undefined for our own hints, and for unknown ones of a newer version.
function readHint(message: string, self: string): Hint | undefined {
  const [from, kind, keyId] = message.split(' ')
  if (from === self) return undefined
  if (kind === 'forget_accounts') return { kind }
  if ((kind === 'forget' || kind === 'abort_streams') && keyId !== undefined) return { kind, keyId }
  return undefined
}
