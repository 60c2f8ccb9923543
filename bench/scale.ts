// The same gateway on the embedded store and as one node on Postgres and Redis, side by side; then, on slow cores, as one node
// and as two workers. The databases have production settings and run on the cores of the load.

import { ENCRYPTION_KEY } from '../test/support/gateway.ts'
import type { Contestant, Running } from './contestant.ts'
import { childrenOf } from './cpu.ts'
import { startPostgres } from './postgres.ts'
import type { Core } from './processes.ts'
import { startPlacedRedis } from './redis.ts'
import { checkSlowCores, SLOW_CORE, type SlowCore, slowCore } from './slow-cores.ts'
import { startTurnpike } from './turnpike.ts'

export const EMBEDDED = 'embedded'
export const ONE_NODE = 'one node'
export const ONE_SLOW = 'one node, one slow core'
export const TWO_SLOW = 'two workers, two slow cores'

export type Scale = {
  // The cost of a shared store; the databases stay off the core of the measured processes.
  readonly stores: readonly Contestant[]
  // The gain of a second core.
  readonly workers: readonly Contestant[]
  placeDatabases(on: Core): void
}

export async function startScale(): Promise<Scale> {
  checkSlowCores()
  const postgres = await startPostgres()
  const redis = await startPlacedRedis()
  const shared = async () => ({
    DATABASE_URL: await postgres.freshDatabase(),
    REDIS_URL: redis.url,
    TURNPIKE_ENCRYPTION_KEY: ENCRYPTION_KEY,
  })
  return {
    stores: [
      { name: EMBEDDED, start: place => startTurnpike(place) },
      { name: ONE_NODE, start: async place => startTurnpike(place, await shared()) },
    ],
    workers: [
      { name: ONE_SLOW, start: async place => onSlowCores(await startTurnpike(place, await shared(), 'both')) },
      {
        name: TWO_SLOW,
        processes: 2,
        start: async place =>
          onSlowCores(await startTurnpike(place, { ...(await shared()), TURNPIKE_WORKERS: '2' }, 'both'), 2),
      },
    ],
    placeDatabases(on) {
      postgres.place(on)
      redis.place(on)
    },
  }
}

// One per worker; the primary of several shares the first one's.
function onSlowCores(running: Running, processes = 1): Running {
  const cores: SlowCore[] = []
  const letGo = () => {
    for (const core of cores.splice(0)) core.remove()
  }
  return {
    ...running,
    cores: processes * SLOW_CORE,
    afterWarmUp() {
      const workers = childrenOf(running.pid)
      for (const pid of workers.length === 0 ? [running.pid] : workers) {
        const core = slowCore(String(pid))
        cores.push(core)
        core.take(pid)
      }
      cores[0]?.take(running.pid)
    },
    // Later counts need not be durable.
    async verify(sent, answered) {
      letGo()
      await running.verify?.(sent, answered)
    },
    async stop() {
      await running.stop()
      letGo()
    },
  }
}
