// A small HTTP load balancer in front of nodes: polls /ready of each, sends requests round-robin to those that are
// ready, and retries nothing, so that every fault of a node reaches the client.
import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Agent, createServer, request } from './node-http.ts'

export type Balancer = AsyncDisposable & {
  readonly url: string
  // Requests for which no node was ready, or whose node failed.
  readonly failures: readonly string[]
}

const ASK_EVERY_MS = 100
const ASK_TIMEOUT_MS = 1000
// A node that is not ready is excluded at once; one that does not answer in time may only be busy.
const SILENCES_MAX = 3

export async function startBalancer(ports: readonly number[]): Promise<Balancer> {
  const agent = new Agent({ keepAlive: true })
  const ready = new Set<number>()
  const silences = new Map<number, number>()
  const failures: string[] = []
  let turn = 0

  async function ask(port: number): Promise<void> {
    const signal = AbortSignal.timeout(ASK_TIMEOUT_MS)
    const said = await fetch(`http://127.0.0.1:${port}/ready`, { signal }).then(
      ({ status }) => (status === 200 ? 'yes' : 'no'),
      () => (signal.aborted ? 'nothing' : 'no'),
    )
    silences.set(port, said === 'nothing' ? (silences.get(port) ?? 0) + 1 : 0)
    if (said === 'yes') ready.add(port)
    else if (said === 'no' || (silences.get(port) ?? 0) >= SILENCES_MAX) ready.delete(port)
  }

  function fail(res: ServerResponse, why: string): void {
    failures.push(why)
    if (res.headersSent) res.destroy()
    else res.writeHead(502).end()
  }

  function pass(req: IncomingMessage, res: ServerResponse): void {
    const candidates = [...ready].sort()
    const port = candidates[turn++ % candidates.length]
    if (port === undefined) {
      fail(res, 'no node is ready')
      return
    }
    const { method, url, headers } = req
    const outward = request({ host: '127.0.0.1', port, method, path: url, headers, agent }, answer => {
      // Hop-by-hop headers of the node's connection do not apply to the client's.
      const { connection: _, ...rest } = answer.headers
      res.writeHead(answer.statusCode ?? 502, rest)
      answer.on('data', chunk => res.write(chunk))
      answer.on('end', () => res.end())
      answer.on('error', error => fail(res, `${port} cut an answer: ${error.message}`))
    })
    outward.on('error', error => res.headersSent || fail(res, `${port}: ${error.message}`))
    req.pipe(outward)
  }

  const askAll = () => Promise.all(ports.map(ask))
  await askAll()
  const asking = setInterval(askAll, ASK_EVERY_MS)
  const server = createServer({ keepAliveTimeout: 60_000 }, pass).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    failures,
    async [Symbol.asyncDispose]() {
      clearInterval(asking)
      server.closeAllConnections()
      server.close()
      agent.destroy()
    },
  }
}
