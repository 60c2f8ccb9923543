// The scripted upstream's writer: writes with backpressure, dies at byte n, hangs, and stops at once when the caller
// disconnects.
import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { setImmediate, setTimeout } from 'node:timers/promises'
import type { JournalEntry } from './upstream-journal.ts'
import type { Plan } from './upstream-plan.ts'

// Every method throws once the connection is closed, which ends the answer at any point.
export type Wire = {
  head(status: number, headers: Record<string, string | string[]>): void
  write(data: string | Buffer): Promise<void>
  sleep(ms: number | undefined): Promise<void>
  hang(): Promise<void>
  die(by: 'close' | 'reset'): Promise<never>
  end(): Promise<void>
}

const FOREVER_MS = 2 ** 31 - 1

export function openWire(plan: Plan, entry: JournalEntry, res: ServerResponse): Wire {
  const closed = new AbortController()
  const gone = closed.signal
  res.once('close', () => closed.abort(new Error('the connection is gone')))

  async function push(bytes: Buffer): Promise<void> {
    gone.throwIfAborted()
    entry.bytes += bytes.length
    if (!res.write(bytes)) await once(res, 'drain', { signal: gone })
  }

  async function die(by: 'close' | 'reset'): Promise<never> {
    await setImmediate(undefined, { signal: gone }) // node:http corks a chunk until the next tick
    const socket = res.socket
    while (socket !== null && socket.writableLength > 0) await once(socket, 'drain', { signal: gone })
    entry.diedAt = Date.now()
    if (by === 'reset') socket?.resetAndDestroy()
    else socket?.destroy()
    throw new Error('the upstream died as scripted')
  }

  return {
    head(status, headers) {
      gone.throwIfAborted()
      entry.status = status
      res.writeHead(status, headers)
      res.flushHeaders()
    },
    async write(data) {
      const bytes = typeof data === 'string' ? Buffer.from(data) : data
      const remaining = (plan.dieAfterBytes ?? Number.POSITIVE_INFINITY) - entry.bytes
      const piece = bytes.length < remaining ? bytes : bytes.subarray(0, remaining)
      if (!plan.oneByteAtATime) await push(piece)
      else
        for (let i = 0; i < piece.length; i++) {
          await push(piece.subarray(i, i + 1))
          await setImmediate(undefined, { signal: gone })
        }
      if (bytes.length >= remaining) await die(plan.dieBy ?? 'close')
    },
    async sleep(ms) {
      if (ms !== undefined && ms > 0) await setTimeout(ms, undefined, { signal: gone })
    },
    async hang() {
      await setTimeout(FOREVER_MS, undefined, { signal: gone })
    },
    die,
    async end() {
      gone.throwIfAborted()
      res.end()
      if (!res.writableFinished) await once(res, 'finish', { signal: gone })
    },
  }
}
