// `turnpike migrate`: migrates an installation from SQLite to Postgres, mostly while the gateway is running, and prints the
// settings of the new nodes.
import { randomUUIDv7 } from 'node:crypto'
import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { loadDatabaseUrl } from '../../config/command-env.ts'
import { KEY_FILE } from '../../config/installation-key.ts'
import { lockDataDir } from '../../store/sqlite/lock.ts'
import { removeMarker } from '../../store/transfer/marker.ts'
import { type Transferred, transferStore } from '../../store/transfer/transfer.ts'
import { BadUsage, type Command, Failed, type Input } from '../command.ts'
import { printFields, printJson } from '../output.ts'
import { openProgress } from '../progress.ts'
import { lineFromStdin } from '../stdin.ts'

const URL_CHARS_MAX = 4096
const RETRY_MS = 1000

export const commands: Readonly<Record<string, Command>> = {
  '': {
    usage: 'migrate --from sqlite:DIR [--to postgres://…] [--wait]',
    about: 'Migrates an installation from SQLite to an empty Postgres database. If interrupted, run it again.',
    examples: ['DATABASE_URL=postgres://… turnpike migrate --from sqlite:./data --wait'],
    options: {
      from: { value: 'sqlite:DIR', about: 'data directory to migrate' },
      to: { value: 'URL', about: 'target, without a password (default: DATABASE_URL)' },
      'to-stdin': { about: 'read the target URL from stdin' },
      wait: { about: 'wait for the gateway on DIR to stop, then finish' },
      undo: { about: 'allow a gateway to start on DIR again, without the data written to Postgres since' },
    },
    more: `Pass a URL with a password in DATABASE_URL or on stdin. --to does not accept passwords, because every user of the machine can see arguments.

While the gateway is running, settled data is copied without locking. Then stop the gateway: the rest is copied, compared and audited, and DIR is marked so that no gateway starts on it by accident.

Connect to Postgres directly, not to PgBouncer in transaction mode.`,
    async run(input) {
      const dir = sourceDir(input)
      return input.flag('undo') ? undo(dir, input) : migrate(dir, await targetUrl(input), input)
    },
  },
}

function sourceDir(input: Input): string {
  const from = input.text('from')
  if (from === undefined) throw new BadUsage('--from sqlite:DIR is required')
  const match = /^sqlite:(?!\/\/)(.+)$/.exec(from)
  if (match?.[1] === undefined) throw new BadUsage('--from must be sqlite:DIR, for example sqlite:./data')
  return resolve(match[1])
}

async function targetUrl(input: Input): Promise<string> {
  const given = input.text('to')
  if (given !== undefined && input.flag('to-stdin')) throw new BadUsage('--to and --to-stdin cannot be combined')
  const url = input.flag('to-stdin') ? await lineFromStdin(URL_CHARS_MAX) : (given ?? loadDatabaseUrl())
  if (url === undefined || url === '')
    throw new BadUsage('no target; use --to postgres://…, DATABASE_URL or --to-stdin')
  // Never echoed, because it may contain a password.
  const address = URL.parse(url)
  if (address === null || !/^postgres(ql)?:$/.test(address.protocol)) {
    throw new BadUsage('the target must be a postgres:// URL')
  }
  if (given !== undefined && (address.password !== '' || address.searchParams.has('password'))) {
    throw new BadUsage(
      '--to does not accept a password, because every user of the machine can see arguments; use DATABASE_URL or --to-stdin',
    )
  }
  if ([address.username, address.password, address.hostname, address.pathname].some(part => !isEncoded(part))) {
    throw new BadUsage('the target URL has an invalid percent-encoding; write % as %25')
  }
  return url
}

function isEncoded(text: string): boolean {
  try {
    decodeURIComponent(text)
    return true
  } catch {
    return false
  }
}

