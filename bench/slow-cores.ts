// Slow cores: control groups whose processes get a fifth of a core's time. They are then the bottleneck, on a machine that has no
// spare core for each of them next to the load, the upstream and the databases. See docs/performance.md.

import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

// The shortest possible period, so that many requests are in flight in every pause.
const TURN_US = 1000
const PERIOD_US = 5000
// Of a core.
export const SLOW_CORE = TURN_US / PERIOD_US
// Version 1 has a folder for each resource, version 2 has one for all.
const GROUPS = existsSync('/sys/fs/cgroup/cpu/tasks') ? '/sys/fs/cgroup/cpu' : '/sys/fs/cgroup'

export type SlowCore = {
  // All threads of the process, and its later children.
  take(pid: number): void
  // Processes that still run on it are released.
  remove(): void
}

// Also after an interrupted run nothing may stay: the system would keep it until the next boot.
const made = new Set<SlowCore>()
process.on('exit', () => {
  for (const core of made) core.remove()
})

export function slowCore(name: string): SlowCore {
  const folder = join(GROUPS, `turnpike-bench-${process.pid}-${name}`)
  const core: SlowCore = {
    take: pid => writeFileSync(join(folder, 'cgroup.procs'), String(pid)),
    remove() {
      made.delete(core)
      const pids = readFileSync(join(folder, 'cgroup.procs'), 'latin1').split('\n').filter(Boolean)
      for (const pid of pids) letGo(pid)
      rmdirSync(folder)
    },
  }
  try {
    mkdirSync(folder)
    made.add(core)
    if (existsSync(join(folder, 'cpu.cfs_quota_us'))) {
      writeFileSync(join(folder, 'cpu.cfs_period_us'), String(PERIOD_US))
      writeFileSync(join(folder, 'cpu.cfs_quota_us'), String(TURN_US))
    } else writeFileSync(join(folder, 'cpu.max'), `${TURN_US} ${PERIOD_US}`)
  } catch (error) {
    throw new Error(`slow cores need writable cpu control groups in ${GROUPS}: ${error}`)
  }
  return core
}

// Throws if there are none.
export function checkSlowCores(): void {
  slowCore('check').remove()
}

function letGo(pid: string): void {
  try {
    writeFileSync(join(GROUPS, 'cgroup.procs'), pid)
  } catch {
    // It has ended meanwhile.
  }
}
