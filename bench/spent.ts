// What a contestant spends on a request, by its counters before and after a window: CPU, of it the event loop's and the store's,
// and bytes written.

import type { Running } from './contestant.ts'
import { cpuSeconds, threadCpuSeconds, writtenBytes } from './cpu.ts'
import type { Measure } from './table.ts'

export type Counters = {
  readonly cpu: number
  readonly threads: ReadonlyMap<string, number>
  readonly database: number
  readonly written: number
}

export function countersOf({ pid, database }: Running): Counters {
  return {
    cpu: cpuSeconds(pid),
    threads: threadCpuSeconds(pid),
    database: database === undefined ? 0 : cpuSeconds(database.pid),
    written: writtenBytes(pid) + (database === undefined ? 0 : writtenBytes(database.pid)),
  }
}

export type Spent = Pick<Measure, 'cpuUs' | 'loopUs' | 'storeUs' | 'writtenKb'>

// A database's next checkpoint belongs to the window that made it necessary; the embedded store makes its own within the window.
export async function spentSince(before: Counters, running: Running, requests: number): Promise<Spent> {
  const { cpu, threads } = countersOf(running)
  await running.database?.checkpoint()
  const after = countersOf(running)
  const main = String(running.pid)
  const used = new Map([...threads].map(([thread, seconds]) => [thread, seconds - (before.threads.get(thread) ?? 0)]))
  const loop = used.get(main) ?? Number.NaN
  used.delete(main)
  // Besides the main thread none works as much as the embedded store's.
  const store = running.database === undefined ? Math.max(...used.values()) : after.database - before.database
  const us = (seconds: number) => (seconds / requests) * 1e6
  const writtenKb = (after.written - before.written) / requests / 1000
  return { cpuUs: us(cpu - before.cpu), loopUs: us(loop), storeUs: us(store), writtenKb }
}
