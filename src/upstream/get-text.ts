// A GET of one small text within one deadline, by the rules of all outgoing calls: proxies of the environment, no redirects, and a
// bound on what is read. For rare calls: each opens a connection of its own.
import type { Clock } from '../lib/clock.ts'
import type { ConnectionLimit } from './connection-limit.ts'
import { type Network, proxyFor } from './open-client.ts'
import { undiciClient } from './undici/client.ts'

export type GetNeeds = {
  readonly requestId: string
  readonly headers: Readonly<Record<string, string>>
  readonly timeoutMs: number
  readonly bytesMax: number
  readonly network: Network
  readonly limit: ConnectionLimit
  readonly clock: Clock
  readonly onBug: (error: unknown) => void
}

export async function getText(address: string, needs: GetNeeds): Promise<string> {
  const { requestId, headers, timeoutMs: ms, bytesMax, network, limit, clock, onBug } = needs
  const url = new URL(address)
  const timeouts = { connectMs: ms, firstByteStreamMs: ms, firstByteJsonMs: ms, idleMs: ms, totalMs: ms }
  const options = { url: new URL(url.origin), headers, timeouts, connectionsMax: 1, limit, clock, onBug }
  const client = undiciClient(options, proxyFor(url, {}, network.proxies), 'GET')
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  const timer = setTimeout(() => reject(new Error(`no complete answer within ${ms} ms`)), ms)
  const chunks: Buffer[] = []
  let bytes = 0
  const stream = client.send(
    {
      requestId,
      accountId: '',
      path: `${url.pathname}${url.search}`,
      head: '',
      body: '',
      firstByteMs: ms,
      totalMs: ms,
      onSent: () => undefined,
    },
    {
      start(status) {
        if (status !== 200) reject(new Error(`status ${status}`))
      },
      data(chunk) {
        bytes += chunk.length
        if (bytes > bytesMax) reject(new Error(`the answer is larger than ${bytesMax} bytes`))
        else chunks.push(Buffer.from(chunk))
      },
      end(failure) {
        if (failure === undefined) resolve(Buffer.concat(chunks).toString())
        else reject(failure)
      },
    },
  )
  try {
    return await promise
  } finally {
    clearTimeout(timer)
    stream.abort()
    await client.close()
  }
}
