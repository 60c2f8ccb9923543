// Looks at /health again and again from a thread of its own, so that what the test itself does at the same time does not delay
// a look.
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads'

export type HealthWatch = {
  // The longest that a look took, in milliseconds.
  stop(): Promise<number>
}

export function watchHealth(url: string): HealthWatch {
  const worker = new Worker(new URL(import.meta.url), { workerData: url })
  return {
    async stop() {
      const { promise, resolve, reject } = Promise.withResolvers<number>()
      worker.once('message', resolve).once('error', reject)
      worker.postMessage('stop')
      return promise.finally(() => worker.terminate())
    },
  }
}

if (!isMainThread && typeof workerData === 'string') {
  let over = false
  let longest = 0
  parentPort?.once('message', () => {
    over = true
  })
  while (!over) {
    const began = performance.now()
    await fetch(`${workerData}/health`).then(answer => answer.text())
    longest = Math.max(longest, performance.now() - began)
    // Not a load of its own.
    await new Promise(resolve => setTimeout(resolve, 20))
  }
  parentPort?.postMessage(longest)
}
