// Hints from node to node over Redis' publish and subscribe: ids alone, never a secret or a hash. Whoever misses one looks
// once more in the database; nothing depends on them.
import type { Hint } from '../contract/buckets.ts'
import type { RedisClient, RedisLink } from './connection.ts'

const CHANNEL = 'turnpike:hints'

export type HintListener = { readonly self: string; hear(hint: Hint): void }

// On a connection of its own: one that is subscribed may ask nothing else.
export function subscribeHints(client: RedisClient, listener: HintListener): Promise<void> {
  return client.subscribe(CHANNEL, message => {
    const hint = readHint(message, listener.self)
    if (hint !== undefined) listener.hear(hint)
  })
}

// Best effort, and nobody waits for it.
export function publishHint(link: RedisLink, self: string, hint: Hint): void {
  const words = [self, hint.kind, ...('keyId' in hint ? [hint.keyId] : [])]
  link.send(['PUBLISH', CHANNEL, words.join(' ')]).catch(() => undefined)
}

// Undefined for one of our own, and for what a newer version may say.
function readHint(message: string, self: string): Hint | undefined {
  const [from, kind, keyId] = message.split(' ')
  if (from === self) return undefined
  if (kind === 'forget_accounts') return { kind }
  if ((kind === 'forget' || kind === 'abort_streams') && keyId !== undefined) return { kind, keyId }
  return undefined
}
