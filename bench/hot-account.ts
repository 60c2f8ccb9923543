// One account that is called through several nodes, which wait for each other's locks on it: compared with the same account on one
// node, and with as many nodes and many accounts. The nodes share a core, a Postgres and a Redis.

import { join } from 'node:path'
import { ENCRYPTION_KEY } from '../test/support/gateway.ts'
import type { Place, Running } from './contestant.ts'
import { type Postgres, startPostgres } from './postgres.ts'
import { type Redis, startPlacedRedis } from './redis.ts'
import { seedTenants, tenantSecret } from './tenant-keys.ts'
import type { Tenanted } from './tenants.ts'
import { ROOT, startTurnpike } from './turnpike.ts'

type Shape = { readonly name: string; readonly nodes: number; readonly keys: number; readonly accounts: number }

const SHAPES: readonly Shape[] = [
  { name: '1 node, 1 account', nodes: 1, keys: 1, accounts: 1 },
  { name: '3 nodes, 1 account, 1 key', nodes: 3, keys: 1, accounts: 1 },
  { name: '3 nodes, 1 account, 3 keys', nodes: 3, keys: 3, accounts: 1 },
  { name: '1 node, 1,000 accounts', nodes: 1, keys: 1000, accounts: 1000 },
  { name: '3 nodes, 1,000 accounts', nodes: 3, keys: 1000, accounts: 1000 },
]

export async function hotAccounts(): Promise<readonly Tenanted[]> {
  const [postgres, redis] = [await startPostgres(), await startPlacedRedis()]
  postgres.place('others')
  redis.place('others')
  return SHAPES.map(shape => ({
    name: shape.name,
    tenants: shape.keys,
    isBefore: false,
    start: place => start(place, shape, { postgres, redis }),
  }))
}

type Stores = { readonly postgres: Postgres; readonly redis: Redis }

async function start(place: Place, shape: Shape, { postgres, redis }: Stores): Promise<Running> {
  const url = await postgres.freshDatabase()
  await seedTenants(ROOT, { url }, shape.keys, shape.accounts)
  const env = { DATABASE_URL: url, REDIS_URL: redis.url, TURNPIKE_ENCRYPTION_KEY: ENCRYPTION_KEY }
  const nodes: Running[] = []
  for (let node = 0; node < shape.nodes; node++) {
    nodes.push(await startTurnpike({ ...place, folder: join(place.folder, `node-${node}`) }, env))
  }
  const [first, ...others] = nodes as [Running, ...Running[]]
  const stopOthers = () => Promise.all(others.map(other => other.stop()))
  return {
    ...first,
    others,
    headers: { authorization: `Bearer ${tenantSecret(0)}` },
    tenants: shape.keys,
    database: postgres,
    async verify(sent, answered) {
      await stopOthers()
      await first.verify?.(sent, answered)
    },
    async stop() {
      await stopOthers()
      await first.stop()
    },
  }
}
