// Prints tables and objects: aligned, coloured and cut to the width of a terminal; tab-separated and complete in a pipe.
import { styleText } from 'node:util'

export type Cell = string | number | boolean | null | undefined

export function printJson(value: unknown): void {
  process.stdout.write(`${JSON.stringify(value, null, 2)}\n`)
}

export function printTable(heads: readonly string[], rows: readonly (readonly Cell[])[]): void {
  const cells = rows.map(row => row.map(clean))
  if (!process.stdout.isTTY) {
    process.stdout.write([heads, ...cells].map(row => `${row.join('\t')}\n`).join(''))
    return
  }
  const widths = fit(
    heads.map((head, column) => Math.max(head.length, ...cells.map(row => row[column]?.length ?? 0))),
    process.stdout.columns ?? 80,
    heads.map(isId),
  )
  const fill = (text: string, i: number) => (i === widths.length - 1 ? text : text.padEnd(widths[i] ?? 0))
  const line = (row: readonly string[], style: (text: string, cell: string) => string) =>
    row.map((cell, i) => style(fill(cut(cell, widths[i] ?? 0), i), cell)).join(GAP)
  const head = line(heads, text => styleText('bold', text))
  process.stdout.write(`${head}\n${cells.map(row => `${line(row, coloured)}\n`).join('')}`)
}

export function printFields(fields: readonly (readonly [string, Cell])[]): void {
  const width = process.stdout.isTTY ? Math.max(...fields.map(([name]) => name.length)) + 2 : 0
  for (const [name, value] of fields) {
    const head = process.stdout.isTTY ? styleText('bold', name.padEnd(width)) : `${name}\t`
    const text = clean(value)
    process.stdout.write(`${head}${process.stdout.isTTY ? coloured(text, text) : text}\n`)
  }
}

// Breaks lines at spaces; lines after the first are indented.
export function wrap(text: string, indent = 0): string {
  const lines = text.split('\n').flatMap(line => {
    const wrapped: string[] = []
    for (const word of line.split(' ')) {
      const last = wrapped.at(-1)
      if (last !== undefined && indent + last.length + 1 + word.length <= HELP_COLUMNS)
        wrapped[wrapped.length - 1] = `${last} ${word}`
      else wrapped.push(word)
    }
    return wrapped
  })
  return lines.join(`\n${' '.repeat(indent)}`)
}

const HELP_COLUMNS = 80
const GAP = '  '
const COLUMN_MIN = 6

// Shrinks the widest columns first, down to a minimum. IDs stay whole, so that they can be copied into the next command.
function fit(widths: readonly number[], columns: number, isFixed: readonly boolean[]): readonly number[] {
  const fitted = [...widths]
  let over = fitted.reduce((sum, width) => sum + width, GAP.length * (fitted.length - 1)) - columns
  for (; over > 0; over--) {
    const widest = fitted.indexOf(Math.max(...fitted.filter((_, column) => !isFixed[column])))
    if ((fitted[widest] ?? 0) <= COLUMN_MIN) break
    fitted[widest] = (fitted[widest] ?? 0) - 1
  }
  return fitted
}

function isId(head: string): boolean {
  return head === 'id' || head.endsWith('_id')
}

function cut(text: string, width: number): string {
  return text.length <= width ? text : `${text.slice(0, Math.max(width - 1, 0))}…`
}

const GOOD = ['active', 'admin', 'alive', 'closed', 'completed', 'ok', 'settled']
const BAD = ['away', 'open', 'revoked', 'silent', 'suspended', 'upstream_broke', 'upstream_failed']
const ODD = ['client_left', 'expired', 'half_open', 'inactive', 'recovered', 'refused']

// Colours a cell by its value; styleText respects NO_COLOR and terminals without colours.
function coloured(text: string, cell: string): string {
  if (GOOD.includes(cell)) return styleText('green', text)
  if (BAD.includes(cell)) return styleText('red', text)
  return ODD.includes(cell) ? styleText('yellow', text) : text
}

// Names come from operators and clients: control characters must not reach the terminal.
function clean(cell: Cell): string {
  return cell === null || cell === undefined ? '-' : String(cell).replace(/[\p{Cc}\p{Cf}]/gu, '�')
}
