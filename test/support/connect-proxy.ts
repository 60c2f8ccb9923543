// An HTTP proxy that tunnels by CONNECT, requires a password, and records its requests. Names that end in `.test` lead
// to this machine, so that a client that resolves them itself fails.
import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { createServer } from './node-http.ts'

export type ConnectProxy = AsyncDisposable & {
  readonly port: number
  // With user and password.
  readonly url: string
  // Targets and answers, such as `api.test:443 200`.
  readonly journal: string[]
}

export const PROXY_USER = 'gate'
export const PROXY_PASSWORD = 'p@ss-canary-4711'

export async function startConnectProxy(answer?: (socket: Duplex) => void): Promise<ConnectProxy> {
  const journal: string[] = []
  const sockets = new Set<Duplex>()
  const expected = `Basic ${Buffer.from(`${PROXY_USER}:${PROXY_PASSWORD}`).toString('base64')}`

  function onConnect(req: IncomingMessage, socket: Duplex, head: Buffer): void {
    const note = (status: string) => journal.push(`${req.url} ${status}`)
    socket.on('error', () => undefined)
    if (answer !== undefined) {
      answer(socket)
      return
    }
    if (req.headers['proxy-authorization'] !== expected) {
      note('407')
      socket.end('HTTP/1.1 407 Proxy Authentication Required\r\nproxy-authenticate: Basic\r\ncontent-length: 0\r\n\r\n')
      return
    }
    const { hostname, port } = new URL(`http://${req.url}`)
    const target = connect(Number(port), hostname.endsWith('.test') ? '127.0.0.1' : hostname)
    sockets.add(target)
    target.on('error', () => {
      note('502')
      socket.end('HTTP/1.1 502 Bad Gateway\r\n\r\n')
    })
    target.on('connect', () => {
      note('200')
      socket.write('HTTP/1.1 200 Connection established\r\n\r\n')
      target.write(head)
      target.pipe(socket).pipe(target)
    })
    socket.on('close', () => target.destroy())
  }

  const server = createServer((_req, res) => res.writeHead(400).end())
  server.on('connect', onConnect).on('connection', (socket: Socket) => void sockets.add(socket))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    port,
    url: `http://${PROXY_USER}:${encodeURIComponent(PROXY_PASSWORD)}@127.0.0.1:${port}`,
    journal,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}
