// Nodes that share their own Redis in addition to their Postgres, in front of one upstream.
import { type Gateway, type GatewayOptions, standardConfig } from './gateway.ts'
import { startNodes } from './nodes.ts'
import { type RedisServer, startRedis } from './redis.ts'
import { startUpstream, type Upstream } from './upstream.ts'

export type RedisNodes = AsyncDisposable & {
  // The URL of their Postgres.
  readonly url: string
  readonly nodes: readonly Gateway[]
  readonly upstream: Upstream
  readonly redis: RedisServer
}

export type RedisNodesOptions = Omit<GatewayOptions, 'config'> & {
  readonly withoutRedis?: boolean
  readonly config?: (upstreamUrl: string) => object
}

export async function startRedisNodes(count: number, options: RedisNodesOptions = {}): Promise<RedisNodes> {
  const { withoutRedis = false, config = standardConfig, env, ...rest } = options
  const stack = new AsyncDisposableStack()
  const upstream = stack.use(await startUpstream())
  const redis = stack.use(await startRedis())
  const shared = withoutRedis ? {} : { REDIS_URL: redis.url }
  const { url, all } = stack.use(
    await startNodes(count, { ...rest, config: config(upstream.url), env: { ...shared, ...env } }),
  )
  return { url, nodes: all, upstream, redis, [Symbol.asyncDispose]: () => stack.disposeAsync() }
}
