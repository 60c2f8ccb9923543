// Many questions asked as one: while one batch is being answered the next gathers, so that a flood of questions costs as
// many look-ups as a trickle, and whoever comes in it waits for one or two of them.
import { setImmediate } from 'node:timers/promises'

type Waiting<In, Out> = {
  readonly question: In
  readonly resolve: (answer: Out | undefined) => void
  readonly reject: (error: unknown) => void
}

// `ask` answers in the order of the questions.
export function gather<In, Out>(
  ask: (questions: readonly In[]) => Promise<readonly (Out | undefined)[]>,
  batchMax: number,
): (question: In) => Promise<Out | undefined> {
  let waiting: Waiting<In, Out>[] = []
  let isRunning = false

  async function run(): Promise<void> {
    isRunning = true
    while (waiting.length > 0) {
      const batch = waiting.slice(0, batchMax)
      waiting = waiting.slice(batchMax)
      try {
        const answers = await ask(batch.map(({ question }) => question))
        for (const [i, { resolve }] of batch.entries()) resolve(answers[i])
      } catch (error) {
        for (const { reject } of batch) reject(error)
      }
      // Those who waited for an answer of this batch ask now: all of them go into the next one, not the first of them alone.
      await setImmediate()
    }
    isRunning = false
  }

  return question =>
    new Promise((resolve, reject) => {
      waiting.push({ question, resolve, reject })
      if (!isRunning) void run()
    })
}
