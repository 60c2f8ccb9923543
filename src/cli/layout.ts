// Lays out a table for a terminal: columns are left out by priority until the rest fits, and only text is shortened. IDs, numbers
// and times are never cut, so that they can be copied into the next command.

export type Kind = 'text' | 'number' | 'whole'

export type LayoutColumn = {
  readonly head: string
  readonly kind: Kind
  // The column with the highest rank is left out first; the first one stays.
  readonly rank: number
}

export type Layout = {
  // The numbers of the columns that are shown, in their order.
  readonly shown: readonly number[]
  readonly widths: readonly number[]
}

export const GAP = '  '
const TEXT_MIN = 12

// Without a width, everything is shown in full.
export function layOut(
  columns: readonly LayoutColumn[],
  rows: readonly (readonly string[])[],
  width: number | undefined,
): Layout {
  const natural = columns.map(({ head }, i) =>
    rows.reduce((max, row) => Math.max(max, widthOf(row[i] ?? '')), widthOf(head)),
  )
  let shown = columns.map((_, i) => i)
  if (width === undefined) return { shown, widths: natural }
  const least = (i: number) =>
    columns[i]?.kind === 'text'
      ? Math.min(natural[i] ?? 0, Math.max(TEXT_MIN, widthOf(columns[i].head)))
      : (natural[i] ?? 0)
  const needed = () => shown.reduce((sum, i) => sum + least(i), GAP.length * (shown.length - 1))
  while (shown.length > 1 && needed() > width) {
    const last = shown.reduce((a, b) => ((columns[b]?.rank ?? 0) > (columns[a]?.rank ?? 0) ? b : a))
    shown = shown.filter(i => i !== last)
  }
  return {
    shown,
    widths: shrink(
      shown.map(i => natural[i] ?? 0),
      shown.map(least),
      width,
    ),
  }
}

// The widest column gives way first.
function shrink(widths: number[], least: readonly number[], width: number): readonly number[] {
  let over = widths.reduce((sum, each) => sum + each, GAP.length * (widths.length - 1)) - width
  for (; over > 0; over--) {
    const spare = widths.map((each, i) => (each > (least[i] ?? 0) ? each : 0))
    const widest = spare.indexOf(Math.max(...spare))
    if ((spare[widest] ?? 0) === 0) break
    widths[widest] = (widths[widest] ?? 0) - 1
  }
  return widths
}

const WIDE =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{1f300}-\u{1faff}\u{20000}-\u{3fffd}]/u
const NARROW = /^[\x20-\x7e]*$/

// The number of terminal cells: East Asian characters and emoji take two, combining marks none.
export function widthOf(text: string): number {
  if (NARROW.test(text)) return text.length
  let cells = 0
  for (const char of text) cells += /\p{M}/u.test(char) ? 0 : WIDE.test(char) ? 2 : 1
  return cells
}

export function cut(text: string, width: number): string {
  if (widthOf(text) <= width) return text
  let [kept, cells] = ['', 0]
  for (const char of text) {
    cells += widthOf(char)
    if (cells > width - 1) break
    kept += char
  }
  return `${kept}…`
}

export function pad(text: string, width: number, kind: Kind): string {
  const blank = ' '.repeat(Math.max(0, width - widthOf(text)))
  return kind === 'number' ? blank + text : text + blank
}
