// Creates a database with realistic amounts of usage to try the dashboard, the reports and retention on: `npm run seed -- --help`
// lists the options.
// Prints its progress to stdout. A command of the repository, not a part of the server, which writes to its log alone.

import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { systemClock } from '../src/lib/clock.ts'
import type { Store } from '../src/store/contract/store.ts'
import { openPostgres } from '../src/store/postgres/postgres.ts'
import { openPostgresSql, POSTGRES_BOUNDS } from '../src/store/postgres/sql.ts'
import { DATABASE_FILE, lockDataDir } from '../src/store/sqlite/lock.ts'
import { createIfMissing, migrate } from '../src/store/sqlite/migrate.ts'
import { sqliteSql } from '../src/store/sqlite/sql.ts'
import { openSqlite } from '../src/store/sqlite/sqlite.ts'
import { measureReports } from './report-times.ts'
import type { SeedPlan } from './seed-rows.ts'
import { seedStore } from './seed-store.ts'

const HELP = `npm run seed -- [options]

  --rows N        usage rows (1000000)
  --days N        number of days (90)
  --until TIME    end of the last day, ISO 8601 (the current hour)
  --seed N        random seed; the same seed gives the same rows (1)
  --data-dir DIR  folder of the SQLite database (default: DATABASE_URL if set, otherwise ./data)
  --measure URL   seed nothing; time every report of the gateway at this URL, which runs on a seeded database;
                  TURNPIKE_ADMIN_TOKEN is its admin token
  --help

Stop the gateway first. A database can be seeded only once.`

const PATIENT = { ...POSTGRES_BOUNDS, statementTimeoutMs: 600_000, answerTimeoutMs: 610_000 }

await main().catch(error => {
  console.error(error instanceof Error ? error.message : error)
  process.exit(1)
})

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      rows: { type: 'string', default: '1000000' },
      days: { type: 'string', default: '90' },
      until: { type: 'string' },
      seed: { type: 'string', default: '1' },
      'data-dir': { type: 'string' },
      measure: { type: 'string' },
      help: { type: 'boolean', default: false },
    },
  })
  if (values.help) {
    console.log(HELP)
    return
  }
  if (values.measure !== undefined) {
    await measureReports(values.measure, process.env.TURNPIKE_ADMIN_TOKEN ?? '')
    return
  }
  const plan: SeedPlan = {
    rows: countOf('rows', values.rows),
    days: countOf('days', values.days),
    until: timeOf(values.until),
    seed: countOf('seed', values.seed),
  }
  const url = values['data-dir'] === undefined ? process.env.DATABASE_URL : undefined
  const store = url === undefined ? await seedSqlite(values['data-dir'] ?? 'data', plan) : await seedPostgres(url, plan)
  await sumUp(store)
  await store.close()
}

async function seedSqlite(dir: string, plan: SeedPlan): Promise<Store> {
  if (lockDataDir(resolve(dir)) === 'taken') throw new Error(`another process is using the data directory ${dir}`)
  const path = join(resolve(dir), DATABASE_FILE)
  createIfMissing(path)
  const sql = sqliteSql(path, systemClock)
  migrate(sql.db)
  // Not durable: after a power cut, seed again.
  sql.db.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF')
  await seedStore(sql, plan, rows => show('rows', rows, plan.rows))
  sql.close()
  return openSqlite({ path, owner: 'seed' })
}

async function seedPostgres(url: string, plan: SeedPlan): Promise<Store> {
  const store = await openPostgres({ url, owner: 'seed', clock: systemClock })
  await store.maintenance.ensurePartitions()
  const sql = await openPostgresSql({ url, clock: systemClock, bounds: PATIENT })
  await seedStore(sql, plan, rows => show('rows', rows, plan.rows))
  await sql.run('ANALYZE')
  await sql.close()
  return store
}

async function sumUp(store: Store): Promise<void> {
  let summed = 0
  for (let more = true; more; ) {
    const step = await store.maintenance.rollUp(0)
    summed += step.rolled
    more = step.more
    show('hours and days summed up', summed)
  }
}

function show(what: string, done: number, of?: number): void {
  const line = of === undefined ? `${done} ${what}` : `${done} of ${of} ${what}`
  if (process.stdout.isTTY) process.stdout.write(`\r${line}${done === of ? '\n' : ''}`)
  else if (done === of || done % 100_000 === 0) console.log(line)
}

function countOf(name: string, text: string): number {
  const count = Number(text)
  if (!Number.isSafeInteger(count) || count < 1) throw new Error(`--${name}: must be a whole number above 0`)
  return count
}

function timeOf(text: string | undefined): number {
  const at = text === undefined ? Math.floor(systemClock.now() / 3_600_000) * 3_600_000 : Date.parse(text)
  if (Number.isNaN(at)) throw new Error('--until: must be a time in ISO 8601')
  return at
}
