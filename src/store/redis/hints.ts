// Hints between nodes over Redis publish/subscribe: only ids, never a secret or a hash. A node that misses one reads the database
// once more; nothing depends on them.
import type { Hint } from '../contract/buckets.ts'
import type { RedisClient, RedisLink } from './connection.ts'

const CHANNEL = 'turnpike:hints'

export type HintListener = { readonly self: string; hear(hint: Hint): void }

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
