// `turnpike migrate`: transfers an installation from SQLite to Postgres, most of it while the gateway runs, and prints the
// settings for the new nodes.
import { randomUUIDv7 } from 'node:crypto'
import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { loadDatabaseUrl } from '../../config/config.ts'
import { lockDataDir } from '../../store/sqlite/lock.ts'
import { undoMoveNote } from '../../store/transfer/marker.ts'
import { type Moved, moveStore } from '../../store/transfer/transfer.ts'
import { BadUsage, type Command, Failed, type Input } from '../command.ts'
import { printFields, printJson } from '../output.ts'
import { lineFromStdin } from '../stdin.ts'
import { openProgress } from './migrate-progress.ts'

const URL_CHARS_MAX = 4096
const LOOK_AGAIN_MS = 1000
const KEY_FILE = 'encryption.key'

export const commands: Readonly<Record<string, Command>> = {
  '': {
    usage: 'migrate --from sqlite:DIR [--to postgres://…] [--wait]',
    about: 'Moves an installation from SQLite to an empty Postgres. Run it again whenever it was cut short.',
    options: {
      from: { value: 'sqlite:DIR', about: 'the data directory that is moved' },
      to: { value: 'URL', about: 'where to, without a password; without it what DATABASE_URL says' },
      'to-stdin': { about: 'read the address from stdin' },
      wait: { about: 'wait until the gateway on DIR has stopped, then finish' },
      undo: { about: 'let a gateway start on DIR again; what was booked on Postgres since is not there' },
    },
    more: `An address with a password comes in DATABASE_URL or on stdin; in --to it is refused, since every user of the machine can
read arguments.
While the gateway runs, all that is settled is copied; nothing is locked. Then stop it: the rest is copied, everything is
compared and audited, and DIR is marked, so that no gateway starts on it by accident. Connect to Postgres itself, not to
PgBouncer in transaction mode.`,
    async run(input) {
      const dir = sourceDir(input)
      return input.flag('undo') ? undo(dir, input) : migrate(dir, await targetUrl(input), input)
    },
  },
}

function sourceDir(input: Input): string {
  const from = input.text('from')
  if (from === undefined) throw new BadUsage('say what is moved: --from sqlite:DIR')
  const match = /^sqlite:(?!\/\/)(.+)$/.exec(from)
  if (match?.[1] === undefined) throw new BadUsage('--from must be sqlite:DIR, for example sqlite:./data')
  return resolve(match[1])
}

async function targetUrl(input: Input): Promise<string> {
  const given = input.text('to')
  if (given !== undefined && input.flag('to-stdin')) throw new BadUsage('the address is either in --to or on stdin')
  const url = input.flag('to-stdin') ? await lineFromStdin(URL_CHARS_MAX) : (given ?? loadDatabaseUrl())
  if (url === undefined || url === '') throw new BadUsage('say where to: --to postgres://…, DATABASE_URL or --to-stdin')
  // Nothing of it is repeated: it may contain a password.
  const address = URL.parse(url)
  if (address === null || !/^postgres(ql)?:$/.test(address.protocol)) {
    throw new BadUsage('the target must be a postgres:// address')
  }
  if (given !== undefined && (address.password !== '' || address.searchParams.has('password'))) {
    throw new BadUsage(
      'a password in --to can be read by every user of the machine: give the address by DATABASE_URL or --to-stdin',
    )
  }
  if ([address.username, address.password, address.hostname, address.pathname].some(part => !isEncoded(part))) {
    throw new BadUsage('the target has a % that encodes nothing: write %25 for it')
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
      progress.say(`Everything settled is copied. Now stop the gateway on ${dir}; the rest follows at once.`)
    }
    isWaiting = true
    await setTimeout(LOOK_AGAIN_MS)
    return true
  }
  try {
    const moved = await moveStore({ dir, url, to, newId: randomUUIDv7, wait, tell: progress })
    progress.end()
    return report(moved, dir, to, input)
  } catch (error) {
    progress.end()
    throw new Failed(withoutPassword(error instanceof Error ? error.message : String(error)))
  }
}

function report({ outcome, tables }: Moved, dir: string, to: string, input: Input): number {
  const next = nextSteps(dir)
  const rows = tables.reduce((sum, table) => sum + table.rows, 0)
  if (outcome === 'copied ahead') {
    if (input.json) printJson({ ok: false, outcome: 'copied_ahead', from: dir, to })
    throw new Failed(
      `a gateway is running on ${dir}. What is settled is copied; stop the gateway and run this again to finish, or use --wait`,
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

// The settings that the nodes need, by name; the values are not printed.
function nextSteps(dir: string): readonly string[] {
  const keyFile = join(dir, KEY_FILE)
  const key = existsSync(keyFile)
    ? `TURNPIKE_ENCRYPTION_KEY to the content of ${keyFile} (stored credentials are sealed with it)`
    : 'TURNPIKE_ENCRYPTION_KEY to the value that the gateway had before'
  return [
    `On every node set DATABASE_URL to the target, ${key}, and TURNPIKE_ADMIN_TOKEN to one and the same token.`,
    'Start the nodes. Keys, balances, rows and the catalog are as they were.',
    `Keep ${dir} until you are sure: turnpike migrate --undo --from sqlite:${dir} lets a gateway start on it again.`,
  ]
}

function undo(dir: string, input: Input): number {
  for (const other of ['to', 'to-stdin', 'wait']) {
    if (input.flag(other) || input.text(other) !== undefined) throw new BadUsage(`--undo takes no --${other}`)
  }
  if (!existsSync(dir)) throw new Failed(`there is no directory ${dir}`)
  const lock = lockDataDir(dir)
  if (lock === 'taken') throw new Failed(`another process is using ${dir}`)
  try {
    const note = undoMoveNote(dir)
    if (note === undefined) throw new Failed(`${dir} is not marked as moved; nothing was changed`)
    if (input.json) printJson({ ok: true, outcome: 'undone', from: dir, to: note.to })
    else printFields([['undone', `a gateway may start on ${dir} again; what was booked on ${note.to} is not there`]])
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

// By the form of an address and not by the password itself: a short one would be cut out of other words, and the gaps would
// reveal it.
function withoutPassword(text: string): string {
  return text.replace(/\S+/g, withoutCredentials).replace(/([?&]password=)[^&\s]*/gi, '$1…')
}

// From the first address to the last @, since a password may contain one.
function withoutCredentials(word: string): string {
  const address = /postgres(?:ql)?:\/\//i.exec(word)
  const from = address === null ? Number.POSITIVE_INFINITY : address.index + address[0].length
  const at = word.lastIndexOf('@')
  return at < from ? word : `${word.slice(0, from)}…${word.slice(at)}`
}
