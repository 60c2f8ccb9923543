// Places where a test may make the process die, throw or wait. Without configuration they cost one comparison.

export type FailpointAction = { readonly action: 'kill' | 'throw' | 'sleep'; readonly ms?: number }
export type Failpoint = (name: string) => Promise<void> | undefined

export function failpoints(plan: Readonly<Record<string, FailpointAction>>): Failpoint {
  if (Object.keys(plan).length === 0) return () => undefined
  return name => {
    const planned = plan[name]
    return planned === undefined ? undefined : act(name, planned)
  }
}

async function act(name: string, planned: FailpointAction): Promise<void> {
  if (planned.action === 'kill') process.kill(process.pid, 'SIGKILL')
  if (planned.action === 'throw') throw new Error(`failpoint ${name}`)
  await new Promise(resolve => setTimeout(resolve, planned.ms ?? 0))
}
