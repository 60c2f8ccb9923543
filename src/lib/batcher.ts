// Combines concurrent lookups into batches: while one batch is running the next one collects, so a flood costs as many lookups as
// a trickle, and each caller waits for at most two batches.
import { setImmediate } from 'node:timers/promises'

type Waiting<In, Out> = {
  readonly input: In
  readonly resolve: (answer: Out | undefined) => void
  readonly reject: (error: unknown) => void
}

// `ask` returns results in the order of its input.
export function batcher<In, Out>(
  ask: (inputs: readonly In[]) => Promise<readonly (Out | undefined)[]>,
  batchMax: number,
): (input: In) => Promise<Out | undefined> {
  let waiting: Waiting<In, Out>[] = []
  let isRunning = false

  async function run(): Promise<void> {
    isRunning = true
    while (waiting.length > 0) {
      const batch = waiting.slice(0, batchMax)
      waiting = waiting.slice(batchMax)
      try {
        const answers = await ask(batch.map(({ input }) => input))
        for (const [i, { resolve }] of batch.entries()) resolve(answers[i])
      } catch (error) {
        for (const { reject } of batch) reject(error)
      }
      // Callers that waited for this batch issue their next lookups now: all of them join the next batch, not only the first.
      await setImmediate()
    }
    isRunning = false
  }

  return input =>
    new Promise((resolve, reject) => {
      waiting.push({ input, resolve, reject })
      if (!isRunning) void run()
    })
}
