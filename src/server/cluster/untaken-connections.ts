// A connection that the parent has sent to a worker is the worker's once it says so. node:cluster forgets those that a worker had
// not taken when it died, and their callers would wait for ever: they are given to another worker.
import type { Worker } from 'node:cluster'

// What node:cluster sends with a connection, and what the worker answers.
type NewConnection = { readonly act?: unknown; readonly seq?: unknown }
type Answer = { readonly ack?: unknown }
type Handle = { close(): void }

export function keepUntaken(worker: Worker, hasOthers: () => boolean): void {
  const { process: child } = worker
  const { send } = child
  const untaken = new Map<unknown, Handle>()
  child.send = sendNoted as typeof send
  child.on('internalMessage', (answer: Answer) => untaken.delete(answer.ack))
  // By then all that it had said is read.
  child.once('close', giveOn)

  function sendNoted(message: NewConnection, handle: Handle | undefined, ...rest: unknown[]): unknown {
    if (message.act === 'newconn' && handle) untaken.set(message.seq, handle)
    return Reflect.apply(send, child, [message, handle, ...rest])
  }

  function giveOn(): void {
    for (const [ack, handle] of untaken) {
      if (hasOthers()) child.emit('internalMessage', { cmd: 'NODE_CLUSTER', ack, accepted: false })
      else handle.close()
    }
    untaken.clear()
  }
}
