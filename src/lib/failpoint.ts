// Points where a test may make the process exit, throw or wait. There are none without configuration.

export type FailpointAction = {
  readonly action: 'kill' | 'throw' | 'sleep'
  readonly ms?: number | undefined
  // Only the first N times.
  readonly times?: number | undefined
}
// Synchronous code ignores what it returns: there a test may make the process exit or throw, but not wait.
export type Failpoint = (name: string) => Promise<void> | undefined

export function failpoints(plan: Readonly<Record<string, FailpointAction>>): Failpoint | undefined {
  if (Object.keys(plan).length === 0) return undefined
  const seen = new Map<string, number>()
  return name => {
    const planned = plan[name]
    const times = (seen.get(name) ?? 0) + 1
    seen.set(name, times)
    return planned === undefined || times > (planned.times ?? times) ? undefined : act(name, planned)
  }
}

function act(name: string, planned: FailpointAction): Promise<void> {
  if (planned.action === 'kill') process.kill(process.pid, 'SIGKILL')
  if (planned.action === 'throw') throw new Error(`failpoint ${name}`)
  return new Promise(resolve => setTimeout(resolve, planned.ms ?? 0))
}
