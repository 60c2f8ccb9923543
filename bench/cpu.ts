// Resource usage of a process and its descendants, from /proc: CPU time of all threads, ended children included, bytes written and
// resident memory.

import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'

const ticksPerSecond = Number(execFileSync('getconf', ['CLK_TCK'], { encoding: 'utf8' }))

// User + system, to the nanosecond: in ticks of 10 ms a round of nginx is too short for a comparison. Threads that end meanwhile
// are not counted, and under load none does; children that ended and were waited for are, in ticks.
export function cpuSeconds(rootPid: number): number {
  let nanoseconds = 0
  let ticks = 0
  for (const pid of processTree(rootPid)) {
    for (const thread of threadsOf(pid)) {
      nanoseconds += threadNanoseconds(pid, thread)
    }
    const stat = read(`${pid}/stat`)
    // The command's name may contain spaces and brackets: fields are counted from the last bracket, cutime is the 14th.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    for (const field of fields.slice(13, 15)) ticks += Number(field)
  }
  return nanoseconds / 1e9 + ticks / ticksPerSecond
}

// Of one process, by the id of the thread; that of its main thread is the process's own.
export function threadCpuSeconds(pid: number): ReadonlyMap<string, number> {
  return new Map(threadsOf(pid).map(thread => [thread, threadNanoseconds(pid, thread) / 1e9]))
}

function threadNanoseconds(pid: number, thread: string): number {
  return Number(read(`${pid}/task/${thread}/schedstat`).split(' ')[0])
}

// What was or will be sent to the disk, whole pages; ended children included.
export function writtenBytes(rootPid: number): number {
  let bytes = 0
  for (const pid of processTree(rootPid)) bytes += Number(/^write_bytes: (\d+)/m.exec(read(`${pid}/io`))?.[1] ?? 0)
  return bytes
}

export function residentMb(rootPid: number): number {
  let kib = 0
  for (const pid of processTree(rootPid)) {
    kib += Number(/^VmRSS:\s*(\d+)/m.exec(read(`${pid}/status`))?.[1] ?? 0)
  }
  return (kib * 1024) / 1e6
}

// Of all cores, user + system, and stolen time.
export function machineCpuSeconds(): number {
  const [, user, nice, system] = read('stat').split(/\s+/).map(Number)
  return (user! + nice! + system!) / ticksPerSecond + stolenCpuSeconds()
}

// Stolen time of a virtual machine, over all cores.
export function stolenCpuSeconds(): number {
  return Number(read('stat').split(/\s+/)[8]) / ticksPerSecond
}

export function childrenOf(pid: number): readonly number[] {
  const children = threadsOf(pid).map(thread => read(`${pid}/task/${thread}/children`))
  return children.join(' ').split(' ').filter(Boolean).map(Number)
}

function processTree(rootPid: number): readonly number[] {
  const pids = [rootPid]
  for (const pid of pids) pids.push(...childrenOf(pid))
  return pids
}

function threadsOf(pid: number): readonly string[] {
  try {
    return readdirSync(`/proc/${pid}/task`)
  } catch {
    return []
  }
}

// Empty for a process that has ended meanwhile.
function read(name: string): string {
  try {
    return readFileSync(`/proc/${name}`, 'latin1')
  } catch {
    return ''
  }
}
