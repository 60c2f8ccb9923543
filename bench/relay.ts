// The bare relay: the cost of node:http and undici alone. It checks and bills nothing.

import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type Dispatcher, Pool } from 'undici'

const pool = new Pool(process.env.UPSTREAM_ORIGIN ?? '', { connections: 128, pipelining: 1 })
const server = createServer(serve)
server.listen(0, '127.0.0.1')
await once(server, 'listening')
process.send?.({ port: (server.address() as AddressInfo).port })
process.on('disconnect', () => process.exit(0))

function serve(request: IncomingMessage, response: ServerResponse): void {
  const parts: Buffer[] = []
  request.on('data', (bytes: Buffer) => parts.push(bytes))
  request.on('end', () => {
    const body = parts.length === 1 ? parts[0]! : Buffer.concat(parts)
    const headers = { 'content-type': 'application/json' }
    pool.dispatch({ path: request.url ?? '/', method: 'POST', headers, body }, passOn(response))
  })
}

function passOn(response: ServerResponse): Dispatcher.DispatchHandler {
  return {
    onRequestStart(controller) {
      response.on('drain', () => controller.resume())
      response.on('close', () => {
        if (!response.writableFinished) controller.abort(new Error('the client disconnected'))
      })
    },
    onResponseStart(_controller, status, headers) {
      const length = headers['content-length']
      const type = headers['content-type'] ?? 'application/octet-stream'
      response.setHeader('content-type', type)
      if (length !== undefined) response.setHeader('content-length', length)
      response.writeHead(status)
    },
    onResponseData(controller, bytes) {
      if (!response.write(bytes)) controller.pause()
    },
    onResponseEnd() {
      response.end()
    },
    onResponseError(_controller, error) {
      if (response.headersSent) response.destroy(error)
      else response.writeHead(502).end()
    },
  }
}
