// An HTTP client over connections that are kept open: which connection a request takes, when silence ends it, and how many
// connections there may be. What carries the bytes is a Transport, so these rules are the same for every client.
import { Failure } from '../domain/failure.ts'
import { type Connection, dueMs, type Exchange, keepAliveMs, type OpenTransport, timeoutMessage } from './connection.ts'
import { BadResponse, type Circumstances, ConnectTimeout, failureOf } from './connection-failure.ts'
import type {
  HttpClient,
  HttpClientOptions,
  HttpClientRequest,
  ResponseHandler,
  ResponseHeaders,
  ResponseStream,
} from './http-client.ts'
import { type IdleConnections, idleConnections } from './idle-connections.ts'

const IDLE_MS = 20_000
// An upstream that sends a second response mostly does so at once: a connection that was idle for a moment has nothing left
// to deliver. Where the upstream's system delays the second response until the first is acknowledged (Nagle), which may take
// 40 ms, only a longer pause would help, at the price of hundreds of additional connections under load.
const IDLE_BEFORE_REUSE_MS = 2
// Required before a connection goes to another account: then even a delayed response has arrived, and a second response that comes
// in this time reaches nobody but the account that caused it. A connection that may go to any account is ripe; which ones are is
// found out no more often than every few milliseconds, for all of them.
const IDLE_BEFORE_OTHER_ACCOUNT_MS = 100
const RIPEN_EVERY_MS = 10

type Pool = {
  readonly options: HttpClientOptions
  readonly open: OpenTransport
  readonly connections: Set<Connection>
  readonly idle: IdleConnections
  isRipening: boolean
  isRetired: boolean
}

export function pooledClient(options: HttpClientOptions, open: OpenTransport): HttpClient {
  const pool: Pool = {
    options,
    open,
    connections: new Set(),
    idle: idleConnections(),
    isRipening: false,
    isRetired: false,
  }
  const closeIdle = () => closeOldest(pool)
  options.limit.join(closeIdle)
  return {
    send: (request, handler) => send(pool, request, handler),
    retire() {
      pool.isRetired = true
      options.limit.leave(closeIdle)
      for (const { transport } of pool.idle.all()) transport.destroy()
    },
    async close() {
      options.limit.leave(closeIdle)
      for (const { transport } of pool.connections) transport.destroy()
    },
  }
}

function send(pool: Pool, request: HttpClientRequest, handler: ResponseHandler): ResponseStream {
  const { options, connections } = pool
  const exchange: Exchange = {
    request,
    handler,
    startedMs: options.clock.monotonic(),
    sentMs: 0,
    heardMs: undefined,
    answered: false,
    connection: undefined,
    paused: false,
    over: false,
  }
  const connection = takeIdle(pool, request.accountId, exchange.startedMs)
  if (connection !== undefined) begin(pool, exchange, connection)
  else if (connections.size < options.connectionsMax && options.limit.take()) openConnection(pool, exchange)
  else setImmediate(end, exchange, tooManyConnections())
  return streamOf(pool, exchange)
}

function streamOf(pool: Pool, exchange: Exchange): ResponseStream {
  return {
    pause() {
      exchange.paused = true
      connectionOf(exchange)?.transport.pause()
    },
    resume() {
      if (!exchange.paused) return
      exchange.paused = false
      // Silence that we caused is not the upstream's.
      if (exchange.heardMs !== undefined) exchange.heardMs = pool.options.clock.monotonic()
      const connection = connectionOf(exchange)
      if (connection === undefined) return
      connection.transport.resume()
      if (connection.ready) watch(pool, connection)
    },
    abort() {
      exchange.over = true
      connectionOf(exchange)?.transport.destroy()
    },
  }
}

// Undefined once its connection serves another exchange.
function connectionOf(exchange: Exchange): Connection | undefined {
  return exchange.connection?.exchange === exchange ? exchange.connection : undefined
}

