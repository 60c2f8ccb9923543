// Tells now and then how far an audit is: how many rows it has looked at, of about how many.
import type { Pass } from './tally.ts'

export type OnProgress = (rows: number, total: number) => void

// Nearly all of the rows there are to look at; counting them costs little beside looking at them.
export const ROWS_IN_ALL = 'SELECT (SELECT COUNT(*) FROM ledger) + (SELECT COUNT(*) FROM usage) AS total'

const EVERY_ROWS = 1000

export function watched(passes: readonly Pass[], total: unknown, onProgress: OnProgress): readonly Pass[] {
  let rows = 0
  return passes.map(pass => ({
    ...pass,
    look(row) {
      pass.look(row)
      if (++rows % EVERY_ROWS === 0) onProgress(rows, Number(total))
    },
  }))
}
