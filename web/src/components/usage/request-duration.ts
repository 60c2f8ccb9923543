// The duration of a request, from its reservation to its end.
import type { OperatorUsageObject } from '../../../../src/domain/usage-wire.ts'

export function durationMs(row: Pick<OperatorUsageObject, 'created_at' | 'finished_at'>): number | null {
  return row.finished_at === null ? null : Date.parse(row.finished_at) - Date.parse(row.created_at)
}
