// Measures the database cost of one chat: rows, transactions, log and disk in a private Postgres with production settings, and
// the CPU of both it and the gateway. CPU figures are only as good as the machine is quiet.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import { ENCRYPTION_KEY, standardConfig, startGateway } from '../test/support/gateway.ts'
import { httpCall } from '../test/support/http-call.ts'
import { startServer } from '../test/support/postgres.ts'
import { startUpstream } from '../test/support/upstream.ts'
import { cpuSeconds } from './cpu.ts'
import type { PostgresInputs } from './sizing-inputs.ts'

const SETTINGS = ['max_connections=60', 'jit=off', 'max_wal_size=4GB', 'shared_buffers=256MB']
const CONNECTIONS = 64
const ACCOUNTS = 8

export async function measurePostgres(requests: number): Promise<PostgresInputs & { readonly nodeCpuUs: number }> {
  const postgres = await startServer(SETTINGS)
  await using upstream = await startUpstream()
  const env = { DATABASE_URL: postgres.url, TURNPIKE_ENCRYPTION_KEY: ENCRYPTION_KEY, TURNPIKE_LOG_LEVEL: 'warn' }
  await using gateway = await startGateway({ config: standardConfig(upstream.url), env })
  const unlimited = { credits: '1000000', rpm_limit: 10_000_000, daily_limit: null, max_concurrent: 1000 }
  const keys = await Promise.all(Array.from({ length: ACCOUNTS }, () => gateway.createKey(unlimited)))
  const secrets = keys.map(key => key.secret)
  await chat(gateway.url, secrets, Math.ceil(requests / 10))
  const client = new pg.Client({ connectionString: postgres.url })
  await client.connect()
  const postmaster = postmasterOf(postgres.url)
  try {
    const before = await state(client, postmaster, gateway.pid)
    await chat(gateway.url, secrets, requests)
    const after = await state(client, postmaster, gateway.pid)
    const a = (name: keyof typeof after) => (after[name] - before[name]) / requests
    await client.query('VACUUM FULL usage, ledger')
    return {
      transactions: a('commits'),
      rowsWritten: a('written'),
      walBytes: a('wal'),
      diskBytes: await bytesARequest(client),
      cpuUs: a('postgresCpu') * 1e6,
      nodeCpuUs: a('nodeCpu') * 1e6,
    }
  } finally {
    await client.end()
    await gateway.stop({ hurry: true })
    await postgres.stop()
  }
}

async function chat(url: string, secrets: readonly string[], requests: number): Promise<void> {
  let left = requests
  const caller = async (i: number) => {
    const headers = { authorization: `Bearer ${secrets[i % secrets.length]}` }
    const body = { model: 'test/m1', messages: [{ role: 'user', content: 'Hello, how are you today?' }] }
    while (left-- > 0) {
      const { status, text } = await httpCall(`${url}/v1/chat/completions`, { headers, body })
      if (status !== 200) throw new Error(`a chat returned ${status}: ${text}`)
    }
  }
  await Promise.all(Array.from({ length: CONNECTIONS }, (_, i) => caller(i)))
}

async function state(client: pg.Client, postmaster: number, gateway: number) {
  const figures = `SELECT pg_stat_force_next_flush(), pg_stat_clear_snapshot(),
      (SELECT xact_commit FROM pg_stat_database WHERE datname = current_database()) AS commits,
      (SELECT SUM(n_tup_ins + n_tup_upd + n_tup_del) FROM pg_stat_user_tables) AS written,
      pg_current_wal_lsn() - '0/0'::pg_lsn AS wal`
  // Connections report their counts up to a second late.
  await new Promise(resolve => setTimeout(resolve, 2000))
  const row = (await client.query<Record<string, string>>(figures)).rows[0] ?? {}
  return {
    commits: Number(row.commits),
    written: Number(row.written),
    wal: Number(row.wal),
    postgresCpu: cpuSeconds(postmaster),
    nodeCpu: cpuSeconds(gateway),
  }
}

// Tables and indexes as vacuum leaves them; of a partitioned table only the partitions have a size.
async function bytesARequest(client: pg.Client): Promise<number> {
  const text = `SELECT (SELECT SUM(pg_total_relation_size(relid)) FROM (
      SELECT relid FROM pg_partition_tree('usage') UNION SELECT 'ledger'::regclass) parts)::float8
    / (SELECT COUNT(*) FROM usage) AS bytes`
  return Number((await client.query<{ bytes: number }>(text)).rows[0]?.bytes)
}

function postmasterOf(url: string): number {
  const folder = new URL(url).searchParams.get('host') ?? ''
  return Number(readFileSync(join(folder, 'data/postmaster.pid'), 'utf8').split('\n')[0])
}
