// The listener: the express lane in front, then node:http with every bound set, the door of /v1, Fastify behind it for
// everything else, and answers in our shape to what the HTTP parser itself rejects.
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
  // Chats, whichever way they come in.
  readonly chats: Door
  readonly v1: (req: IncomingMessage, res: ServerResponse) => Promise<void>
  readonly others: (req: IncomingMessage, res: ServerResponse) => void
  readonly alarms: Alarms
  readonly clock: Clock
  readonly connections: Connections
  // Places beyond the bound of all connections that only this listener has.
  readonly connectionsReserved: number
  readonly headersMax: number
  readonly headerBytesMax: number
  readonly headersTimeoutMs: number
  readonly requestTimeoutMs: number
  readonly connectionsCheckMs: number
  // Connections past a bound that are told so at once; beyond it they are just closed.
  readonly refusedConnectionsMax: number
  readonly writeStallMs: number
  readonly onParserError: (code: RefusalCode) => void
}

export type HttpServer = {
  readonly server: Server
  // No new connections, and those end that have nothing to do.
  stop(): void
  closeAll(): void
}

export function httpServer(needs: ServerNeeds): HttpServer {
  const server = createServer({
    // Our own check answers in our own shape.
    requireHostHeader: false,
    maxHeaderSize: needs.headerBytesMax,
    headersTimeout: needs.headersTimeoutMs,
    // The body has a timer of its own at the door; this one is the backstop.
    requestTimeout: needs.requestTimeoutMs + 5_000,
    connectionsCheckingInterval: needs.connectionsCheckMs,
    keepAliveTimeout: KEEP_ALIVE_MS,
    noDelay: true,
  })
  server.maxHeadersCount = needs.headersMax
  const feeds = new WeakMap<Socket, Feed>()
  // Who has its answer and sends on: the parser complains about every further piece, and the answer must not be cut off.
  const refused = new WeakSet<Socket>()
  let turnedAway = 0

  const handle = (req: IncomingMessage, res: ServerResponse) => {
    // Whoever answers: what is handed over and not read must not be kept for ever.
    res.on('prefinish', () => destroyUnlessRead(res, needs.writeStallMs))
    feeds.get(req.socket)?.take(req, res, () => begin(req, res))
  }
  const begin = (req: IncomingMessage, res: ServerResponse) => {
    if (!isHttp1(req)) return reject(res, 'malformed_request')
    if (isUnderV1(req.url ?? '')) void needs.v1(req, res)
    else needs.others(req, res)
  }
  server.on('request', handle)
  // The 100 is sent by whoever reads the body, after admission.
  server.on('checkContinue', handle)
  server.on('checkExpectation', (req, res) => {
    feeds.get(req.socket)?.take(req, res, () => reject(res, 'expectation_failed'))
  })
  // For CONNECT Node hands over a stream of its own and takes its error handlers off the socket.
  server.on('connect', (req, stream) => {
    stream.on('error', () => undefined)
    refuse(req.socket, 'malformed_request')
  })
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => {
    if (error.code === 'ECONNRESET') socket.destroy()
    else refuse(socket, codeOf(error))
  })
  // Node's own listener gets what the express lane hands over.
  const [toNode] = server.listeners('connection') as ((socket: Socket) => void)[]
  const lane = expressLane({
    ...needs,
    serve: needs.chats,
    refuse,
    handOver(socket, arrived) {
      // An error without a listener would end the process; what it means is told by the close that follows.
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

  // A body that cannot be read is the fault of the one request it belongs to; behind any other unfinished answer the
  // connection is just closed.
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

// Exactly one Host; HTTP/1.0 may do without. The parser lets HTTP/0.9 through, which has no headers to speak of.
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