function takeIdle({ idle }: Pool, accountId: string, now: number): Connection | undefined {
  return idle.take(accountId, now - IDLE_BEFORE_REUSE_MS, turnOfLoop()) ?? idle.takeAny()
}

function begin(pool: Pool, exchange: Exchange, connection: Connection): void {
  const { request } = exchange
  exchange.connection = connection
  exchange.sentMs = pool.options.clock.monotonic()
  connection.accountId = request.accountId
  connection.exchange = exchange
  request.onSent()
  connection.transport.send(request)
  request.body = ''
  if (exchange.paused) connection.transport.pause()
  watch(pool, connection)
}

function openConnection(pool: Pool, exchange: Exchange): void {
  const { connectMs } = pool.options.timeouts
  const connecting = setTimeout(() => setImmediate(giveUpConnecting, connection, connectMs), connectMs)
  const transport = pool.open({
    ready() {
      clearTimeout(connecting)
      connection.ready = true
      if (connection.exchange !== undefined) begin(pool, connection.exchange, connection)
    },
    arrived: () => onArrived(pool, connection),
    head: (status, headers) => onHead(pool, connection, status, headers),
    data(bytes) {
      if (connection.exchange?.over === false) connection.exchange.handler.data(bytes)
    },
    end: reusable => onEnd(pool, connection, reusable),
    failed: error => onFailed(pool, connection, error),
    closed(error) {
      clearTimeout(connecting)
      onClosed(pool, connection, error)
    },
  })
  const connection = newConnection(transport, exchange)
  exchange.connection = connection
  pool.connections.add(connection)
}

function newConnection(transport: Connection['transport'], exchange: Exchange): Connection {
  return {
    transport,
    exchange,
    ready: false,
    answers: 0,
    accountId: '',
    idleSinceMs: 0,
    readFromTurn: 0,
    idleMs: IDLE_MS,
    timer: undefined,
    timerMs: Number.POSITIVE_INFINITY,
    older: undefined,
    newer: undefined,
  }
}

function onArrived({ options }: Pool, { exchange }: Connection): void {
  if (exchange === undefined) return
  exchange.answered = true
  if (exchange.heardMs !== undefined) exchange.heardMs = options.clock.monotonic()
}

function onHead(pool: Pool, connection: Connection, status: number, headers: ResponseHeaders): void {
  connection.idleMs = Math.min(IDLE_MS, keepAliveMs(headers))
  const { exchange } = connection
  if (exchange === undefined) return
  exchange.heardMs = pool.options.clock.monotonic()
  // From here on silence is bounded by another, shorter timeout.
  watch(pool, connection)
  if (!exchange.over) exchange.handler.start(status, headers)
}

// A response is complete. What has not been sent of the request would be read as the beginning of the next one.
function onEnd(pool: Pool, connection: Connection, reusable: boolean): void {
  const { exchange, transport } = connection
  connection.exchange = undefined
  connection.answers += 1
  const isClean = reusable && !transport.isDestroyed() && transport.isDrained()
  if (isClean && !pool.isRetired && connection.idleMs > 0) release(pool, connection)
  else transport.destroy()
  if (exchange !== undefined) end(exchange, undefined)
}

function release(pool: Pool, connection: Connection): void {
  connection.idleSinceMs = pool.options.clock.monotonic()
  connection.readFromTurn = turnOfLoop() + 2
  // It may have been paused when its last bytes had already arrived.
  connection.transport.resume()
  pool.idle.add(connection)
  if (!pool.isRipening) ripenWhenDue(pool, connection.idleSinceMs)
  watch(pool, connection)
}

function ripenWhenDue(pool: Pool, idleSinceMs: number): void {
  pool.isRipening = true
  const waitMs = idleSinceMs + IDLE_BEFORE_OTHER_ACCOUNT_MS - pool.options.clock.monotonic()
  setTimeout(noteTime, Math.max(RIPEN_EVERY_MS, waitMs), pool).unref()
}

