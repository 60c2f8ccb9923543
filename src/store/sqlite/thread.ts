// A thread of the embedded store: called by messages, each answered once; all waiters are notified when it ends.
import { startThread } from '../../lib/thread.ts'
import { StoreUnavailable } from '../contract/store.ts'
import type { Message, Request, Response, WorkerSetup } from './sqlite-worker.ts'

export type ThreadReply = { readonly value: unknown; readonly ms: number }
type Waiter = { readonly resolve: (reply: ThreadReply) => void; readonly reject: (error: Error) => void }
export type Thread = {
  ask(message: Request): Promise<ThreadReply>
  // Ends it immediately; waiters get the error that the store is unavailable.
  kill(): void
}

// Starts the thread and waits until it has opened (and migrated) the database; its errors are thrown here.
export async function openThread(setup: WorkerSetup, onDeath: (error: Error) => void): Promise<Thread> {
  const worker = startThread('./sqlite-worker', import.meta.url, setup, { youngMb: 8 })
  // A reader answers in order of completion; 0 is the thread's own opening.
  const waiting = new Map<number, Waiter>()
  let lastId = 0
  let dead: Error | undefined

  const opened = new Promise<ThreadReply>((resolve, reject) => waiting.set(0, { resolve, reject }))
  worker.on('message', (response: Response) => {
    const waiter = waiting.get(response.id)
    waiting.delete(response.id)
    if ('error' in response) waiter?.reject(new StoreUnavailable(response.error))
    else waiter?.resolve(response)
  })
  let state: 'opening' | 'open' | 'closing' = 'opening'
  let cause = new Error('the database thread exited')
  worker.on('error', (reason: unknown) => {
    cause = reason instanceof Error ? reason : new Error(String(reason))
  })
  // Emitted after an error, and also without one.
  worker.on('exit', () => {
    dead = state === 'opening' ? cause : new StoreUnavailable(cause.message)
    for (const waiter of waiting.values()) waiter.reject(dead)
    waiting.clear()
    if (state === 'open') onDeath(cause)
  })
  await opened
  state = 'open'

  return {
    ask(message) {
      if (dead !== undefined) return Promise.reject(dead)
      if ('close' in message) state = 'closing'
      return new Promise((resolve, reject) => {
        lastId += 1
        waiting.set(lastId, { resolve, reject })
        worker.postMessage({ id: lastId, request: message } satisfies Message)
      })
    },
    kill() {
      state = 'closing'
      dead = new StoreUnavailable('the database thread was terminated')
      for (const waiter of waiting.values()) waiter.reject(dead)
      waiting.clear()
      void worker.terminate()
    },
  }
}
