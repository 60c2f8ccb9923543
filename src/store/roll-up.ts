// Rolls up past hours: claims them, reads their sums and writes them, then the totals and days. Reading and writing may use
// different connections, since writes are checked against versions. See docs/decisions/usage-reports.md.
import type { Maintenance } from './contract/store.ts'
import type { Pending } from './sql/usage/hour-columns.ts'
import type { Hours } from './sql/usage/hours.ts'

// Per call, so that a drain need not wait long.
const UNITS_MAX = 100

export async function rollUp(
  overForMs: number,
  hours: { readonly read: Pick<Hours, 'sums' | 'daySums' | 'totals'>; readonly write: Hours },
): ReturnType<Maintenance['rollUp']> {
  const { read, write } = hours
  const claimed = await write.claim(overForMs)
  // On the connection that is open anyway: the one for sums is opened only if there is something to do.
  const pending = await write.pending(UNITS_MAX)
  const rolled = await each(pending, read.sums, write.write)
  // Totals and days are checked only if hours changed: most of the time there is nothing to do.
  const hasChanged = rolled > 0 || claimed > 0
  const totalled = await each(await write.pendingTotals(UNITS_MAX, hasChanged), read.totals, write.writeTotals)
  const days = hasChanged ? await write.pendingDays(UNITS_MAX) : []
  const rolledDays = await each(days, read.daySums, write.writeDay)
  const more = claimed > 0 || [rolled, totalled, rolledDays].includes(UNITS_MAX)
  return { rolled: rolled + rolledDays, more }
}

async function each<Made>(
  pending: readonly Pending[],
  make: (at: number) => Promise<Made>,
  write: (unit: Pending, made: Made) => Promise<boolean>,
): Promise<number> {
  let written = 0
  for (const unit of pending) if (await write(unit, await make(unit.at))) written += 1
  return written
}
