// The HTTP client over undici, for providers behind a proxy and for everything where the fast path is off. Each connection is
// an undici Client of its own, so the pool's rules (account, limits, timeouts) are the same as for our own client.
import type { Socket } from 'node:net'
import type { Client, Dispatcher } from 'undici'
import type { Transport, TransportEvents } from '../connection.ts'
import { BadResponse } from '../connection-failure.ts'
import { pooledClient } from '../connection-pool.ts'
import { type HttpClient, type HttpClientOptions, headerLines, type ResponseHeaders } from '../http-client.ts'
import { connectEvent, openSocket, secureSocket } from '../open-socket.ts'
import { type HttpProxy, openTunnel, ProxyRefused } from './tunnel.ts'

const HEAD_BYTES_MAX = 32_768
const INTERIM_MAX = 8
// Bytes read from one connection before others have their turn.
const TURN_BYTES = 65_536
// Longer than the pool keeps an idle connection: the pool closes them.
const KEEP_ALIVE_MS = 600_000

// Loaded with the first connection that needs it, since most processes never do.
const loadUndici = () => import('undici')

type Shared = {
  readonly options: HttpClientOptions
  readonly proxy: HttpProxy | undefined
  readonly method: 'POST' | 'GET'
  // Names and values of the headers of every request, alternating.
  readonly headers: readonly string[]
  // The session of the last TLS connection, to resume it.
  session: Buffer | undefined
}

export function undiciClient(
  options: HttpClientOptions,
  proxy?: HttpProxy,
  method: Shared['method'] = 'POST',
): HttpClient {
  const headers = headerPairs(headerLines(options.headers))
  const shared: Shared = { options, proxy, method, headers, session: undefined }
  return pooledClient(options, events => openTransport(shared, events))
}

function openTransport(shared: Shared, events: TransportEvents): Transport {
  let problem: Error | undefined
  let connection: HttpConnection | undefined
  let isClosed = false
  const first = openFirst(shared)
  const fail = (error: unknown) => {
    problem ??= error as Error
    first.destroy()
  }
  first.on('error', fail)
  first.on('close', () => {
    isClosed = true
    connection?.close()
    const error = poolError(problem, connection?.socket ?? first)
    const isTunnelling = connection === undefined && shared.proxy !== undefined
    events.closed(isTunnelling && isUnnamed(error) ? new ProxyRefused('the proxy did not open a tunnel') : error)
  })
  connected(shared, first, fail).then(async socket => {
    const { Client } = await loadUndici()
    if (isClosed) return
    connection = httpConnection(Client, socket, shared, events, fail)
    events.ready()
  }, fail)

  return {
    isDestroyed: () => first.destroyed,
    isDrained: () => first.writableLength === 0 && connection?.socket.writableLength === 0,
    send: request => connection?.send(request),
    pause: () => connection?.pause(),
    resume: () => connection?.resume(),
    destroy(error) {
      problem ??= error
      first.destroy()
    },
  }
}

// The socket of this machine: to the upstream, or to the proxy in front of it.
function openFirst({ options: { url, publicOnly }, proxy, session }: Shared): Socket {
  if (proxy === undefined) return openSocket({ url, publicOnly, session })
  return openSocket({ url: proxy.url, publicOnly: proxy.publicOnly })
}

// The socket that carries HTTP with the upstream, once connected.
async function connected(shared: Shared, first: Socket, fail: (error: unknown) => void): Promise<Socket> {
  const { options, proxy } = shared
  const remember = (session: Buffer) => {
    shared.session = session
  }
  if (proxy === undefined) {
    first.on('session', remember)
    await happens(first, connectEvent(options.url))
    return first
  }
  await happens(first, connectEvent(proxy.url))
  await openTunnel((await loadUndici()).Client, first, proxy, options)
  if (options.url.protocol !== 'https:') return first
  const secure = secureSocket(first, options.url, shared.session)
  secure.on('error', fail).on('session', remember)
  secure.on('close', () => first.destroy())
  first.on('close', () => secure.destroy())
  await happens(secure, 'secureConnect')
  return secure
}

// Never settles if the socket fails: then its close is reported instead.
function happens(socket: Socket, event: 'connect' | 'secureConnect'): Promise<void> {
  return new Promise(resolve => socket.once(event, resolve))
}

type HttpConnection = Pick<Transport, 'send' | 'pause' | 'resume'> & { readonly socket: Socket; close(): void }

