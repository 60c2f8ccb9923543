// A Postgres with the settings of a server that must not lose anything, and a fresh database in it for every gateway. Its files
// are where TMPDIR is.

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import { startServer } from '../test/support/postgres.ts'
import { childrenOf } from './cpu.ts'
import { type Core, pin } from './processes.ts'

export type Postgres = {
  readonly pid: number
  freshDatabase(): Promise<string>
  // Writes to disk what a later checkpoint would.
  checkpoint(): Promise<void>
  place(on: Core): void
}

const SETTINGS = [
  'fsync=on',
  'synchronous_commit=on',
  'max_connections=200',
  'shared_buffers=256MB',
  'max_wal_size=2GB',
]

export async function startPostgres(): Promise<Postgres> {
  const { url } = await startServer(SETTINGS)
  const pid = postmasterOf(url)
  let databases = 0
  return {
    pid,
    async freshDatabase() {
      const name = `bench_${++databases}`
      await run(url, `CREATE DATABASE ${name}`)
      const fresh = new URL(url)
      fresh.pathname = `/${name}`
      return fresh.href
    },
    checkpoint: () => run(url, 'CHECKPOINT'),
    place(on) {
      for (const each of [pid, ...childrenOf(pid)]) pin(on, each)
    },
  }
}

async function run(url: string, text: string): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  await client.query(text)
  await client.end()
}

function postmasterOf(url: string): number {
  const folder = new URL(url).searchParams.get('host') ?? ''
  return Number(readFileSync(join(folder, 'data/postmaster.pid'), 'utf8').split('\n')[0])
}
