// What a process and everything below it has used, read from /proc: CPU time of all threads, ended children
// included, and resident memory.

import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'

const ticksPerSecond = Number(execFileSync('getconf', ['CLK_TCK'], { encoding: 'utf8' }))

// User + system, to the nanosecond: in ticks of 10 ms a round of nginx is too short to be compared with. Threads that end
// meanwhile are not counted, and under load none does; children that ended and were waited for are, in ticks.
export function cpuSeconds(rootPid: number): number {
  let nanoseconds = 0
  let ticks = 0
  for (const pid of processTree(rootPid)) {
    for (const thread of readdirSync(`/proc/${pid}/task`)) {
      nanoseconds += Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'latin1').split(' ')[0])
    }
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1')
    // The command's name may hold spaces and brackets: fields are counted from the last bracket, cutime is the 14th.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    for (const field of fields.slice(13, 15)) ticks += Number(field)
  }
  return nanoseconds / 1e9 + ticks / ticksPerSecond
}

export function residentMb(rootPid: number): number {
  let kib = 0
  for (const pid of processTree(rootPid)) {
    const status = readFileSync(`/proc/${pid}/status`, 'latin1')
    kib += Number(/^VmRSS:\s*(\d+)/m.exec(status)?.[1] ?? 0)
  }
  return (kib * 1024) / 1e6
}

// Of all cores, user + system, and what the host took away.
export function machineCpuSeconds(): number {
  const [, user, nice, system, , , , , steal] = readFileSync('/proc/stat', 'latin1').split(/\s+/).map(Number)
  return (user! + nice! + system! + steal!) / ticksPerSecond
}

export function childrenOf(pid: number): readonly number[] {
  const children = readdirSync(`/proc/${pid}/task`).map(thread =>
    readFileSync(`/proc/${pid}/task/${thread}/children`, 'latin1'),
  )
  return children.join(' ').split(' ').filter(Boolean).map(Number)
}

function processTree(rootPid: number): readonly number[] {
  const pids = [rootPid]
  for (const pid of pids) pids.push(...childrenOf(pid))
  return pids
}
