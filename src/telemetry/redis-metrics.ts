// The Redis metrics: whether it is available, and how many requests a node had to limit without it.
import { Counter, Gauge, type Registry } from '@prometheus-io/client'

export function redisMetrics(registry: Registry, isUp: () => boolean): () => void {
  const registers = [registry]
  new Gauge({
    name: 'turnpike_redis_up',
    help: '1 if Redis counts requests per minute, 0 if each node enforces its own share.',
    registers,
    collect() {
      this.set(isUp() ? 1 : 0)
    },
  })
  const local = new Counter({
    name: 'turnpike_limited_locally_total',
    help: 'Requests counted against the share of this node while Redis was unavailable.',
    registers,
  })
  return () => local.inc()
}
