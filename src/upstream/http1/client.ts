// The only place that opens outgoing sockets: an HTTP/1.1 client with one job, POST of a text to one host. Bounded in time and
// size, never follows a redirect, requests no encoding, and converts every error to a Failure. See
// docs/decisions/upstream-client.md.
import { connect as connectTcp, isIP, type OnReadOpts, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import type { Timeouts } from '../../domain/catalog.ts'
import { Failure } from '../../domain/failure.ts'
import type { Clock } from '../../lib/clock.ts'
import { hostOf, publicHost } from '../../lib/egress.ts'
import type { OutwardRoom } from '../connection-limit.ts'
import {
  dueMs,
  type Exchange,
  keepAliveMs,
  type Line,
  type OutwardHandler,
  type OutwardRequest,
  tooLate,
} from './connection.ts'
import { type Circumstances, ConnectTimeout, failureOf } from './failure.ts'
import { idleLines } from './idle-connections.ts'
import { headerLines } from './request-head.ts'
import { BadResponse, responseReader } from './response-parser.ts'

export type Outward = {
  send(request: OutwardRequest, handler: OutwardHandler): OutwardFlow
  // Requests in flight continue to their end; idle connections are closed, and no more are kept.
  retire(): void
  close(): Promise<void>
}

export type OutwardSetup = {
  // Scheme, host and port.
  readonly url: URL
  // Connect only to addresses on the public internet.
  readonly publicOnly?: boolean | undefined
  // Sent with every request, in addition to Host and the length.
  readonly headers: Readonly<Record<string, string>>
  readonly timeouts: Timeouts
  readonly connectionsMax: number
  // Shared with all other upstreams.
  readonly room: OutwardRoom
  readonly clock: Clock
  // For unexpected errors, which must not end the process.
  readonly onBug: (error: unknown) => void
}

export type OutwardFlow = { pause(): void; resume(): void; abort(): void }

const HEAD_BYTES_MAX = 32_768
const IDLE_MS = 20_000
const LARGE_BODY_CHARS = 262_144
// An upstream that answers twice mostly does so at once, so a short idle time detects it. Where its system delays the second
// answer until the first is acknowledged (Nagle), which may take 40 ms, only a longer idle time would help, and hundreds of
// connections more under load.
const REST_MS = 2
// The minimum idle time before a connection is given to another account: by then even a delayed answer has arrived, so a second
// answer reaches only the account that caused it.
const REST_ACROSS_ACCOUNTS_MS = 100
// Received data is processed before anything else happens, so all connections share one buffer.
const ARRIVED = Buffer.allocUnsafeSlow(65_536)
// The maximum read from one connection before others get their turn: about a hundred frames of a stream.
const TURN_BYTES = 65_536

export function outward(setup: OutwardSetup): Outward {
  const { timeouts, clock } = setup
  const preamble = preambleOf(setup)
  const lines = new Set<Line>()
  const idle = idleLines()
  let session: Buffer | undefined
  let retired = false
  setup.room.join(closeResting)

  function send({ body, ...request }: OutwardRequest, handler: OutwardHandler): OutwardFlow {
    const exchange: Exchange = {
      request,
      body,
      handler,
      startedMs: clock.monotonic(),
      sentMs: 0,
      heardMs: undefined,
      answered: false,
      line: undefined,
      paused: false,
      over: false,
    }
    const line = takeIdle(request.accountId, exchange.startedMs)
    if (line !== undefined) begin(exchange, line)
    else if (lines.size < setup.connectionsMax && setup.room.take()) openLine(exchange)
    else setImmediate(end, exchange, tooMany())

    return {
      pause() {
        exchange.paused = true
        lineOf(exchange)?.socket.pause()
      },
      resume() {
        if (!exchange.paused) return
        exchange.paused = false
        // Silence while we were paused is not the upstream's.
        if (exchange.heardMs !== undefined) exchange.heardMs = clock.monotonic()
        const line = lineOf(exchange)
        if (line === undefined) return
        line.socket.resume()
        watch(line)
      },
      abort() {
        exchange.over = true
        lineOf(exchange)?.socket.destroy()
      },
    }
  }

  function takeIdle(accountId: string, now: number): Line | undefined {
    const turn = turnOfLoop()
    return idle.take(accountId, now - REST_MS, turn) ?? idle.takeAny(now - REST_ACROSS_ACCOUNTS_MS, turn)
  }

  function begin(exchange: Exchange, line: Line): void {
    const { request, body } = exchange
    exchange.body = ''
    exchange.line = line
    line.accountId = request.accountId
    exchange.sentMs = clock.monotonic()
    line.exchange = exchange
    line.reader.expect()
    request.onSent()
    const head = `POST ${request.path} HTTP/1.1\r\n${preamble}${request.head}x-request-id: ${request.requestId}\r\ncontent-length: `
    if (body.length > LARGE_BODY_CHARS) writeLarge(line.socket, head, body)
    else line.socket.write(`${head}${Buffer.byteLength(body)}\r\n\r\n${body}`)
    if (exchange.paused) line.socket.pause()
    watch(line)
  }

  function openLine(exchange: Exchange): void {
    const socket = openSocket(setup, session, {
      buffer: ARRIVED,
      callback(bytes) {
        arrived(line, bytes)
        return mayReadOn(line, bytes)
      },
    })
    const line: Line = {
      socket,
      reader: responseReader(
        {
          head(status, headers) {
            line.idleMs = Math.min(IDLE_MS, keepAliveMs(headers))
            const served = line.exchange
            if (served === undefined) return
            served.heardMs = clock.monotonic()
            // From here on silence is bounded by another, shorter time.
            watch(line)
            if (!served.over) served.handler.start(status, headers)
          },
          data(bytes) {
            if (line.exchange?.over === false) line.exchange.handler.data(bytes)
          },
          end: reusable => answered(line, reusable),
        },
        { headBytesMax: HEAD_BYTES_MAX },
      ),
      exchange,
      ready: false,
      answers: 0,
      accountId: '',
      idleSinceMs: 0,
      readFromTurn: 0,
      burstBytes: 0,
      idleMs: IDLE_MS,
      timer: undefined,
      timerMs: Number.POSITIVE_INFINITY,
    }
    exchange.line = line
    lines.add(line)
    let trouble: Error | undefined
    const connecting = setTimeout(
      () => socket.destroy(new ConnectTimeout(`no connection after ${timeouts.connectMs} ms`)),
      timeouts.connectMs,
    )
    socket.on(setup.url.protocol === 'https:' ? 'secureConnect' : 'connect', () => {
      clearTimeout(connecting)
      line.ready = true
      if (line.exchange !== undefined) begin(line.exchange, line)
    })
    socket.on('session', (next: Buffer) => {
      session = next
    })
    socket.on('error', error => {
      trouble = error
    })
    socket.on('end', () => hungUp(line))
    socket.on('close', () => {
      clearTimeout(connecting)
      clearTimeout(line.timer)
      lines.delete(line)
      setup.room.giveBack()
      idle.forget(line)
      if (line.exchange !== undefined) end(line.exchange, failureOf(trouble, circumstances(line)))
    })
  }

  function arrived(line: Line, bytes: number): void {
    const { exchange } = line
    if (exchange !== undefined) {
      exchange.answered = true
      if (exchange.heardMs !== undefined) exchange.heardMs = clock.monotonic()
    }
    try {
      line.reader.read(ARRIVED.subarray(0, bytes))
    } catch (error) {
      if (!(error instanceof BadResponse)) setup.onBug(error)
      line.socket.destroy()
      if (exchange !== undefined) end(exchange, failureOf(error as Error, circumstances(line)))
    }
  }

  // One wake-up may bring megabytes: others get their turn before the remainder is read.
  function mayReadOn(line: Line, bytes: number): boolean {
    if (line.exchange?.paused) return false
    line.burstBytes += bytes
    if (line.burstBytes < TURN_BYTES) return true
    line.burstBytes = 0
    setImmediate(readOn, line)
    return false
  }

  function readOn({ socket, exchange }: Line): void {
    if (!socket.destroyed && exchange?.paused !== true) socket.resume()
  }

  // A response is complete. Unsent bytes of the request would be read as the beginning of the next one.
  function answered(line: Line, reusable: boolean): void {
    const { exchange, socket } = line
    line.exchange = undefined
    line.answers += 1
    if (reusable && !retired && !socket.destroyed && socket.writableLength === 0 && line.idleMs > 0) rest(line)
    else socket.destroy()
    if (exchange !== undefined) end(exchange, undefined)
  }

  function rest(line: Line): void {
    line.idleSinceMs = clock.monotonic()
    line.readFromTurn = turnOfLoop() + 2
    // It may have been paused when its last bytes had already arrived.
    if (line.socket.isPaused()) line.socket.resume()
    idle.add(line)
    watch(line)
  }

  function closeResting(): boolean {
    const line = idle.oldest()
    if (line === undefined) return false
    idle.forget(line)
    line.socket.destroy()
    return true
  }

  function hungUp(line: Line): void {
    const { exchange } = line
    if (!line.reader.ended() && exchange !== undefined) end(exchange, failureOf(undefined, circumstances(line)))
    line.socket.destroy()
  }

  function circumstances({ ready, answers, exchange }: Line): Circumstances {
    return { connected: ready, stale: answers > 0 && exchange?.answered === false }
  }

  function end(exchange: Exchange, failure: Failure | undefined): void {
    if (exchange.over) return
    exchange.over = true
    exchange.handler.end(failure)
  }

  // Its connection, unless that already serves another exchange.
  function lineOf(exchange: Exchange): Line | undefined {
    return exchange.line?.exchange === exchange ? exchange.line : undefined
  }

  // One timer per connection, which fires early and checks what is due instead of being reset for every request.
  function watch(line: Line): void {
    // Expected silence turns into idle time with the first content, without a call to us: so we check once per idle time.
    const lookMs = line.exchange?.request.silence?.expected
      ? clock.monotonic() + timeouts.idleMs
      : Number.POSITIVE_INFINITY
    const due = Math.min(dueMs(line, timeouts.idleMs), lookMs)
    if (line.timer !== undefined && line.timerMs <= due) return
    clearTimeout(line.timer)
    line.timerMs = due
    line.timer = setTimeout(() => ring(line), Math.max(1, Math.ceil(due - clock.monotonic()))).unref()
  }

  function ring(line: Line): void {
    line.timer = undefined
    const now = clock.monotonic()
    if (dueMs(line, timeouts.idleMs) > now) {
      watch(line)
      return
    }
    if (line.exchange !== undefined) end(line.exchange, new Failure('timeout', tooLate(line.exchange, now)))
    line.socket.destroy()
  }

  return {
    send,
    retire() {
      retired = true
      setup.room.leave(closeResting)
      for (const line of idle.all()) line.socket.destroy()
    },
    async close() {
      setup.room.leave(closeResting)
      for (const line of lines) line.socket.destroy()
    },
  }
}

// A busy process may not have read data that arrived long ago: after a full turn of the event loop, it has.
function turnOfLoop(): number {
  return performance.nodeTiming.uvMetricsInfo.loopCount
}

// Our own limit: the upstream may be healthy.
function tooMany(): Failure {
  return new Failure('refused', 'too many connections to this upstream are open', { ours: true })
}

function openSocket({ url, publicOnly }: OutwardSetup, session: Buffer | undefined, onread: OnReadOpts): Socket {
  const isTls = url.protocol === 'https:'
  const host = hostOf(url)
  const port = Number(url.port || (isTls ? 443 : 80))
  const options = { host, port, noDelay: true, keepAlive: true, onread, ...(publicOnly ? publicHost(host) : {}) }
  if (!isTls) return connectTcp(options)
  const servername = isIP(host) === 0 ? host : ''
  return connectTls({
    ...options,
    servername,
    ALPNProtocols: ['http/1.1'],
    ...(session === undefined ? {} : { session }),
  })
}

// Encoded once, and neither measured nor copied to its head first.
function writeLarge(socket: Socket, head: string, body: string): void {
  const bytes = Buffer.from(body)
  socket.cork()
  socket.write(`${head}${bytes.length}\r\n\r\n`)
  socket.write(bytes)
  socket.uncork()
}

function preambleOf({ url, headers }: OutwardSetup): string {
  return headerLines({ host: url.host, connection: 'keep-alive', ...headers })
}