function httpConnection(
  UndiciClient: typeof Client,
  socket: Socket,
  { options, headers, method }: Shared,
  events: TransportEvents,
  fail: (error: unknown) => void,
): HttpConnection {
  let controller: Dispatcher.DispatchController | undefined
  let isPaused = false
  let isUsed = false
  // Bytes read since others had their turn.
  let burstBytes = 0
  const client = new UndiciClient(options.url.origin, {
    // The socket exists already. Undici would open another one after it has closed: then this connection is over.
    connect(_options, callback) {
      const closed = isUsed
      isUsed = true
      queueMicrotask(() => (closed ? callback(new Error('the connection is closed'), null) : callback(null, socket)))
    },
    pipelining: 1,
    allowH2: false,
    maxHeaderSize: HEAD_BYTES_MAX,
    // The pool has its own timeouts.
    headersTimeout: 0,
    bodyTimeout: 0,
    keepAliveTimeout: KEEP_ALIVE_MS,
    keepAliveMaxTimeout: KEEP_ALIVE_MS,
  })
  // Before undici reads them. The end of the connection is `readable` too.
  socket.on('readable', () => {
    if (socket.readableLength > 0) events.arrived()
  })

  // One wake-up may bring megabytes: others get their turn before the remainder is read.
  function onData(bytes: Buffer): void {
    events.data(bytes)
    burstBytes += bytes.length
    if (burstBytes < TURN_BYTES) return
    burstBytes = 0
    controller?.pause()
    setImmediate(readOn)
  }

  function readOn(): void {
    if (!isPaused && !socket.destroyed) controller?.resume()
  }

  return {
    socket,
    send({ path, head, requestId, body }) {
      const handler = responseHandler({ ...events, data: onData }, fail, started => {
        controller = started
        if (isPaused) started.pause()
      })
      const all = [...headers, ...headerPairs(head), 'x-request-id', requestId]
      client.dispatch({ method, path, headers: all, body: method === 'GET' ? null : body }, handler)
    },
    pause() {
      isPaused = true
      controller?.pause()
    },
    // Later, since undici would deliver waiting data before this call returns.
    resume() {
      if (!isPaused) return
      isPaused = false
      setImmediate(readOn)
    },
    close() {
      client.destroy(new Error('the connection is closed')).catch(options.onBug)
    },
  }
}

function responseHandler(
  events: TransportEvents,
  fail: (error: unknown) => void,
  onStart: (controller: Dispatcher.DispatchController) => void,
): Dispatcher.DispatchHandler {
  let interim = 0
  let status = 0
  return {
    onRequestStart: onStart,
    onResponseStart(_controller, received, headers) {
      if (received < 200) {
        interim += 1
        if (interim > INTERIM_MAX) fail(new BadResponse(`an unexpected status ${received}`))
        return
      }
      status = received
      events.head(received, headersOf(headers))
    },
    onResponseData: (_controller, chunk) => events.data(chunk),
    // A body may follow these although they have none, and an interim head may have announced the connection's end.
    onResponseEnd: () => events.end(status !== 204 && status !== 304 && interim === 0),
    onResponseError: (_controller, error) => fail(error),
  }
}

// From header lines, as `headerLines` makes them.
function headerPairs(lines: string): readonly string[] {
  return lines.split('\r\n').flatMap(line => {
    const colon = line.indexOf(': ')
    return colon < 0 ? [] : [line.slice(0, colon), line.slice(colon + 2)]
  })
}

function headersOf(headers: Readonly<Record<string, string | string[] | undefined>>): ResponseHeaders {
  const map = new Map<string, string>()
  for (const [name, value] of Object.entries(headers)) {
    const first = Array.isArray(value) ? value[0] : value
    if (first !== undefined) map.set(name.toLowerCase(), first)
  }
  return map
}

function isUnnamed(error: Error | undefined): boolean {
  return error === undefined || error instanceof BadResponse
}

// Converts undici's errors for the pool: undefined for a connection that the upstream closed, a BadResponse for what cannot be
// parsed.
function poolError(error: Error | undefined, socket: Socket): Error | undefined {
  if (error === undefined) return undefined
  const { code, name, message } = error as Error & { readonly code?: unknown }
  // Some errors of the parser have no code.
  const isUndici = name === 'HTTPParserError' || (typeof code === 'string' && /^(HPE_|UND_ERR_)/.test(code))
  if (!isUndici) return error
  if (code === 'UND_ERR_SOCKET' && !/^bad /.test(message)) return undefined
  if (socket.readableEnded && code !== 'UND_ERR_HEADERS_OVERFLOW') return undefined
  return new BadResponse(message)
}
