// In addition to the sums of an hour: its totals, from which a series over many hours is made, and the names of models that are
// not offered, which lists search for. Both follow the sums and have the version that those were made with.
import { HOUR_MS } from '../../../domain/usage.ts'
import { conditions } from '../conditions.ts'
import { type Row, type Sql, text } from '../sql.ts'
import { addTimeRange } from '../time-order.ts'
import { insertAll, type Pending, readPending, SUM_COLUMNS } from './hour-columns.ts'

export type Totals = { readonly rows: readonly Row[]; readonly names: readonly string[] }

// Callers may send a new name with every request. Beyond this number, the hour only records that there were too many.
export const NAMES_MAX = 1000
export const TOO_MANY = ''

// Hours with sums whose totals are missing or of other sums.
export const WITHOUT_TOTALS = `SELECT r.hour AS at, r.rolled_mark AS mark FROM usage_rolled r
  LEFT JOIN usage_rolled_total t ON t.hour = r.hour WHERE r.rolled_mark > 0 AND (t.mark IS NULL OR t.mark <> r.rolled_mark)`

const TOTAL_COLUMNS = ['endpoint', 'outcome', ...SUM_COLUMNS] as const

export function sqlTotals(sql: Sql) {
  let hasCaughtUp = false
  return {
    // All hours are checked only at first, and where sums have changed.
    async pendingTotals(max: number, hasChanged: boolean): Promise<readonly Pending[]> {
      if (hasCaughtUp && !hasChanged) return []
      const rows = await sql.all(`${WITHOUT_TOTALS} ORDER BY r.hour DESC LIMIT $1`, [max])
      hasCaughtUp = rows.length < max
      return rows.map(readPending)
    },

    async totals(hour: number): Promise<Totals> {
      const sums = SUM_COLUMNS.map(name => `SUM(${name}) AS ${name}`)
      return {
        rows: await sql.all(
          `SELECT endpoint, outcome, ${sums.join(', ')} FROM usage_hour WHERE hour = $1 GROUP BY endpoint, outcome`,
          [hour],
        ),
        names: await unknownNames(hour),
      }
    },

    async writeTotals({ at, mark }: Pending, { rows, names }: Totals): Promise<boolean> {
      return sql.transaction(async tx => {
        const taken = await tx.run(
          `INSERT INTO usage_rolled_total (hour, mark) SELECT hour, rolled_mark FROM usage_rolled
           WHERE hour = $1 AND rolled_mark = $2 ON CONFLICT (hour) DO UPDATE SET mark = $2`,
          [at, mark],
        )
        if (taken === 0) return false
        await tx.run('DELETE FROM usage_hour_total WHERE hour = $1', [at])
        await tx.run('DELETE FROM usage_hour_unknown WHERE hour = $1', [at])
        const values = rows.map(row => [at, ...TOTAL_COLUMNS.map(name => row[name] ?? null)])
        await insertAll(tx, `usage_hour_total (hour, ${TOTAL_COLUMNS.join(', ')})`, values)
        const unknown = names.map(name => [at, name])
        await insertAll(tx, 'usage_hour_unknown (hour, model)', unknown)
        return true
      })
    },
  }

  async function unknownNames(hour: number): Promise<readonly string[]> {
    const asked = conditions()
    addTimeRange(asked, hour * HOUR_MS, (hour + 1) * HOUR_MS)
    const rows = await sql.all(
      `SELECT DISTINCT model_requested AS name FROM usage ${asked.where()} AND error_code = 'model_not_found'
         AND model_requested <> '' LIMIT ${NAMES_MAX + 1}`,
      asked.params,
    )
    return rows.length > NAMES_MAX ? [TOO_MANY] : rows.map(row => text(row.name))
  }
}
