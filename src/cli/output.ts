// Prints tables and objects: aligned, coloured and fitted to a terminal; tab-separated and complete in a pipe; as CSV or as IDs on
// request.
import { styleText } from 'node:util'
import { systemClock } from '../lib/clock.ts'
import { csvRecord } from '../lib/csv.ts'
import { escapeUnseen } from '../lib/text.ts'
import { BadUsage, type Input } from './command.ts'
import { cut, GAP, type Kind, layOut, pad } from './layout.ts'
import { didYouMean } from './suggest.ts'

export type Cell = string | number | boolean | null | undefined

export type Column = {
  readonly name: string
  // The heading on a terminal, where the name is too long.
  readonly head?: string
  // In the order of importance: a terminal that is too narrow shows the first ones.
  readonly rank: number
  // Only with -o wide, -o csv and --columns.
  readonly isExtra?: boolean
}

export type Table = {
  readonly columns: readonly Column[]
  readonly rows: readonly Readonly<Record<string, Cell>>[]
  // The column that -q prints.
  readonly id?: string
}

type Shape = Pick<Input, 'format' | 'text' | 'flag'>

export function printJson(value: unknown): void {
  process.stdout.write(`${JSON.stringify(value, null, 2).split('\n').map(escapeUnseen).join('\n')}\n`)
}

export function printRows({ columns, rows, id = 'id' }: Table, input: Shape): void {
  const { stdout } = process
  if (input.flag('quiet')) {
    stdout.write(rows.map(row => `${clean(row[id])}\n`).join(''))
    return
  }
  const format = input.format ?? (stdout.isTTY ? 'table' : 'tsv')
  const all = format === 'wide' || format === 'csv'
  const chosen = chooseColumns(columns, input.text('columns'))
  const usual = columns.filter(column => all || column.isExtra !== true)
  // On a terminal the most important ones are first.
  const isAligned = format === 'table' || format === 'wide'
  const shown = chosen ?? (isAligned ? usual.toSorted((a, b) => a.rank - b.rank) : usual)
  const values = rows.map(row => shown.map(({ name }) => row[name]))
  const names = shown.map(({ name }) => name)
  if (format === 'csv') stdout.write([names, ...values].map(csvRecord).join(''))
  else if (format === 'tsv')
    stdout.write([names, ...values.map(row => row.map(clean))].map(row => `${row.join('\t')}\n`).join(''))
  else {
    const width = format === 'wide' ? undefined : (stdout.columns ?? 80)
    const left = printAligned(shown, values, chosen === undefined ? width : undefined)
    if (left > 0 && stdout.isTTY)
      process.stderr.write(styleText('dim', 'More columns: -o wide\n', { stream: process.stderr }))
  }
}

// A table with fixed columns.
export function printTable(heads: readonly string[], rows: readonly (readonly Cell[])[]): void {
  const columns = heads.map((name, rank) => ({ name, rank }))
  if (process.stdout.isTTY) printAligned(columns, rows, process.stdout.columns ?? 80)
  else process.stdout.write([heads, ...rows.map(row => row.map(clean))].map(row => `${row.join('\t')}\n`).join(''))
}

function chooseColumns(columns: readonly Column[], text: string | undefined): readonly Column[] | undefined {
  return text?.split(',').map(word => {
    const name = word.trim()
    const found = columns.find(column => column.name === name || column.head === name)
    if (found !== undefined) return found
    const known = columns.map(column => column.name)
    throw new BadUsage(`unknown column "${name}"${didYouMean(name, known)}\ncolumns: ${known.join(', ')}`)
  })
}

