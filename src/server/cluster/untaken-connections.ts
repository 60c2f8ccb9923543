// A connection that the primary has sent to a worker belongs to the worker once it confirms. node:cluster forgets those that a
// dying worker had not confirmed, and their callers would wait for ever: they are given to another worker.
import type { Worker } from 'node:cluster'

// The message that node:cluster sends with a connection, and the worker's confirmation.
type NewConnection = { readonly act?: unknown; readonly seq?: unknown }
type Answer = { readonly ack?: unknown }
type Handle = { close(): void }

export function keepUntaken(worker: Worker, hasOthers: () => boolean): void {
  const { process: child } = worker
  const { send } = child
  const untaken = new Map<unknown, Handle>()
  child.send = sendNoted as typeof send
  child.on('internalMessage', (answer: Answer) => untaken.delete(answer.ack))
  // By then all its messages have been read.
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
