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

export function countersOf({ pid, others = [], database }: Running): Counters {
  const pids = [pid, ...others.map(other => other.pid)]
  return {
    cpu: sum(pids.map(cpuSeconds)),
    threads: new Map(pids.flatMap(each => [...threadCpuSeconds(each)])),
    database: database === undefined ? 0 : cpuSeconds(database.pid),
    written: sum(pids.map(writtenBytes)) + (database === undefined ? 0 : writtenBytes(database.pid)),
  }
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0)
}

export type Spent = Pick<Measure, 'cpuUs' | 'loopUs' | 'storeUs' | 'writtenKb'>

// A database's next checkpoint belongs to the window that made it necessary; the embedded store makes its own within the window.
export async function spentSince(before: Counters, running: Running, requests: number): Promise<Spent> {
  const { cpu, threads } = countersOf(running)
  await running.database?.checkpoint()
  const after = countersOf(running)
  const mains = [running, ...(running.others ?? [])].map(({ pid }) => String(pid))
  const used = new Map([...threads].map(([thread, seconds]) => [thread, seconds - (before.threads.get(thread) ?? 0)]))
  const loop = sum(mains.map(main => used.get(main) ?? Number.NaN))
  for (const main of mains) used.delete(main)
  // Besides the main thread none works as much as the embedded store's.
  const store = running.database === undefined ? Math.max(...used.values()) : after.database - before.database
  const us = (seconds: number) => (seconds / requests) * 1e6
  const writtenKb = (after.written - before.written) / requests / 1000
  return { cpuUs: us(cpu - before.cpu), loopUs: us(loop), storeUs: us(store), writtenKb }
}
