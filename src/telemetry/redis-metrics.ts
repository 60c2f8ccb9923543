// The Redis metrics: whether it is available, and how many requests a node had to limit without it.
import { Counter, Gauge, type Registry } from '@prometheus-io/client'

export function redisMetrics(registry: Registry, isUp: () => boolean): () => void {
  const registers = [registry]
  new Gauge({
    name: 'turnpike_redis_up',
    help: 'Whether Redis counts the requests a minute (1), or each node its own share (0).',
    registers,
    collect() {
      this.set(isUp() ? 1 : 0)
    },
  })
  const local = new Counter({
    name: 'turnpike_limited_locally_total',
    help: 'Requests that were counted against the share of this node, since Redis was away.',
    registers,
  })
  return () => local.inc()
}
