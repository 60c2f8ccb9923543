// A real HTTP server that receives webhooks, answers as told, and records every request in order.
import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Webhook } from 'standardwebhooks'

// `text` in Slack's format.
type Body = { readonly type: string; readonly timestamp: string; readonly data: Data; readonly text?: string }
type Data = Readonly<Record<string, unknown>>

export type Received = {
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly text: string
  readonly body: Body
  readonly atMs: number
}

// `silent`: never answers. `endless`: a 200 whose body does not end.
export type Reply =
  | { readonly status: number; readonly headers?: Readonly<Record<string, string>>; readonly afterMs?: number }
  | 'silent'
  | 'endless'

export type Receiver = AsyncDisposable & {
  readonly url: string
  readonly received: Received[]
  // How many bytes were sent as answers without end.
  readonly endlessBytes: () => number
  // How many requests were open at once, at most.
  readonly openMax: () => number
  // For each request from now on; 200 at once by default.
  reply(choose: (received: Received, index: number) => Reply): void
  // Data of the received events of this type.
  dataOf(type: string): readonly Data[]
}

// On a port of its own choice, unless one is given.
export async function startReceiver(port = 0): Promise<Receiver> {
  const received: Received[] = []
  let choose: (received: Received, index: number) => Reply = () => ({ status: 200 })
  let endlessBytes = 0
  let open = 0
  let openMax = 0

  const server = createServer(async (request, response) => {
    open += 1
    openMax = Math.max(open, openMax)
    response.once('close', () => {
      open -= 1
    })
    let text = ''
    request.setEncoding('utf8')
    for await (const chunk of request) text += chunk
    const body = JSON.parse(text) as Body
    const one = { path: request.url ?? '', headers: request.headers, text, body, atMs: performance.now() }
    received.push(one)
    answer(choose(one, received.length - 1), response)
  })

  function answer(reply: Reply, response: ServerResponse): void {
    if (reply === 'silent') return
    if (reply === 'endless') {
      response.writeHead(200)
      const write = () => {
        if (response.destroyed) return
        endlessBytes += 16_384
        response.write('x'.repeat(16_384), () => setImmediate(write))
      }
      write()
      return
    }
    const end = () => response.writeHead(reply.status, reply.headers ?? {}).end('ok')
    if (reply.afterMs === undefined) end()
    else setTimeout(end, reply.afterMs)
  }

  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hooks?token=1`,
    received,
    endlessBytes: () => endlessBytes,
    openMax: () => openMax,
    reply(chosen) {
      choose = chosen
    },
    dataOf: type => received.filter(({ body }) => body.type === type).map(({ body }) => body.data),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

// By the package of the specification; throws if the signature is wrong.
export function verified({ text, headers }: Received, secret: string): Body {
  const values = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]))
  return new Webhook(secret).verify(text, values) as Body
}
