// Measures the contestants, round after round, in alternating order and against one upstream that lives throughout.

import type { ChildProcess } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Form } from './answer-reader.ts'
import type { Contestant, Running } from './contestant.ts'
import { cpuSeconds, machineCpuSeconds, residentMb } from './cpu.ts'
import type { Load, LoadReport } from './load.ts'
import { ask, keepCoresAwake, startPinned, stop } from './processes.ts'
import type { Measure, Sample } from './table.ts'

export type Plan = {
  readonly contestants: readonly Contestant[]
  readonly forms: readonly Form[]
  readonly rounds: number
  readonly connections: number
  readonly requests: Readonly<Record<Form, number>>
  readonly paced: boolean
  readonly halt: boolean
  readonly folder: string
  readonly profileFolder: string | undefined
  readonly say: (line: string) => void
}

type Bench = { readonly plan: Plan; readonly generator: ChildProcess; readonly upstreamPort: number }
type Target = Pick<Running, 'port' | 'paths' | 'headers'>

export async function measureRounds(plan: Plan): Promise<ReadonlyMap<string, readonly Sample[]>> {
  const script = (name: string) => [process.execPath, join(import.meta.dirname, name)]
  const upstreamCommand = [...script('mock-upstream.ts'), ...(plan.paced ? ['--paced'] : [])]
  const upstream = startPinned('others', upstreamCommand, join(plan.folder, 'upstream.log'))
  const { port: upstreamPort } = await ask<{ port: number }>(upstream)
  const generator = startPinned('others', script('load.ts'), join(plan.folder, 'load.log'))
  const loops = plan.halt ? [] : keepCoresAwake(join(plan.folder, 'loops.log'))
  try {
    return await runRounds({ plan, generator, upstreamPort })
  } finally {
    for (const child of [...loops, generator, upstream]) await stop(child)
  }
}

async function runRounds(bench: Bench): Promise<ReadonlyMap<string, readonly Sample[]>> {
  const { plan, upstreamPort } = bench
  const samples = new Map<string, Sample[]>(plan.contestants.map(({ name }) => [name, []]))
  const path = '/v1/chat/completions'
  const direct: Target = { port: upstreamPort, paths: { json: path, stream: path }, headers: {} }
  for (const form of plan.forms) await warmUp(bench, direct, form)
  for (let round = 0; round < plan.rounds; round++) {
    const order = round % 2 === 0 ? plan.contestants : plan.contestants.toReversed()
    for (const contestant of order) {
      plan.say(`round ${round + 1} of ${plan.rounds}: ${contestant.name}`)
      samples.get(contestant.name)?.push(await measure(bench, contestant, round, direct))
    }
  }
  return samples
}

async function measure(bench: Bench, contestant: Contestant, round: number, direct: Target): Promise<Sample> {
  const { plan, upstreamPort } = bench
  const folder = join(plan.folder, `${contestant.name}-${round + 1}`)
  mkdirSync(folder)
  const running = await contestant.start({ folder, upstreamPort, profileFolder: plan.profileFolder })
  try {
    let sent = 0
    const measures: Partial<Record<Form, Measure>> = {}
    for (const form of plan.forms) {
      sent += await warmUp(bench, running, form, contestant.processes)
      measures[form] = await measureForm(bench, running, form, contestant.processes)
      sent += plan.requests[form]
    }
    const alone = { form: 'json', connections: 1, requests: Math.ceil(plan.requests.json / 10) } as const
    const directly = await drive(bench, direct, alone)
    const through = await drive(bench, running, alone)
    sent += alone.requests
    const sample = { ...measures, residentMb: residentMb(running.pid), addedP50Us: through.p50Us - directly.p50Us }
    await running.verify?.(sent)
    return sample
  } finally {
    await running.stop()
  }
}

// Three times as long as the run itself: seen in windows of five seconds, the compilers, on the same core, came to rest
// after some 60,000 requests. Where several processes share the work, each of them has its own, and connections of its own:
// with fewer, fewer requests would share each of its transactions. Returns how many were sent.
async function warmUp(bench: Bench, target: Target, form: Form, processes = 1): Promise<number> {
  const requests = 3 * processes * bench.plan.requests[form]
  await drive(bench, target, { form, connections: bench.plan.connections * processes, requests })
  return requests
}

async function measureForm(bench: Bench, running: Running, form: Form, processes = 1): Promise<Measure> {
  const requests = bench.plan.requests[form]
  const before = cpuSeconds(running.pid)
  const othersBefore = othersCpuSeconds()
  const connections = bench.plan.connections * processes
  const report = await drive(bench, running, { form, connections, requests })
  const cpuUs = ((cpuSeconds(running.pid) - before) / requests) * 1e6
  const othersShare = (othersCpuSeconds() - othersBefore) / report.seconds
  if (othersShare > 0.1)
    bench.plan.say(`  not a quiet machine: others took ${(othersShare * 100).toFixed(0)} % of a core`)
  return { cpuUs, requestsPerSecond: requests / report.seconds, p50Us: report.p50Us, p99Us: report.p99Us }
}

// What ran meanwhile and was none of ours.
function othersCpuSeconds(): number {
  return machineCpuSeconds() - cpuSeconds(process.pid)
}

async function drive(
  { generator }: Bench,
  target: Target,
  work: Pick<Load, 'form' | 'connections' | 'requests'>,
): Promise<LoadReport> {
  const load: Load = { port: target.port, headers: target.headers, path: target.paths[work.form], ...work }
  const report = await ask<LoadReport>(generator, load)
  if (report.failures > 0) {
    throw new Error(
      `${report.failures} of ${work.requests} ${work.form} requests failed; the first: ${report.firstFailure}`,
    )
  }
  return report
}
