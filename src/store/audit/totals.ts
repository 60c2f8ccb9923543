// Checks the totals and names that accompany the sums of an hour: totals must match its sums, and unknown model names its rows.
import type { Nano } from '../../domain/credits.ts'
import { SUM_COLUMNS } from '../sql/usage/hour-columns.ts'
import { NAMES_MAX, TOO_MANY } from '../sql/usage/hour-totals.ts'
import { addSums, isSame, type Totals } from './fingerprint.ts'
import type { AuditCounts, Pass } from './tally.ts'

export type Beside = {
  mark: Nano | undefined
  readonly wanted: Totals
  readonly kept: Totals
  readonly keptNames: Set<string>
  // No more than needed to know that there are too many.
  readonly foundNames: Set<string>
}

export const TOTALLED_BY: readonly string[] = ['endpoint', 'outcome']

export function nothingBeside(): Beside {
  return { mark: undefined, wanted: [], kept: [], keptNames: new Set(), foundNames: new Set() }
}

export function besidePasses(ofHour: (hour: number) => Beside | undefined): readonly Pass[] {
  const besideOf = (hour: unknown) => ofHour(Number(hour))
  return [
    {
      statement: 'SELECT hour, mark FROM usage_rolled_total',
      look(row) {
        const beside = besideOf(row.hour)
        if (beside !== undefined) beside.mark = row.mark as Nano
      },
    },
    {
      statement: `SELECT hour, ${[...TOTALLED_BY, ...SUM_COLUMNS].join(', ')} FROM usage_hour_total`,
      look(row) {
        const beside = besideOf(row.hour)
        if (beside !== undefined) addSums(beside.kept, row, TOTALLED_BY)
      },
    },
    {
      statement: 'SELECT hour, model FROM usage_hour_unknown',
      look: row => void besideOf(row.hour)?.keptNames.add(String(row.model)),
    },
  ]
}

export function findName({ foundNames }: Beside, name: unknown): void {
  if (name !== null && name !== '' && foundNames.size <= NAMES_MAX) foundNames.add(String(name))
}

export function judgeBeside(name: string, beside: Beside, rows: 'there' | 'dropped', counts: AuditCounts): void {
  counts.checked('sums')
  if (!isSame(beside.kept, beside.wanted)) counts.broken('sums', `hour ${name}: its totals differ from its sums`)
  if (rows === 'dropped') return
  const wanted = beside.foundNames.size > NAMES_MAX ? new Set([TOO_MANY]) : beside.foundNames
  if (wanted.symmetricDifference(beside.keptNames).size > 0) {
    counts.broken('sums', `hour ${name}: unknown models differ from its rows`)
  }
}
