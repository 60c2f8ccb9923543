// `turnpike audit`: proves the invariants over the database and exits with 1 if one is broken.
import { join, resolve } from 'node:path'
import { styleText } from 'node:util'
import { loadDatabaseUrl, loadDataDir } from '../config.ts'
import { systemClock } from '../lib/clock.ts'
import { auditDatabase } from '../store/audit.ts'
import type { AuditOptions, AuditReport } from '../store/audit-passes.ts'
import { auditPostgres } from '../store/audit-postgres.ts'
import { DATABASE_FILE } from '../store/lock.ts'
import type { Command } from './command.ts'
import { progress } from './progress.ts'
import { printJson } from './table.ts'

export const commands: Readonly<Record<string, Command>> = {
  '': {
    usage: 'audit [FILE] [--idle]',
    about: 'Checks every invariant of the books, also beside a running gateway. Exit code 1 if one is broken.',
    options: { idle: { about: 'no request is in flight: nothing may be open or held' } },
    more: `FILE is a SQLite database or a backup; without it what DATABASE_URL names is read, or else ${DATABASE_FILE} in\nTURNPIKE_DATA_DIR.`,
    takes: [0, 1],
    async run(input) {
      const report = await watchedAudit(input.args[0], { idle: input.flag('idle'), now: systemClock.now() })
      if (input.json) printJson(report)
      else printReport(report)
      return report.ok ? 0 : 1
    },
  },
}

async function watchedAudit(file: string | undefined, options: AuditOptions): Promise<AuditReport> {
  const bar = progress('rows looked at')
  try {
    return await audit(file, { ...options, onProgress: bar.show })
  } finally {
    bar.end()
  }
}

async function audit(file: string | undefined, options: AuditOptions): Promise<AuditReport> {
  if (file !== undefined) return auditDatabase(resolve(file), options)
  const url = loadDatabaseUrl()
  return url === undefined ? auditDatabase(join(loadDataDir(), DATABASE_FILE), options) : auditPostgres(url, options)
}

function printReport(report: AuditReport): void {
  for (const { invariant, promise, checked, broken, examples } of report.findings) {
    const verdict = broken === 0 ? styleText('green', 'ok    ') : styleText('red', 'BROKEN')
    const count = broken === 0 ? `${checked} checked` : `${broken} broken, ${checked} checked`
    process.stdout.write(`${verdict}  ${invariant.padEnd(4)}  ${promise} (${count})\n`)
    for (const example of examples) process.stdout.write(`                ${example}\n`)
  }
}
