// The duration of a request, from its reservation to its end.
import type { UsageRow } from '../../api/usage.ts'

export function durationMs(row: UsageRow): number | null {
  return row.finished_at === null ? null : Date.parse(row.finished_at) - Date.parse(row.created_at)
}
