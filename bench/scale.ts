// The same gateway on the embedded store, as one node on Postgres and Redis, and as two workers, side by side. The databases
// have the settings of production and run on the core that drives the load.

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import { ENCRYPTION_KEY } from '../test/kit/gateway.ts'
import { startServer } from '../test/kit/postgres.ts'
import { startRedis } from '../test/kit/redis.ts'
import type { Contestant } from './contestant.ts'
import { pin } from './processes.ts'
import { startTurnpike } from './turnpike.ts'

export const EMBEDDED = 'embedded'
export const ONE_NODE = 'one node'
export const TWO_WORKERS = 'two workers'

// What a server has that is to lose nothing.
const POSTGRES = [
  'fsync=on',
  'synchronous_commit=on',
  'max_connections=100',
  'shared_buffers=256MB',
  'max_wal_size=2GB',
]

export async function scaleContestants(): Promise<readonly Contestant[]> {
  const postgres = await startServer(POSTGRES)
  const redis = await startRedis()
  pin('others', postmasterOf(postgres.url))
  pin('others', Number(/process_id:(\d+)/.exec(String(await redis.command('INFO', 'server')))?.[1]))
  let databases = 0
  const shared = async () => ({
    DATABASE_URL: await freshDatabase(postgres.url, `bench_${++databases}`),
    REDIS_URL: redis.url,
    TURNPIKE_ENCRYPTION_KEY: ENCRYPTION_KEY,
  })
  return [
    { name: EMBEDDED, start: place => startTurnpike(place) },
    { name: ONE_NODE, start: async place => startTurnpike(place, await shared()) },
    {
      name: TWO_WORKERS,
      processes: 2,
      start: async place => startTurnpike(place, { ...(await shared()), TURNPIKE_WORKERS: '2' }, 'both'),
    },
  ]
}

async function freshDatabase(url: string, name: string): Promise<string> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  await client.query(`CREATE DATABASE ${name}`)
  await client.end()
  const fresh = new URL(url)
  fresh.pathname = `/${name}`
  return fresh.href
}

function postmasterOf(url: string): number {
  const folder = new URL(url).searchParams.get('host') ?? ''
  return Number(readFileSync(join(folder, 'data/postmaster.pid'), 'utf8').split('\n')[0])
}
