// Writes sums: which hour or day is to be made with which version, and many rows by few statements.
import { int, type Param, type Row, type Tx } from '../sql.ts'

export type Pending = { readonly at: number; readonly mark: number }

const SIZES = [128, 16, 1]

export function readPending(row: Row): Pending {
  return { at: int(row.at), mark: int(row.mark) }
}

// Statements are cached by their text, so there is one for each of a few sizes and not for every number of rows.
export async function insertAll(tx: Tx, into: string, values: readonly (readonly Param[])[]): Promise<void> {
  for (let i = 0; i < values.length; ) {
    const size = SIZES.find(each => each <= values.length - i) as number
    const chunk = values.slice(i, i + size)
    let next = 0
    const rows = chunk.map(row => `(${row.map(() => `$${++next}`).join(', ')})`)
    await tx.run(`INSERT INTO ${into} VALUES ${rows.join(', ')}`, chunk.flat())
    i += size
  }
}
