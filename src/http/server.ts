// The listener: the express path first, then node:http with every bound set, the router of /v1, Fastify for everything else, and
// error responses for what the HTTP parser rejects.
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { RefusalCode } from '../domain/refusal.ts'
import type { Clock } from '../lib/clock.ts'
import type { Alarms } from '../lib/coarse-timers.ts'
import { createServer } from '../lib/node-http.ts'
import { type BareNeeds, endBare, rejectBare } from './bare-refusal.ts'
import type { Connections } from './connections.ts'
import { expressLane } from './express/fast-path.ts'
import { KEEP_ALIVE_MS } from './express/response.ts'
import { type Feed, requestFeed } from './feed.ts'
import { isUnderV1 } from './request.ts'
import { destroyUnlessRead } from './response.ts'
import type { Door } from './router.ts'

export type ServerNeeds = BareNeeds & {
  // Chats, whichever way they arrive.
  readonly chats: Door
  readonly v1: (req: IncomingMessage, res: ServerResponse) => Promise<void>
  readonly others: (req: IncomingMessage, res: ServerResponse) => void
  readonly alarms: Alarms
  readonly clock: Clock
  readonly connections: Connections
  // Slots beyond the total bound that only this listener has.
  readonly connectionsReserved: number
  readonly headersMax: number
  readonly headerBytesMax: number
  readonly headersTimeoutMs: number
  readonly requestTimeoutMs: number
  readonly connectionsCheckMs: number
  // How many connections beyond a bound get a response; further ones are just closed.
  readonly refusedConnectionsMax: number
  readonly writeStallMs: number
  readonly onParserError: (code: RefusalCode) => void
}

export type HttpServer = {
  readonly server: Server
  // No new connections, and idle ones end.
  stop(): void
  closeAll(): void
}

export function httpServer(needs: ServerNeeds): HttpServer {
  const server = createServer({
    // Our own check answers in the standard shape.
    requireHostHeader: false,
    maxHeaderSize: needs.headerBytesMax,
    headersTimeout: needs.headersTimeoutMs,
    // The router has its own timer for the body; this one is the backstop.
    requestTimeout: needs.requestTimeoutMs + 5_000,
    connectionsCheckingInterval: needs.connectionsCheckMs,
    keepAliveTimeout: KEEP_ALIVE_MS,
    noDelay: true,
  })
  server.maxHeadersCount = needs.headersMax
  const feeds = new WeakMap<Socket, Feed>()
  // Clients that have their answer and keep sending: the parser fails on every further piece, and the answer must not be cut off.
  const refused = new WeakSet<Socket>()
  let turnedAway = 0

  const handle = (req: IncomingMessage, res: ServerResponse) => {
    // For every responder: output that is not read must not be kept for ever.
    res.on('prefinish', () => destroyUnlessRead(res, needs.writeStallMs))
    feeds.get(req.socket)?.take(req, res, () => begin(req, res))
  }
  const begin = (req: IncomingMessage, res: ServerResponse) => {
    if (!isHttp1(req)) return reject(res, 'malformed_request')
    if (isUnderV1(req.url ?? '')) void needs.v1(req, res)
    else needs.others(req, res)
  }
  server.on('request', handle)
  // The 100 is sent by the reader of the body, after admission.
  server.on('checkContinue', handle)
  server.on('checkExpectation', (req, res) => {
    feeds.get(req.socket)?.take(req, res, () => reject(res, 'expectation_failed'))
  })
  // For CONNECT Node passes a stream of its own and removes its error handlers from the socket.
  server.on('connect', (req, stream) => {
    stream.on('error', () => undefined)
    refuse(req.socket, 'malformed_request')
  })
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => {
    if (error.code === 'ECONNRESET') socket.destroy()
    else refuse(socket, codeOf(error))
  })
  // Node's own listener gets what the express path hands over.
  const [toNode] = server.listeners('connection') as ((socket: Socket) => void)[]
  const lane = expressLane({
    ...needs,
    serve: needs.chats,
    refuse,
    handOver(socket, arrived) {
      // An error without a listener would end the process; the close event that follows is sufficient.
      socket.on('error', () => undefined)
      toNode?.call(server, socket)
      const feed = requestFeed(socket)
      feeds.set(socket, feed)
      feed.push(arrived)
    },
  })
  server.removeAllListeners('connection').on('connection', enter)
  return {
    server,
    stop() {
      server.close()
      server.closeIdleConnections()
      lane.closeIdle()
    },
    closeAll() {
      server.closeAllConnections()
      lane.closeAll()
    },
  }

  function enter(socket: Socket): void {
    if (needs.connections.admit(socket, isIdle, needs.connectionsReserved)) lane.enter(socket)
    else turnAway(socket)
  }

  function isIdle(socket: Socket): boolean {
    return feeds.get(socket)?.isIdle() ?? lane.isIdle(socket)
  }

  function turnAway(socket: Socket): void {
    socket.on('error', () => undefined)
    if (turnedAway >= needs.refusedConnectionsMax) {
      socket.destroy()
      return
    }
    turnedAway += 1
    socket.once('close', () => {
      turnedAway -= 1
    })
    endBare(socket, 'service_unavailable', undefined, needs)
  }

  function reject(res: ServerResponse, code: RefusalCode): void {
    needs.onParserError(code)
    rejectBare(res, code, needs)
  }

  // A body that cannot be parsed is the fault of its own request; after any other unfinished answer the connection is just
  // closed.
  function refuse(socket: Socket, code: RefusalCode): void {
    if (refused.has(socket)) return
    refused.add(socket)
    const feed = feeds.get(socket)
    const [first, ...more] = feed?.unanswered ?? []
    feed?.stop()
    const isItsBody = more.length === 0 && first?.res.headersSent === false && !first.res.req.complete
    if (socket.writable && (first === undefined || isItsBody)) {
      needs.onParserError(code)
      endBare(socket, code, first?.res.req.url, needs)
    } else socket.destroy()
  }
}

// Exactly one Host; HTTP/1.0 may omit it. The parser accepts HTTP/0.9, which has no headers.
function isHttp1({ httpVersion, headers, rawHeaders }: IncomingMessage): boolean {
  if (headers.host === undefined) return httpVersion === '1.0'
  let hosts = 0
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i] as string
    if (name.length === 4 && name.toLowerCase() === 'host') hosts += 1
  }
  return hosts === 1 && httpVersion !== '0.9'
}

function codeOf(error: NodeJS.ErrnoException): RefusalCode {
  if (error.code === 'HPE_HEADER_OVERFLOW') return 'headers_too_large'
  if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT') return 'request_timeout'
  return 'malformed_request'
}
