// Polls /health from a separate thread, so that the test's own work does not delay a call.
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads'

export type HealthWatch = {
  // The longest call, in milliseconds.
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
    // Slow enough not to add load.
    await new Promise(resolve => setTimeout(resolve, 20))
  }
  parentPort?.postMessage(longest)
}
