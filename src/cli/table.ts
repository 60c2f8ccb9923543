// Prints lists and single things: aligned on a terminal, tab-separated in a pipe, so that cut and awk can read them.
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
  const widths = heads.map((head, column) => Math.max(head.length, ...cells.map(row => row[column]?.length ?? 0)))
  const line = (row: readonly string[]) =>
    row
      .map((cell, i) => cell.padEnd(widths[i] ?? 0))
      .join('  ')
      .trimEnd()
  process.stdout.write(`${styleText('bold', line(heads))}\n${cells.map(row => `${line(row)}\n`).join('')}`)
}

export function printFields(fields: readonly (readonly [string, Cell])[]): void {
  const width = process.stdout.isTTY ? Math.max(...fields.map(([name]) => name.length)) + 2 : 0
  for (const [name, value] of fields) {
    const head = process.stdout.isTTY ? styleText('bold', name.padEnd(width)) : `${name}\t`
    process.stdout.write(`${head}${clean(value)}\n`)
  }
}

// Names come from operators and callers: nothing in them may steer the terminal or break a line.
function clean(cell: Cell): string {
  return cell === null || cell === undefined ? '-' : String(cell).replace(/[\p{Cc}\p{Cf}]/gu, '�')
}
