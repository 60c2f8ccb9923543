// The store's Sql interface on Postgres: a bounded pool, every wait bounded, integers read as bigint, and the database's own
// clock. Transactions that the database asks to retry are retried a few times.
import type { Pool, PoolClient, PoolConfig, QueryResult } from 'pg'
import type { Clock } from '../../lib/clock.ts'
import type { Alone, Param, Row, Sql, Tx } from '../sql/sql.ts'

export type PostgresSql = Sql & {
  // A connection for one piece of work; one that broke is not used again.
  withClient<T>(work: (client: PoolClient) => Promise<T>): Promise<T>
  close(): Promise<void>
}

export type PostgresSqlOptions = {
  readonly url: string
  readonly clock: Clock
  readonly bounds?: PostgresBounds
  // For connections that only look up rows by their keys, and that pipeline statements.
  readonly isHot?: boolean
  // The database's time. Only a test replaces it.
  readonly databaseTime?: () => number
}

export type PostgresBounds = {
  readonly connectionsMax: number
  readonly connectTimeoutMs: number
  readonly lockTimeoutMs: number
  readonly statementTimeoutMs: number
  // For a server that does not answer at all; longer than the server's own timeout, which leaves the connection usable.
  readonly answerTimeoutMs: number
}

export const POSTGRES_BOUNDS: PostgresBounds = {
  connectionsMax: 10,
  connectTimeoutMs: 2000,
  lockTimeoutMs: 2000,
  statementTimeoutMs: 5000,
  answerTimeoutMs: 6000,
}

const TRIES_MAX = 5
const IDLE_CONNECTION_MS = 60_000

// The second half of every advisory lock, each number once: two uses of one number would wait for each other. Nodes of other
// versions use them too, so a number keeps its meaning.
export const LOCKS = {
  migrations: 1,
  catalog: 2,
  hours: 3,
  partitions: 4,
  maintenance: 5,
  turn: 6,
  transfers: 7,
  webhooks: 8,
} as const satisfies Readonly<Record<Alone, number>> & Readonly<Record<string, number>>

// The arguments of an advisory lock function. Such a lock applies to the whole database, which may contain several installations,
// each in its own schema: the first half is derived from the schema's name.
export const lockOf = (what: keyof typeof LOCKS) => `hashtext('turnpike ' || current_schema()), ${LOCKS[what]}`

// New batches queue after a waiting exclusive lock on the hours or the table: it gives up soon and is tried again.
const UPKEEP_WAIT_MS = 250
// Taken by every batch before it reads which hours are claimed.
export const SHARE_HOURS = `SELECT pg_advisory_xact_lock_shared(${lockOf('hours')})`

const DIALECT = {
  keyRows: 'column',
  jsonCast: '::json',
  jsonItems: (list: string) => `json_array_elements(${list}::json) AS item(value)`,
  jsonPairs: (object: string) => `json_each_text(${object}::json) AS pair`,
} as const

export async function openPostgresSql(options: PostgresSqlOptions): Promise<PostgresSql> {
  // Loaded only where Postgres is used.
  const { default: pg } = await import('pg')
  const pool = new pg.Pool(poolConfig(options))
  listenForLoss(pool)
  const time = databaseTime(options)

  async function withClient<T>(work: (client: PoolClient) => Promise<T>): Promise<T> {
    const client = await pool.connect()
    let isLost = false
    try {
      return await work(client)
    } catch (error) {
      isLost = hasLostConnection(error)
      throw error
    } finally {
      client.release(isLost)
    }
  }

  function transaction<T>(work: (tx: Tx) => Promise<T>, alone?: Alone): Promise<T> {
    return withClient(async client => {
      try {
        const now = time.heard(lastRow(await client.query(beginning(alone))))
        const result = await work({ ...statementsOn(client), now: () => now, ...DIALECT })
        await client.query('COMMIT')
        return result
      } catch (error) {
        if (!hasLostConnection(error)) await client.query('ROLLBACK')
        throw error
      }
    })
  }

  return {
    ...statementsOn(pool),
    now: time.now,
    ...DIALECT,
    withClient,
    async transaction(work, alone) {
      for (let tries = 1; ; tries++) {
        try {
          return await transaction(work, alone)
        } catch (error) {
          if (tries === TRIES_MAX || !isWorthAnotherTry(error)) throw error
        }
      }
    },
    close: () => pool.end(),
  }
}

function poolConfig({ url, bounds = POSTGRES_BOUNDS, isHot }: PostgresSqlOptions): PoolConfig {
  return {
    ...(isHot ? { pipeline: true, onConnect: client => client.query(BY_KEY_ONLY) } : {}),
    connectionString: url,
    application_name: 'turnpike',
    max: bounds.connectionsMax,
    connectionTimeoutMillis: bounds.connectTimeoutMs,
    idleTimeoutMillis: IDLE_CONNECTION_MS,
    keepAlive: true,
    lock_timeout: bounds.lockTimeoutMs,
    statement_timeout: bounds.statementTimeoutMs,
    idle_in_transaction_session_timeout: bounds.answerTimeoutMs,
    query_timeout: bounds.answerTimeoutMs,
    types: { getTypeParser: oid => (oid === INT8 ? BigInt : asItCame) },
  }
}

