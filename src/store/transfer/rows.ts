// Copies rows. Long tables are compared with the target page by page along the key, and only the difference is copied: an
// interrupted transfer, or one with concurrent writes, just continues. Short ones are written whole, in the last transaction.
import type { TransferTable } from './plan.ts'
import type { Key, Keyed, Range, TransferSource } from './source.ts'
import { copyLine, type TransferTarget } from './target.ts'

export type Ends = { readonly source: TransferSource; readonly target: TransferTarget }
// The number of further rows of this table that were compared, and of those written.
export type OnPage = (table: TransferTable, looked: number, copied: number) => void

const ROWS_A_PAGE = 5000
const NO_PARENT = '23503'

// While the gateway runs: settled rows that are missing in the target, one transaction per page.
export async function copyAhead(tables: readonly TransferTable[], ends: Ends, onPage: OnPage): Promise<void> {
  await copyParents(tables, ends)
  for (const table of tables.filter(({ role }) => role === 'ahead')) {
    for await (const page of differences(table, ends, true)) {
      const lines = linesOf(table, page, ends.source)
      await inTransaction(ends.target, () => ends.target.insert(table, lines)).catch(async error => {
        if ((error as { code?: string }).code !== NO_PARENT) throw error
        // An account that is newer than our copy of the accounts.
        await copyParents(tables, ends)
        await inTransaction(ends.target, () => ends.target.insert(table, lines))
      })
      onPage(table, page.looked, lines.length)
    }
  }
}

// Nobody writes to the source any more: everything is copied as it is, in the caller's transaction. Children of a row are deleted
// before it.
export async function copyRest(tables: readonly TransferTable[], ends: Ends, onPage: OnPage): Promise<void> {
  const { source, target } = ends
  const whole = (table: TransferTable) => Array.from(source.rows(table, EVERYTHING), copyLine)
  for (const table of tables.filter(({ role }) => role === 'parent')) await target.put(table, whole(table), 'update')
  for (const table of tables.filter(({ role }) => role === 'leaf')) {
    await target.empty(table)
    await target.insert(table, whole(table))
  }
  for (const table of tables.filter(({ role }) => role === 'ahead')) {
    for await (const page of differences(table, ends, false)) {
      await target.remove(table, page.surplus)
      const lines = linesOf(table, page, source)
      if (page.changed) await target.put(table, lines, 'update')
      else await target.insert(table, lines)
      onPage(table, page.looked, lines.length)
    }
  }
  for (const table of tables.filter(({ role }) => role === 'parent').reverse()) await target.removeOthers(table)
}

const EVERYTHING: Range = { after: undefined, upTo: undefined }

// Their balances are those of the moment and replaced at the end.
async function copyParents(tables: readonly TransferTable[], { source, target }: Ends): Promise<void> {
  for (const table of tables.filter(({ first }) => first)) {
    const lines = Array.from(source.rows(table, EVERYTHING), copyLine)
    await inTransaction(target, () => target.put(table, lines, 'keep'))
  }
}

async function inTransaction(target: TransferTarget, work: () => Promise<void>): Promise<void> {
  await target.begin()
  try {
    await work()
    await target.commit()
  } catch (error) {
    await target.rollback()
    throw error
  }
}

type Page = {
  readonly range: Range
  readonly looked: number
  readonly wanted: ReadonlySet<string>
  // One of them exists in another state.
  readonly changed: boolean
  readonly surplus: readonly Key[]
}

async function* differences(
  table: TransferTable,
  { source, target }: Ends,
  settledOnly: boolean,
): AsyncGenerator<Page> {
  for (let after: Key | undefined, isLast = false; !isLast; ) {
    const here = source.keys(table, after, ROWS_A_PAGE, settledOnly)
    isLast = here.length < ROWS_A_PAGE
    const range: Range = { after, upTo: isLast ? undefined : here.at(-1)?.key }
    yield difference(table, range, here, await target.keys(table, range))
    after = range.upTo
  }
}

function difference(table: TransferTable, range: Range, here: readonly Keyed[], there: readonly Keyed[]): Page {
  const marks = new Map(there.map(({ key, mark }) => [nameOf(key), mark]))
  const wanted = new Set<string>()
  let changed = false
  for (const { key, mark } of here) {
    const name = nameOf(key)
    const known = marks.get(name)
    if (known === undefined || known !== mark || mayChange(table, mark)) wanted.add(name)
    if (known !== undefined && wanted.has(name)) changed = true
    marks.delete(name)
  }
  const surplus = marks.size === 0 ? [] : there.filter(({ key }) => marks.has(nameOf(key))).map(({ key }) => key)
  return { range, looked: here.length, wanted, changed, surplus }
}

// A row that is not settled may have another checkpoint in the same state.
function mayChange(table: TransferTable, mark: string): boolean {
  return table.name === 'usage' && !mark.startsWith('settled ')
}

function linesOf(table: TransferTable, { range, wanted }: Page, source: TransferSource): readonly string[] {
  if (wanted.size === 0) return []
  const at = table.key.map(name => table.columns.findIndex(column => column.name === name))
  const lines: string[] = []
  for (const row of source.rows(table, range)) {
    if (wanted.has(nameOf(at.map(i => row[i] ?? null)))) lines.push(copyLine(row))
  }
  return lines
}

function nameOf(key: Key): string {
  return key.join('\n')
}
