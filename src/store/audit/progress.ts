// Reports the progress of an audit: how many rows it has checked, of about how many.
import type { Pass } from './tally.ts'

export type OnProgress = (rows: number, total: number) => void

// Nearly all of the rows to check; counting them is cheap compared with checking them.
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
