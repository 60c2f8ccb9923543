// The listener: the express path first where it is on, then node:http with every bound set, the router of /v1, Fastify for
// everything else, and error responses for what the HTTP parser rejects.
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { RefusalCode } from '../domain/refusal.ts'
import type { Clock } from '../lib/clock.ts'
import type { CoarseTimers } from '../lib/coarse-timers.ts'
import { createServer } from '../lib/node-http.ts'
import { type BareNeeds, endBare, rejectBare } from './bare-refusal.ts'
import type { Connections } from './connections.ts'
import { type ExpressPath, expressPath } from './express/express-path.ts'
import { KEEP_ALIVE_MS } from './express/response.ts'
import { type Feed, requestFeed } from './feed.ts'
import { isUnderV1 } from './request.ts'
import { destroyUnlessRead } from './response.ts'
import type { Router } from './router.ts'

export type ServerNeeds = BareNeeds & {
  // Chats, whichever way they come in.
  readonly chats: Router
  readonly v1: (req: IncomingMessage, res: ServerResponse) => Promise<void>
  readonly others: (req: IncomingMessage, res: ServerResponse) => void
  readonly timers: CoarseTimers
  readonly clock: Clock
  readonly connections: Connections
  // Connections beyond the bound of all listeners that only this one may have.
  readonly connectionsReserved: number
  readonly headersMax: number
  readonly headerBytesMax: number
  readonly headersTimeoutMs: number
  readonly requestTimeoutMs: number
  readonly connectionsCheckMs: number
  // How many connections beyond a bound get a response; further ones are just closed.
  readonly refusedConnectionsMax: number
  readonly writeStallMs: number
  // Whether plain chats are served from the bare socket.
  readonly fastPath: boolean
  readonly onParserError: (code: RefusalCode) => void
}

export type HttpServer = {
  readonly server: Server
  // No new connections, and idle ones end.
  stop(): void
  closeAll(): void
}

type Listener = {
  readonly needs: ServerNeeds
  readonly server: Server
  // Connections that Node owns.
  readonly feeds: Map<Socket, Feed>
  // Clients that have their answer and keep sending: the parser fails on every further piece, and the answer must not be cut off.
  readonly refused: WeakSet<Socket>
  // Undefined: Node owns every connection.
  express: ExpressPath | undefined
  // Connections beyond a bound that are being refused.
  turnedAway: number
}

export function httpServer(needs: ServerNeeds): HttpServer {
  const server = createServer(serverOptions(needs))
  server.maxHeadersCount = needs.headersMax
  const listener: Listener = {
    needs,
    server,
    feeds: new Map(),
    refused: new WeakSet(),
    express: undefined,
    turnedAway: 0,
  }
  takeRequests(listener)
  // Node's own listener gets what the express path hands over.
  const [toNode] = server.listeners('connection') as ((socket: Socket) => void)[]
  const handOver = (socket: Socket, arrived: Buffer) => {
    // An error without a listener would end the process; the close event that follows is sufficient.
    socket.on('error', () => undefined)
    toNode?.call(server, socket)
    const feed = requestFeed(socket)
    listener.feeds.set(socket, feed)
    socket.once('close', () => listener.feeds.delete(socket))
    if (arrived.length > 0) feed.push(arrived)
  }
  if (needs.fastPath) {
    const refuseIt = (socket: Socket, code: RefusalCode) => refuse(listener, socket, code)
    listener.express = expressPath({ ...needs, serve: needs.chats, refuse: refuseIt, handOver })
  }
  const isIdle = (socket: Socket) => listener.feeds.get(socket)?.isIdle() ?? listener.express?.isIdle(socket) ?? false
  server.removeAllListeners('connection').on('connection', (socket: Socket) => {
    if (!needs.connections.admit(socket, isIdle, needs.connectionsReserved)) turnAway(listener, socket)
    else if (listener.express === undefined) handOver(socket, NOTHING)
    else listener.express.enter(socket)
  })
  return {
    server,
    stop() {
      server.close()
      server.closeIdleConnections()
      listener.express?.closeIdle()
      // Node leaves those open that have not sent anything yet.
      for (const [socket, feed] of listener.feeds) if (feed.isIdle()) socket.destroy()
    },
    closeAll() {
      server.closeAllConnections()
      listener.express?.closeAll()
    },
  }
}

const NOTHING = Buffer.alloc(0)

function serverOptions(needs: ServerNeeds) {
  return {
    // Our own check answers in the standard shape.
    requireHostHeader: false,
    maxHeaderSize: needs.headerBytesMax,
    headersTimeout: needs.headersTimeoutMs,
    // The router has its own timer for the body; this one is the backstop.
    requestTimeout: needs.requestTimeoutMs + 5_000,
    connectionsCheckingInterval: needs.connectionsCheckMs,
    keepAliveTimeout: KEEP_ALIVE_MS,
    noDelay: true,
  }
}

function takeRequests(listener: Listener): void {
  const { needs, server, feeds } = listener
  const begin = (req: IncomingMessage, res: ServerResponse) => {
    if (!isHttp1(req)) return reject(listener, res, 'malformed_request')
    if (isUnderV1(req.url ?? '')) void needs.v1(req, res)
    else needs.others(req, res)
  }
  const handle = (req: IncomingMessage, res: ServerResponse) => {
    // For every responder: a response that is not read must not be kept forever.
    res.on('prefinish', () => destroyUnlessRead(res, needs.writeStallMs))
    feeds.get(req.socket)?.take(req, res, () => begin(req, res))
  }
  server.on('request', handle)
  // The 100 is sent by the reader of the body, after admission.
  server.on('checkContinue', handle)
  server.on('checkExpectation', (req, res) => {
    feeds.get(req.socket)?.take(req, res, () => reject(listener, res, 'expectation_failed'))
  })
  // For CONNECT Node passes a stream of its own and removes its error handlers from the socket.
  server.on('connect', (req, stream) => {
    stream.on('error', () => undefined)
    refuse(listener, req.socket, 'malformed_request')
  })
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => {
    if (error.code === 'ECONNRESET') socket.destroy()
    else refuse(listener, socket, codeOf(error))
  })
}

function turnAway(listener: Listener, socket: Socket): void {
  const { needs } = listener
  socket.on('error', () => undefined)
  if (listener.turnedAway >= needs.refusedConnectionsMax) {
    socket.destroy()
    return
  }
  listener.turnedAway += 1
  socket.once('close', () => {
    listener.turnedAway -= 1
  })
  endBare(socket, 'service_unavailable', undefined, needs)
}

function reject({ needs }: Listener, res: ServerResponse, code: RefusalCode): void {
  needs.onParserError(code)
  rejectBare(res, code, needs)
}

// A body that cannot be parsed is the fault of its own request; after any other unfinished answer the connection is just closed.
function refuse({ needs, feeds, refused }: Listener, socket: Socket, code: RefusalCode): void {
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