// Returns how many columns did not fit.
function printAligned(
  columns: readonly Column[],
  values: readonly (readonly Cell[])[],
  width: number | undefined,
): number {
  const cells = values.map(row => row.map((value, i) => display(columns[i]?.name ?? '', value)))
  const kinds = columns.map(({ name }, i) => kindOf(name, values, i))
  const laid = columns.map(({ name, head = name, rank }, i) => ({ head, rank, kind: kinds[i] ?? 'text' }))
  const { shown, widths } = layOut(laid, cells, width)
  const line = (row: readonly string[], style: (text: string, cell: string) => string) => {
    const parts = shown.map((column, i) => {
      const [cell, kind] = [row[column] ?? '', kinds[column] ?? 'text']
      return style(pad(cut(cell, widths[i] ?? 0), widths[i] ?? 0, kind), cell)
    })
    return `${parts.join(GAP).trimEnd()}\n`
  }
  const heads = laid.map(({ head }) => head)
  process.stdout.write(line(heads, text => styleText('bold', text)) + cells.map(row => line(row, coloured)).join(''))
  return columns.length - shown.length
}

export function printFields(fields: readonly (readonly [string, Cell])[]): void {
  const width = process.stdout.isTTY ? Math.max(...fields.map(([name]) => name.length)) + 2 : 0
  for (const [name, value] of fields) {
    const head = process.stdout.isTTY ? styleText('bold', name.padEnd(width)) : `${name}\t`
    const text = clean(value)
    process.stdout.write(`${head}${process.stdout.isTTY ? coloured(text, text) : text}\n`)
  }
}

function kindOf(name: string, values: readonly (readonly Cell[])[], column: number): Kind {
  const given = values.map(row => row[column]).filter(value => value !== null && value !== undefined && value !== '-')
  if (given.length > 0 && given.every(value => /^-?\d+(\.\d+)?$/.test(String(value)))) return 'number'
  if (name === 'id' || name.endsWith('_id') || isTime(name)) return 'whole'
  return given.some(value => WHOLE.test(String(value))) ? 'whole' : 'text'
}

// IDs and dates, wherever they are.
const WHOLE = /^(?:[a-z]{2,5}_[0-9a-f]{32}|[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]{22}|\d{4}-\d\d-\d\d(?:T\S+)?)$/

function isTime(name: string): boolean {
  return name === 'at' || /_(?:at|until|since)$/.test(name)
}

const ISO = /^(\d{4})-(\d{2}-\d{2})T(\d{2}:\d{2}):(\d{2})(?:\.\d+)?Z$/

// Times as short as possible, in UTC: the time of today, day and time of this year, or the date.
function display(name: string, value: Cell): string {
  const match = isTime(name) && typeof value === 'string' ? ISO.exec(value) : null
  if (match === null) return clean(value)
  const [, year, day, minute, second] = match
  const today = new Date(systemClock.now()).toISOString()
  if (today.startsWith(`${year}-${day}`)) return `${minute}:${second}Z`
  return today.startsWith(`${year}`) ? `${day} ${minute}Z` : `${year}-${day}`
}

const GOOD = ['active', 'admin', 'alive', 'closed', 'completed', 'delivered', 'ok', 'ready', 'settled']
const BAD = [
  'away',
  'fail',
  'failed',
  'open',
  'rejected',
  'revoked',
  'silent',
  'suspended',
  'upstream_broke',
  'upstream_failed',
]
const ODD = ['client_left', 'expired', 'half_open', 'inactive', 'recovered', 'refused', 'warn']

// Colours a cell by its value; styleText respects NO_COLOR and terminals without colours.
function coloured(text: string, cell: string): string {
  if (GOOD.includes(cell)) return styleText('green', text)
  if (BAD.includes(cell)) return styleText('red', text)
  // A limit or budget that is used up.
  const isStopped = /^out_of_|_reached$/.test(cell)
  return isStopped || ODD.includes(cell) ? styleText('yellow', text) : text
}

// Names come from operators and clients: what controls the terminal, or turns a line round, must not reach it.
export function clean(cell: Cell): string {
  return cell === null || cell === undefined ? '-' : escapeUnseen(String(cell))
}
