// Opens Redis, if configured: the buckets shared by the nodes, and the hints between them. Without it each node counts by itself.
import type { Hint, SharedBuckets } from '../store/contract/buckets.ts'
import { canCount, publishHint, redisBuckets, subscribeHints } from '../store/redis/buckets.ts'
import { openRedisLink } from '../store/redis/connection.ts'
import type { ServerContext } from './context.ts'

export type SharedLimits = {
  readonly buckets: SharedBuckets
  // Notifies the other nodes, best effort.
  tell(hint: Hint): void
  close(): void
}

export async function openRedis(context: ServerContext, hear: (hint: Hint) => void): Promise<SharedLimits | undefined> {
  const { config, log, random } = context
  const { redisUrl: url, bounds } = config
  if (url === undefined) {
    if (config.databaseUrl !== undefined) {
      log.warn({}, 'REDIS_URL is not set; each node counts requests per minute on its own')
    }
    return undefined
  }
  const self = context.newId()
  const [counting, hearing] = await Promise.all([
    openRedisLink({
      url,
      bounds,
      random,
      begin: canCount,
      onUnavailable: why =>
        log.warn({ why }, 'Redis is unavailable; each node enforces its share of the requests per minute'),
      onBack: () => log.info({}, 'Redis is available again; requests per minute are shared between nodes'),
    }),
    // A node without hints only reads more often; the other connection already reports the outage.
    openRedisLink({
      url,
      bounds,
      random,
      begin: client => subscribeHints(client, { self, hear }),
      onUnavailable: () => undefined,
      onBack: () => undefined,
    }),
  ])
  return {
    buckets: redisBuckets(counting),
    tell: hint => publishHint(counting, self, hint),
    close() {
      counting.close()
      hearing.close()
    },
  }
}
