// `turnpike audit`: checks the billing invariants of the database.
import { createReadStream, statSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { pipeline, type Readable } from 'node:stream'
import { styleText } from 'node:util'
import { createGunzip } from 'node:zlib'
import { loadDatabaseUrl, loadDataDir } from '../../config/command-env.ts'
import { systemClock } from '../../lib/clock.ts'
import { auditDatabase } from '../../store/audit/audit.ts'
import { auditLog, type LogReport, type RowLookup, withPostgresRows, withSqliteRows } from '../../store/audit/log.ts'
import type { AuditOptions, AuditReport } from '../../store/audit/passes.ts'
import { auditPostgres } from '../../store/audit/postgres.ts'
import { DATABASE_FILE } from '../../store/sqlite/lock.ts'
import { BadUsage, type Command } from '../command.ts'
import { printJson } from '../output.ts'
import { progress } from '../progress.ts'

export const commands: Readonly<Record<string, Command>> = {
  '': {
    usage: 'audit [FILE] [--idle] [--log FILE]',
    about: 'Checks every billing invariant; safe while the gateway is running.\nExits with 1 if one is violated.',
    examples: [
      'turnpike audit',
      'turnpike audit backup.db',
      'turnpike audit --idle --log gateway.log --log older.log.gz',
    ],
    options: {
      idle: { about: 'also require that no row is open and nothing is held' },
      log: { value: 'FILE', multiple: true, about: 'compare the costs in this log with the usage rows; repeatable' },
    },
    more: `FILE is a SQLite database or a backup. Default: the database at DATABASE_URL, otherwise ${DATABASE_FILE} in TURNPIKE_DATA_DIR.

--log takes the standard output of the gateway (one JSON object per line), plain or gzipped, or - for standard input. Exits with 1 if a cost in the log differs from the usage row, or if the log has no requests. Unreadable lines are counted and skipped.`,
    takes: [0, 1],
    async run(input) {
      const files = input.texts('log') ?? []
      refuseMissing(files)
      const source = sourceOf(input.args[0])
      const report = await watchedAudit(source, { idle: input.flag('idle'), now: systemClock.now() })
      const log = files.length === 0 ? undefined : await compareLog(source, files)
      const ok = report.ok && (log === undefined || isGood(log))
      if (input.json) printJson({ ...report, ok, ...(log === undefined ? {} : { log }) })
      else {
        printReport(report)
        if (log !== undefined) printLog(log)
      }
      return ok ? 0 : 1
    },
  },
}

type Source = { readonly path: string } | { readonly url: string }

function sourceOf(file: string | undefined): Source {
  if (file !== undefined) return { path: resolve(file) }
  const url = loadDatabaseUrl()
  return url === undefined ? { path: join(loadDataDir(), DATABASE_FILE) } : { url }
}

async function watchedAudit(source: Source, options: AuditOptions): Promise<AuditReport> {
  const bar = progress('rows checked')
  try {
    return await audit(source, { ...options, onProgress: bar.show })
  } finally {
    bar.end()
  }
}

async function audit(source: Source, options: AuditOptions): Promise<AuditReport> {
  return 'path' in source ? auditDatabase(source.path, options) : auditPostgres(source.url, options)
}

function compareLog(source: Source, files: readonly string[]): Promise<LogReport> {
  const compare = (rows: RowLookup) => auditLog(journalLines(files), rows)
  return 'path' in source ? withSqliteRows(source.path, compare) : withPostgresRows(source.url, compare)
}

function printReport(report: AuditReport): void {
  for (const { invariant, promise, checked, broken, examples } of report.findings) {
    const verdict = broken === 0 ? styleText('green', 'ok    ') : styleText('red', 'BROKEN')
    const count = broken === 0 ? `${checked} checked` : `${broken} violations, ${checked} checked`
    process.stdout.write(`${verdict}  ${invariant.padEnd(6)}  ${promise} (${count})\n`)
    for (const example of examples) process.stdout.write(`                  ${example}\n`)
  }
}

// A log without requests is probably the wrong file.
function isGood({ disagreeing, compared, expired }: LogReport): boolean {
  return disagreeing === 0 && compared + expired > 0
}

function printLog(report: LogReport): void {
  const { lines, compared, unreadable, expired, disagreeing, examples } = report
  const verdict = isGood(report) ? styleText('green', 'ok    ') : styleText('red', 'BROKEN')
  const skipped = [
    ...(expired === 0 ? [] : [`${expired} past retention`]),
    ...(unreadable === 0 ? [] : [`${unreadable} unreadable`]),
  ]
  const count = [`${compared} compared of ${lines} lines`, ...skipped].join(', ')
  const broken = isGood(report) ? '' : disagreeing > 0 ? `${disagreeing} differ, ` : 'no requests found, '
  process.stdout.write(`${verdict}  log     logged costs match the usage rows (${broken}${count})\n`)
  for (const example of examples) process.stdout.write(`                  ${example}\n`)
  if (disagreeing > examples.length)
    process.stdout.write(`                  and ${disagreeing - examples.length} more\n`)
}

// Reads the log files of `turnpike audit --log`: plain, gzipped, or standard input.
const STDIN = '-'
// Longer than any line that the gateway writes.
const LINE_BYTES_MAX = 1024 * 1024

// Checked before the audit, which may take a while.
function refuseMissing(files: readonly string[]): void {
  if (files.filter(file => file === STDIN).length > 1) throw new BadUsage('--log - can be given only once')
  for (const file of files) {
    const found = file === STDIN ? undefined : statSync(file, { throwIfNoEntry: false })
    if (file !== STDIN && found === undefined) throw new BadUsage(`--log: file not found: ${file}`)
    if (found?.isDirectory()) throw new BadUsage(`--log: ${file} is a directory`)
  }
}

async function* journalLines(files: readonly string[]): AsyncGenerator<string | undefined> {
  for (const file of files) {
    try {
      yield* readLines(openJournal(file), LINE_BYTES_MAX)
    } catch (error) {
      throw new BadUsage(`--log: cannot read ${file}: ${(error as Error).message}`)
    }
  }
}

function openJournal(file: string) {
  if (file === STDIN) return process.stdin
  const bytes = createReadStream(file)
  // Errors of both streams are thrown where the lines are read.
  return file.endsWith('.gz') ? pipeline(bytes, createGunzip(), () => undefined) : bytes
}

// Reads the lines of a stream in bounded memory: a line that is too long is skipped to its end and reported as undefined.
const NEWLINE = 0x0a

async function* readLines(from: Readable, lineBytesMax: number): AsyncGenerator<string | undefined> {
  let rest: Buffer[] = []
  let restBytes = 0
  for await (const chunk of from as AsyncIterable<Buffer>) {
    let begin = 0
    for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, begin)) {
      yield lineOf(chunk.subarray(begin, end))
      begin = end + 1
    }
    const left = chunk.subarray(begin)
    restBytes += left.length
    // Beyond the bound only the length is kept.
    if (restBytes <= lineBytesMax) rest.push(left)
    else rest = []
  }
  if (restBytes > 0) yield lineOf(Buffer.alloc(0))

  function lineOf(last: Buffer): string | undefined {
    const bytes = restBytes + last.length
    const line = bytes > lineBytesMax ? undefined : Buffer.concat([...rest, last]).toString()
    rest = []
    restBytes = 0
    return line
  }
}
