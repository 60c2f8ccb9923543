// Transfers an installation from SQLite to Postgres. Most of it is copied while the gateway runs; the rest once it has stopped,
// in one transaction, which is compared with the source before it is committed and audited after. An interrupted transfer is
// resumed by the same command, and until the end neither side replaces the other. See docs/decisions/audit-and-transfer.md.
import { systemClock } from '../../lib/clock.ts'
import { auditDatabase } from '../audit/audit.ts'
import type { AuditReport } from '../audit/passes.ts'
import { auditPostgres } from '../audit/postgres.ts'
import { openPostgresSql, POSTGRES_BOUNDS } from '../postgres/sql.ts'
import { type DataDirLock, lockDataDir } from '../sqlite/lock.ts'
import { readMarker, type TransferMarker, writeMarker } from './marker.ts'
import { CannotTransfer, planTransfer, STAYS, sourceShape, type TransferTable } from './plan.ts'
import { copyAhead, copyRest, type Ends, type OnPage } from './rows.ts'
import { openTransferSource, sumNames, type TransferSource } from './source.ts'
import { claimTarget, type TransferTarget } from './target.ts'

export type TransferOptions = {
  readonly dir: string
  readonly url: string
  // The target's address, without the user.
  readonly to: string
  readonly newId: () => string
  // Called while a gateway runs on the source; false gives up for now.
  readonly wait: () => Promise<boolean>
  readonly tell: Tell
}

export type Stage =
  | 'audit the source'
  | 'copy ahead'
  | 'wait for the gateway'
  | 'copy the rest'
  | 'compare'
  | 'audit the target'
export type Tell = {
  stage(stage: Stage, rows: number): void
  readonly page: OnPage
}

export type Transferred = {
  readonly outcome: 'moved' | 'already moved' | 'copied ahead'
  readonly tables: readonly { readonly table: string; readonly rows: number }[]
}

// A page is written within seconds; the comparison at the end may take long.
const PATIENT_MS = 3_600_000
const BOUNDS = {
  ...POSTGRES_BOUNDS,
  connectionsMax: 1,
  connectTimeoutMs: 10_000,
  lockTimeoutMs: 10_000,
  statementTimeoutMs: PATIENT_MS,
  answerTimeoutMs: PATIENT_MS + 10_000,
}

export async function transferStore(options: TransferOptions): Promise<Transferred> {
  const source = openTransferSource(options.dir)
  try {
    const note = takeMarker(options)
    const sql = await openPostgresSql({ url: options.url, clock: systemClock, bounds: BOUNDS })
    try {
      return await sql.withClient(async client => {
        const names = Object.keys(sourceShape(source.db)).filter(name => !STAYS.includes(name))
        const target = await claimTarget(client, note.id, names)
        if (target.state === 'done') return alreadyThere(note)
        return transfer({ source, target }, await planTransfer(source.db, client), note, options)
      })
    } finally {
      await sql.close()
    }
  } finally {
    source.close()
  }
}

// The marker of an earlier run, or a new one. What was transferred elsewhere is not transferred again.
function takeMarker({ dir, to, newId }: TransferOptions): TransferMarker {
  const known = readMarker(dir)
  if (known?.state === 'moved' && known.to !== to) {
    throw new CannotTransfer(
      `${dir} was migrated to ${known.to} at ${known.at}; run with --undo to use and migrate it again`,
    )
  }
  if (known?.to === to) return known
  const note: TransferMarker = { id: known?.id ?? newId(), state: 'copying', to, at: timeNow() }
  writeMarker(dir, note)
  return note
}

function alreadyThere(note: TransferMarker): Transferred {
  if (note.state === 'moved') return { outcome: 'already moved', tables: [] }
  throw new CannotTransfer(
    'the target has this source from an earlier migration and may have been used since; use an empty database',
  )
}

async function transfer(
  ends: Ends,
  tables: readonly TransferTable[],
  note: TransferMarker,
  options: TransferOptions,
): Promise<Transferred> {
  const { dir, url, to, wait, tell } = options
  const { source, target } = ends
  // One that was interrupted at its very end has stopped its gateway already.
  tell.stage('audit the source', 0)
  refuseBroken('source', auditDatabase(databaseOf(source), { idle: false, now: systemClock.now() }))
  tell.stage('copy ahead', rowsAhead(tables, source))
  await copyAhead(tables, ends, tell.page)
  const lock = await lockWhenFree(dir, wait, () => copyAhead(tables, ends, () => {}))
  if (lock === undefined) return { outcome: 'copied ahead', tables: [] }
  try {
    await target.refuseRunning()
    source.applyJournal()
    await copyInOne(tables, ends, tell)
    await target.analyse(tables)
    tell.stage('audit the target', 0)
    refuseBroken('target', await auditPostgres(url, { idle: false, now: systemClock.now() }))
    // In this order: between the two neither side can be started, and the same command continues from here.
    writeMarker(dir, { ...note, state: 'moved', to, at: timeNow() })
    await target.finish()
    return { outcome: 'moved', tables: tables.map(table => ({ table: table.name, rows: source.count(table) })) }
  } finally {
    lock.release()
  }
}

async function copyInOne(tables: readonly TransferTable[], ends: Ends, tell: Tell): Promise<void> {
  const { source, target } = ends
  await target.begin()
  try {
    tell.stage('copy the rest', rowsAhead(tables, source))
    await copyRest(tables, ends, tell.page)
    tell.stage('compare', 0)
    for (const table of tables) await refuseDifferent(table, source, target)
    await target.commit()
  } catch (error) {
    await target.rollback()
    throw error
  }
}

async function refuseDifferent(table: TransferTable, source: TransferSource, target: TransferTarget): Promise<void> {
  const here = source.sums(table)
  const there = await target.sums(table)
  const at = here.findIndex((sum, i) => sum !== there[i])
  if (at < 0 && here.length === there.length) return
  throw new CannotTransfer(
    `the copy differs in ${table.name}, ${sumNames(table)[at]}: ${here[at]} in the source, ${there[at]} in the target; the source is unchanged`,
  )
}

// While waiting, newly settled rows continue to be copied, so that little is left for the end.
async function lockWhenFree(
  dir: string,
  wait: TransferOptions['wait'],
  catchUp: () => Promise<void>,
): Promise<DataDirLock | undefined> {
  for (;;) {
    const lock = lockDataDir(dir)
    if (lock !== 'taken') return lock
    if (!(await wait())) return undefined
    await catchUp()
  }
}

function refuseBroken(which: string, report: AuditReport): void {
  const broken = report.findings.filter(finding => finding.broken > 0).map(finding => finding.invariant)
  if (broken.length === 0) return
  throw new CannotTransfer(
    `the ${which} violates billing invariants (${broken.join(', ')}); run "turnpike audit" for details`,
  )
}

function rowsAhead(tables: readonly TransferTable[], source: TransferSource): number {
  return tables.filter(({ role }) => role === 'ahead').reduce((sum, table) => sum + source.count(table), 0)
}

function databaseOf(source: TransferSource): string {
  return source.db.location() ?? ''
}

function timeNow(): string {
  return new Date(systemClock.now()).toISOString()
}
