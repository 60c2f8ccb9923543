// Bounds how many jobs run at once and serves waiting jobs owner by owner: an owner with a hundred waiting jobs delays an owner
// with one by a single job.

export type FairQueueLimits = {
  readonly concurrent: number
  readonly waitingMax: number
  readonly waitingPerOwnerMax: number
}

export type FairQueue<T> = {
  // Rejects with QueueFull when the job would have to wait and may not; otherwise settles like the job.
  run(owner: string, job: () => Promise<T>): Promise<T>
  readonly running: number
  readonly waiting: number
}

export class QueueFull extends Error {
  override readonly name = 'QueueFull'
  // The owner that has too many jobs.
  readonly of: 'owner' | 'all'

  constructor(of: 'owner' | 'all') {
    super('too many queued jobs')
    this.of = of
  }
}

export function fairQueue<T>(limits: FairQueueLimits): FairQueue<T> {
  // Owners in the order of their turns; an owner is listed only while it has waiting jobs.
  const turns = new Map<string, (() => void)[]>()
  let running = 0
  let waiting = 0

  async function run(owner: string, job: () => Promise<T>): Promise<T> {
    if (running < limits.concurrent) running++
    else await turnOf(owner)

    try {
      return await job()
    } finally {
      passOn()
    }
  }

  function turnOf(owner: string): Promise<void> {
    const line = turns.get(owner) ?? []
    if (line.length >= limits.waitingPerOwnerMax) return Promise.reject(new QueueFull('owner'))
    if (waiting >= limits.waitingMax) return Promise.reject(new QueueFull('all'))
    waiting++
    turns.set(owner, line)
    return new Promise(resolve => line.push(resolve))
  }

  // The slot of a finished job goes directly to the next one, so that no newcomer takes it.
  function passOn(): void {
    const first = turns.entries().next().value
    if (first === undefined) {
      running--
      return
    }
    const [owner, line] = first
    const begin = line.shift()
    turns.delete(owner)
    if (line.length > 0) turns.set(owner, line)
    waiting--
    begin?.()
  }

  return Object.freeze({
    run,
    get running() {
      return running
    },
    get waiting() {
      return waiting
    },
  })
}