async function migrate(dir: string, url: string, input: Input): Promise<number> {
  const progress = openProgress(process.stderr, input.json)
  const to = placeOf(url)
  let isWaiting = false
  async function wait(): Promise<boolean> {
    if (!input.flag('wait')) return false
    if (!isWaiting) {
      progress.stage('wait for the gateway', 0)
      progress.say(`All settled data is copied. Stop the gateway on ${dir} to finish the migration.`)
    }
    isWaiting = true
    await setTimeout(RETRY_MS)
    return true
  }
  try {
    const transferred = await transferStore({ dir, url, to, newId: randomUUIDv7, wait, tell: progress })
    progress.end()
    return report(transferred, dir, to, input)
  } catch (error) {
    progress.end()
    throw new Failed(withoutPassword(error instanceof Error ? error.message : String(error)))
  }
}

function report({ outcome, tables }: Transferred, dir: string, to: string, input: Input): number {
  const next = nextSteps(dir)
  const rows = tables.reduce((sum, table) => sum + table.rows, 0)
  if (outcome === 'copied ahead') {
    if (input.json) printJson({ ok: false, outcome: 'copied_ahead', from: dir, to })
    throw new Failed(
      `a gateway is running on ${dir}. Settled data is copied; to finish, stop the gateway and run this command again, or use --wait`,
    )
  }
  if (input.json) {
    printJson({ ok: true, outcome: outcome.replace(' ', '_'), from: dir, to, rows, tables, next })
    return 0
  }
  printFields([[outcome, `${dir} → ${to}`], ...(tables.length > 0 ? [['rows', rows] as const] : [])])
  for (const { table, rows } of tables) printFields([[`  ${table}`, rows]])
  process.stdout.write(`\n${next.map((step, i) => `${i + 1}. ${step}\n`).join('')}`)
  return 0
}

// Names the settings of the new nodes; secret values are not printed.
function nextSteps(dir: string): readonly string[] {
  const keyFile = join(dir, KEY_FILE)
  const key = existsSync(keyFile)
    ? `TURNPIKE_ENCRYPTION_KEY to the content of ${keyFile} (it encrypts the stored credentials)`
    : 'TURNPIKE_ENCRYPTION_KEY to its current value'
  return [
    `On every node, set DATABASE_URL to the target, ${key}, and TURNPIKE_ADMIN_TOKEN to the same token.`,
    'Start the nodes. Keys, balances, usage rows and the catalog are unchanged.',
    `Keep ${dir} as a fallback: "turnpike migrate --undo --from sqlite:${dir}" allows a gateway to start on it again.`,
  ]
}

function undo(dir: string, input: Input): number {
  for (const other of ['to', 'to-stdin', 'wait']) {
    if (input.flag(other) || input.text(other) !== undefined)
      throw new BadUsage(`--undo cannot be combined with --${other}`)
  }
  if (!existsSync(dir)) throw new Failed(`directory not found: ${dir}`)
  const lock = lockDataDir(dir)
  if (lock === 'taken') throw new Failed(`another process is using ${dir}`)
  try {
    const note = removeMarker(dir)
    if (note === undefined) throw new Failed(`${dir} is not marked as migrated; nothing was changed`)
    if (input.json) printJson({ ok: true, outcome: 'undone', from: dir, to: note.to })
    else
      printFields([
        [
          'undone',
          `a gateway can start on ${dir} again; data written to ${note.to} since the migration is not included`,
        ],
      ])
  } finally {
    lock.release()
  }
  return 0
}

// Host and database only.
function placeOf(url: string): string {
  const { hostname, port, pathname, searchParams } = new URL(url)
  const host = searchParams.get('host') ?? hostname
  return `${host || 'localhost'}${port === '' ? '' : `:${port}`}${pathname === '' ? '' : decodeURIComponent(pathname)}`
}

// Matches the form of a URL instead of the password itself: a short password would also be cut out of other words, which would
// reveal it.
function withoutPassword(text: string): string {
  return text.replace(/\S+/g, withoutCredentials).replace(/([?&]password=)[^&\s]*/gi, '$1…')
}

// From the scheme to the last @, because a password may contain one.
function withoutCredentials(word: string): string {
  const address = /postgres(?:ql)?:\/\//i.exec(word)
  const from = address === null ? Number.POSITIVE_INFINITY : address.index + address[0].length
  const at = word.lastIndexOf('@')
  return at < from ? word : `${word.slice(0, from)}…${word.slice(at)}`
}
