// Rolls up what is over: claims hours, reads their sums and writes them, then those of days. Reading and writing may be
// over different connections, since what is written is checked against marks.
import type { Upkeep } from './contract-upkeep.ts'
import type { Hours, Pending, Sums } from './sql/hours.ts'

// Of one call, so that whoever drains need not wait long.
const UNITS_MAX = 100

export async function rollUp(
  overForMs: number,
  hours: { readonly read: Pick<Hours, 'sums' | 'daySums'>; readonly write: Hours },
): ReturnType<Upkeep['rollUp']> {
  const { read, write } = hours
  const claimed = await write.claim(overForMs)
  // Asked of the one that is open anyway: who sums up is needed only where there is something to do.
  const pending = await write.pending(UNITS_MAX)
  const rolled = await each(pending, read.sums, write.write)
  // Days are looked for only where hours changed: most of the time there is nothing to do at all.
  const days = rolled === 0 && claimed === 0 ? [] : await write.pendingDays(UNITS_MAX)
  const rolledDays = await each(days, read.daySums, write.writeDay)
  const more = claimed > 0 || rolled === UNITS_MAX || rolledDays === UNITS_MAX
  return { rolled: rolled + rolledDays, more }
}

async function each(
  pending: readonly Pending[],
  sumsOf: (at: number) => Promise<Sums>,
  write: (unit: Pending, sums: Sums) => Promise<boolean>,
): Promise<number> {
  let written = 0
  for (const unit of pending) if (await write(unit, await sumsOf(unit.at))) written += 1
  return written
}
