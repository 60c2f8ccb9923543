// S5: one key is used on several nodes at once, far above its limit. The nodes admit at most the bucket's capacity plus
// its refill.
import assert from 'node:assert/strict'
import { Pool } from 'undici'
import { withBounds } from '../../support/bounds.ts'
import type { Gateway } from '../../support/gateway.ts'
import { startRedisNodes } from '../../support/redis-nodes.ts'
import { callAs } from '../../support/revocation-load.ts'
import type { Figure } from './figure.ts'

const NODES = 4
const CALLERS_PER_NODE = 4
const LIMIT = 300
const SAY_EVERY = 1000

export const limitNodes: Figure = {
  name: 'S5',
  about: `requests admitted over the limit at ${NODES} nodes`,
  unit: 'attempts',
  small: 10_000,
  async run({ size, random, say }) {
    // On a busy machine Redis may answer later than the product's timeout.
    await using fixture = await startRedisNodes(NODES, withBounds({ redisCommandMsMax: 60_000 }))
    const first = fixture.nodes[0] as Gateway
    const key = await first.createKey({ rpm_limit: LIMIT, daily_limit: null, max_concurrent: 1000 })
    const pools = fixture.nodes.map(node => new Pool(node.url, { connections: CALLERS_PER_NODE, pipelining: 1 }))
    const statuses = new Map<number, number>()
    let tried = 0

    const startedAt = performance.now()
    const callers = Array.from({ length: NODES * CALLERS_PER_NODE }, async () => {
      while (tried < size) {
        tried += 1
        if (tried % SAY_EVERY === 0) say(tried)
        const status = await callAs(key.secret, 0, pools[Math.floor(random() * NODES)] as Pool)
        statuses.set(status, (statuses.get(status) ?? 0) + 1)
      }
    })
    await Promise.all(callers)
    const seconds = (performance.now() - startedAt) / 1000
    await Promise.all(pools.map(pool => pool.close()))

    const admitted = statuses.get(200) ?? 0
    const allowed = Math.floor(LIMIT + (LIMIT * seconds) / 60)
    assert.deepEqual([...statuses.keys()].sort(), [200, 429])
    assert.ok(admitted >= LIMIT && admitted <= allowed, `${admitted} of at most ${allowed}`)
    return { admitted, allowed }
  },
}
