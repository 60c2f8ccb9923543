// Compares what callers saw and what the upstream produced with the store's rows: no row lost, nothing charged twice or
// without cause, nothing left open, and every cost equal to the one reported to its caller.
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import pg from 'pg'
import { auditDatabase } from '../../src/store/audit/audit.ts'
import type { AuditReport } from '../../src/store/audit/passes.ts'
import { auditPostgres } from '../../src/store/audit/postgres.ts'
import type { SeenResponse } from './load.ts'
import { until } from './until.ts'
import type { Upstream } from './upstream.ts'
import { credits } from './usage.ts'

export type Counts = { rows: number; whole: number; cut: number; recovered: number }

// The store's own rows, read without the gateway.
export type Ledger = AsyncDisposable & {
  audit(): Promise<AuditReport>
  rowsAfter(requestId: string): Promise<readonly BookedRow[]>
  find(requestIds: readonly string[]): Promise<readonly BookedRow[]>
  countOpen(): Promise<number>
}

export type BookedRow = {
  readonly request_id: string
  readonly endpoint: string
  readonly state: string
  readonly outcome: string
  readonly cost: bigint
  readonly attempts: string | null
}

export type ConsistencyChecker = {
  readonly counts: Counts
  // The endpoints of recovered rows.
  readonly recovered: ReadonlySet<string>
  // Call it when no request is in flight; rows of a dead process may still wait for their recovery.
  check(responses: readonly SeenResponse[]): Promise<void>
}

// `said`: what the gateways printed, for the report. The audit reads the whole ledger, so that it finds what an earlier round broke:
// one every few rounds is enough.
export function openConsistencyChecker(
  ledger: Ledger,
  upstream: Upstream,
  said: () => readonly string[],
  auditEvery = 1,
): ConsistencyChecker {
  const generations = new Map<string, number>()
  const counts: Counts = { rows: 0, whole: 0, cut: 0, recovered: 0 }
  const recovered = new Set<string>()
  let checkedUntil = ''
  let checks = 0

  function checkResponse({ requestId, status, cost }: SeenResponse, row: BookedRow | undefined): void {
    const told = row === undefined ? said().filter(line => line.includes(requestId)) : []
    assert.ok(row, `I6: a caller saw ${requestId} (${status}), which has no row\n${told.join('\n')}`)
    if (cost === undefined) counts.cut += 1
    else {
      counts.whole += 1
      assert.equal(row.state, 'settled', `I13: ${requestId} (${status}) was answered but is ${row.state}`)
      assert.equal(credits(row.cost), cost, `I13: ${requestId} (${status})`)
    }
  }

  function checkRow(row: BookedRow): void {
    const id = row.request_id
    const called = generations.get(id) ?? 0
    checkedUntil = id
    counts.rows += 1
    if (row.state === 'recovered') {
      counts.recovered += 1
      recovered.add(row.endpoint)
    }
    assert.notEqual(row.state, 'open', `I9: ${id}`)
    if (row.cost > 0n) assert.ok(called > 0, `I10: ${id} costs ${row.cost}, but the upstream never saw it`)
    if (row.outcome === 'completed') {
      const attempts = JSON.parse(row.attempts ?? '[]') as unknown[]
      assert.equal(attempts.length, called, `I11: ${id} has attempts ${row.attempts}, the upstream saw ${called}`)
    }
  }

  return {
    counts,
    recovered,
    async check(responses) {
      await until('no row is open', async () => (await ledger.countOpen()) === 0, 30_000)
      checks += 1
      if (checks % auditEvery === 0) {
        const report = await ledger.audit()
        assert.ok(report.ok, JSON.stringify(report.findings.filter(finding => finding.broken > 0)))
      }
      const fresh = upstream.journal.splice(0).map(entry => String(entry.requestId))
      for (const id of fresh) generations.set(id, (generations.get(id) ?? 0) + 1)

      const found = await ledger.find([...fresh, ...responses.map(({ requestId }) => requestId)])
      const rows = new Map(found.map(row => [row.request_id, row]))
      for (const response of responses) checkResponse(response, rows.get(response.requestId))
      for (const id of fresh) assert.ok(rows.has(id), `I11: the upstream was called for ${id}, which has no row`)
      for (const row of await ledger.rowsAfter(checkedUntil)) checkRow(row)
    },
  }
}

const COLUMNS = 'request_id, endpoint, state, outcome, cost, attempts'

export function sqliteLedger(dataDir: string): Ledger {
  const file = join(dataDir, 'turnpike.db')
  const db = new DatabaseSync(file, { readOnly: true, timeout: 5000, readBigInts: true })
  const after = db.prepare(`SELECT ${COLUMNS} FROM usage WHERE request_id > ? ORDER BY 1`)
  const one = db.prepare(`SELECT ${COLUMNS} FROM usage WHERE request_id = ?`)
  const open = db.prepare("SELECT count(*) AS n FROM usage WHERE state = 'open'")
  return {
    audit: async () => auditDatabase(file, { idle: true, now: Date.now() }),
    rowsAfter: async id => after.all(id) as BookedRow[],
    find: async ids => ids.flatMap(id => (one.get(id) as BookedRow | undefined) ?? []),
    countOpen: async () => Number(open.get()?.n),
    async [Symbol.asyncDispose]() {
      db.close()
    },
  }
}

export function postgresLedger(url: string): Ledger & { countMarked(): Promise<number> } {
  const types = { getTypeParser: (oid: number) => (oid === 20 ? BigInt : (text: string) => text) }
  const pool = new pg.Pool({ connectionString: url, max: 1, types })
  const ask = async (text: string, values: unknown[]) => (await pool.query<BookedRow>(text, values)).rows
  return {
    audit: () => auditPostgres(url, { idle: true, now: Date.now() }),
    rowsAfter: id => ask(`SELECT ${COLUMNS} FROM usage WHERE request_id > $1 ORDER BY 1`, [id]),
    find: ids => ask(`SELECT ${COLUMNS} FROM usage WHERE request_id = ANY($1)`, [ids]),
    countOpen: async () => (await ask("SELECT request_id FROM usage WHERE state = 'open'", [])).length,
    // Open rows that have a checkpoint.
    countMarked: async () =>
      (await ask("SELECT request_id FROM usage WHERE state = 'open' AND checkpoint IS NOT NULL", [])).length,
    [Symbol.asyncDispose]: () => pool.end(),
  }
}