// A process that stood still finds a request and a second response at once, in any order. So what counts is not the time at which
// a connection is taken: between a timer and an immediate the event loop reads all that had arrived when the timer fired.
function noteTime(pool: Pool): void {
  setImmediate(ripen, pool, pool.options.clock.monotonic())
}

function ripen(pool: Pool, readUntilMs: number): void {
  const nextSinceMs = pool.idle.ripen(readUntilMs - IDLE_BEFORE_OTHER_ACCOUNT_MS)
  if (nextSinceMs === undefined) pool.isRipening = false
  else ripenWhenDue(pool, nextSinceMs)
}

function onFailed({ options }: Pool, connection: Connection, error: Error | undefined): void {
  if (error !== undefined && !(error instanceof BadResponse)) options.onBug(error)
  if (connection.exchange !== undefined) end(connection.exchange, failureOf(error, circumstances(connection)))
}

function onClosed(pool: Pool, connection: Connection, error: Error | undefined): void {
  clearTimeout(connection.timer)
  pool.connections.delete(connection)
  pool.options.limit.giveBack()
  pool.idle.forget(connection)
  if (connection.exchange !== undefined) end(connection.exchange, failureOf(error, circumstances(connection)))
}

function closeOldest({ idle }: Pool): boolean {
  const connection = idle.oldest()
  if (connection === undefined) return false
  idle.forget(connection)
  connection.transport.destroy()
  return true
}

function circumstances({ ready, answers, exchange }: Connection): Circumstances {
  return { connected: ready, stale: answers > 0 && exchange?.answered === false }
}

function end(exchange: Exchange, failure: Failure | undefined): void {
  if (exchange.over) return
  exchange.over = true
  exchange.handler.end(failure)
}

// One timer per connection, which fires early and looks at what is due, instead of being set again for every request.
function watch(pool: Pool, connection: Connection): void {
  const { clock, timeouts } = pool.options
  // Expected silence becomes idle time with the first content, without notice: so the timer fires once per idle time.
  const lookMs = connection.exchange?.request.silence?.expected
    ? clock.monotonic() + timeouts.idleMs
    : Number.POSITIVE_INFINITY
  const due = Math.min(dueMs(connection, timeouts.idleMs), lookMs)
  if (connection.timer !== undefined && connection.timerMs <= due) return
  clearTimeout(connection.timer)
  connection.timerMs = due
  const waitMs = Math.max(1, Math.ceil(due - clock.monotonic()))
  connection.timer = setTimeout(onTimer, waitMs, pool, connection).unref()
}

function onTimer(pool: Pool, connection: Connection): void {
  connection.timer = undefined
  const { clock, timeouts } = pool.options
  const now = clock.monotonic()
  if (dueMs(connection, timeouts.idleMs) > now) {
    watch(pool, connection)
    return
  }
  setImmediate(giveUp, pool, connection, now)
}

// After timers that are due the event loop reads what has arrived. So a process that stood still for long finds the answer that came
// meanwhile before it gives up.
function giveUp(pool: Pool, connection: Connection, now: number): void {
  // Closed, or watched again.
  if (!pool.connections.has(connection) || connection.timer !== undefined) return
  if (dueMs(connection, pool.options.timeouts.idleMs) > now) {
    watch(pool, connection)
    return
  }
  const { exchange } = connection
  if (exchange !== undefined) end(exchange, new Failure('timeout', timeoutMessage(exchange, now)))
  connection.transport.destroy()
}

function giveUpConnecting({ ready, transport }: Connection, connectMs: number): void {
  if (!ready) transport.destroy(new ConnectTimeout(`no connection after ${connectMs} ms`))
}

// A busy process may not have read what arrived long ago: when a whole turn of the event loop has passed, it has.
function turnOfLoop(): number {
  return performance.nodeTiming.uvMetricsInfo.loopCount
}

// Our own bound: the upstream may be healthy.
function tooManyConnections(): Failure {
  return new Failure('refused', 'too many open connections to this upstream', { ours: true })
}
