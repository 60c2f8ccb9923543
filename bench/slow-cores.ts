// Slow cores: control groups whose processes get a fifth of a core's time. What runs on them is what limits the throughput,
// on a machine that has no core to spare for each of them beside the load, the upstream and the databases.

import { existsSync, mkdirSync, rmdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

// The shortest turn that can be had, so that the answers of many requests are under way in every pause.
const TURN_US = 1000
const PERIOD_US = 5000
// Version 1 has a folder for each resource, version 2 has one for all.
const GROUPS = '/sys/fs/cgroup'

export type SlowCore = {
  // All threads of the process, and whatever it starts from now on.
  take(pid: number): void
  // When its processes have ended.
  remove(): void
}

export function slowCore(name: string): SlowCore {
  const isFirstVersion = existsSync(join(GROUPS, 'cpu/tasks'))
  const folder = join(GROUPS, isFirstVersion ? 'cpu' : '.', `turnpike-bench-${process.pid}-${name}`)
  const write = (file: string, value: number | string) => writeFileSync(join(folder, file), String(value))
  try {
    mkdirSync(folder)
    if (isFirstVersion) {
      write('cpu.cfs_period_us', PERIOD_US)
      write('cpu.cfs_quota_us', TURN_US)
    } else write('cpu.max', `${TURN_US} ${PERIOD_US}`)
  } catch (error) {
    throw new Error(`slow cores need control groups that may be written: ${error}`)
  }
  return {
    take: pid => write('cgroup.procs', pid),
    remove: () => rmdirSync(folder),
  }
}