const INT8 = 20
// Text stays text; the few other numeric types that occur are sums, which the repositories read from text.
const asItCame = (value: string) => value

// A broken connection also emits an event, in addition to the error of its query. An unhandled event would end the process.
function listenForLoss(pool: Pool): void {
  const ignore = () => {}
  pool.on('error', ignore)
  pool.on('connect', client => client.on('error', ignore))
}

// A statement is planned once per connection. One planned while its tables were small scans all of them from then on, and that
// gets slower with every row. The partition of a key is determined when the statement runs; planning each time would cost more.
const BY_KEY_ONLY = `SET enable_seqscan = off; SET enable_hashjoin = off; SET enable_mergejoin = off; SET jit = off;
  SET plan_cache_mode = force_generic_plan`

function beginning(alone: Alone | undefined): string {
  const wait = alone === 'catalog' || alone === 'webhooks' ? '' : `SET LOCAL lock_timeout = ${UPKEEP_WAIT_MS};`
  const lock = alone === undefined ? '' : `${wait} SELECT pg_advisory_xact_lock(${lockOf(alone)});`
  return `BEGIN ISOLATION LEVEL READ COMMITTED; ${lock} SELECT ${DATABASE_TIME} AS now`
}

// Milliseconds since 1970 at this very moment, not at the start of the transaction.
export const DATABASE_TIME = 'floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint'

// Outside transactions the time is the database's last known one, advanced by our monotonic clock.
function databaseTime({ clock, databaseTime }: PostgresSqlOptions) {
  let ahead = clock.now() - clock.monotonic()
  return {
    heard(row: Row | undefined): number {
      const now = databaseTime?.() ?? Number(row?.now)
      ahead = now - clock.monotonic()
      return now
    },
    now: () => databaseTime?.() ?? Math.floor(clock.monotonic() + ahead),
  }
}

// Several statements in one text return a list of results.
function lastRow(result: QueryResult | readonly QueryResult[]): Row | undefined {
  const last = 'rows' in result ? result : result.at(-1)
  return last?.rows[0] as Row | undefined
}

function statementsOn(target: Pool | PoolClient) {
  const ask = (text: string, params: readonly Param[] = []) => target.query<Row>(text, params.map(storableParam))
  return {
    all: async (text: string, params?: readonly Param[]) => (await ask(text, params)).rows as readonly Row[],
    get: async (text: string, params?: readonly Param[]) => (await ask(text, params)).rows[0] as Row | undefined,
    run: async (text: string, params?: readonly Param[]) => (await ask(text, params)).rowCount ?? 0,
  }
}

// Postgres texts cannot contain NUL; a search for one finds nothing instead of failing.
function storableParam(value: Param): Param {
  return typeof value === 'string' && value.includes('\u0000') ? value.replaceAll('\u0000', '\ufffd') : value
}

// Classifies errors from Postgres: retry, blame a value of the batch, or discard the connection. By SQLSTATE, never by message,
// which is in the server's language.

// Postgres chose this transaction to give way (serialization, deadlock): nothing of it was done.
export function isWorthAnotherTry(error: unknown): boolean {
  const state = sqlState(error)
  return state === '40001' || state === '40P01'
}

// A value was refused (out of range, not a text, duplicate): the rest of the batch is not to blame.
export function isRefusedValue(error: unknown): boolean {
  return /^2[23]/.test(sqlState(error) ?? '')
}

// A lock was held for longer than this was willing to wait.
export function isLockTimeout(error: unknown): boolean {
  return sqlState(error) === '55P03'
}

// An error that the server did not report itself leaves the connection in doubt: it broke, or no answer came in time. The
// server's own shutdown codes (57P.., 25P03, 08...) and a server that has become read-only (25006) end it as well.
export function hasLostConnection(error: unknown): boolean {
  const state = sqlState(error)
  if (state === undefined) return isFromDriver(error)
  return /^(08|57P)/.test(state) || state === '25006' || state === '25P03'
}

// Neither the server nor the driver: one of the operations is at fault, and the others are not.
export function isOurOwn(error: unknown): boolean {
  return sqlState(error) === undefined && !isFromDriver(error)
}

function sqlState(error: unknown): string | undefined {
  const { code, severity } = error as { code?: unknown; severity?: unknown }
  return typeof code === 'string' && typeof severity === 'string' ? code : undefined
}

const DRIVER_WORDS =
  /^(Connection terminated|Query read timeout|timeout exceeded|Client (has encountered|was closed)|timeout expired|Received unexpected)/

function isFromDriver(error: unknown): boolean {
  const { code, message } = error as { code?: unknown; message?: unknown }
  return /^E[A-Z]+$/.test(String(code ?? '')) || DRIVER_WORDS.test(String(message ?? ''))
}
