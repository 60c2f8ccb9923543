// The only place that opens sockets outward: an HTTP/1.1 client with one job, POST of a JSON text to one address.
// Bounded in time and size, never follows a redirect, asks for no encoding, and turns everything that can go wrong on a
// wire into a Failure.
import { connect as connectTcp, isIP, type OnReadOpts, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import type { Timeouts } from '../domain/catalog.ts'
import { Failure, type FailureKind } from '../domain/failure.ts'
import type { Clock } from '../lib/clock.ts'
import { BadResponse, type ResponseHeaders, type ResponseReader, responseReader } from '../lib/http-response.ts'

export type Outward = {
  send(request: OutwardRequest, handler: OutwardHandler): OutwardFlow
  close(): Promise<void>
}

export type OutwardSetup = {
  readonly url: URL
  // Sent with every request, beside Host and what the length needs.
  readonly headers: Readonly<Record<string, string>>
  readonly timeouts: Timeouts
  readonly connectionsMax: number
  readonly clock: Clock
}

export type OutwardRequest = {
  readonly requestId: string
  readonly body: string
  readonly firstByteMs: number
  readonly totalMs: number
  // The request leaves.
  onSent(): void
}

export type OutwardHandler = {
  start(status: number, headers: ResponseHeaders): void
  // The bytes are lent for the call only.
  data(chunk: Buffer): void
  // Once, last; never after `abort`.
  end(failure: Failure | undefined): void
}

export type OutwardFlow = { pause(): void; resume(): void; abort(): void }

type Errand = {
  readonly request: OutwardRequest
  readonly handler: OutwardHandler
  readonly startedMs: number
  sentMs: number
  // The last sign of the upstream; undefined until its head is complete.
  heardMs: number | undefined
  line: Line | undefined
  paused: boolean
  over: boolean
}

// One connection. It serves one errand at a time and waits between them.
type Line = {
  readonly socket: Socket
  readonly reader: ResponseReader
  errand: Errand | undefined
  ready: boolean
  idleSinceMs: number
  idleMs: number
  alarm: NodeJS.Timeout | undefined
  alarmMs: number
}

const HEAD_BYTES_MAX = 32_768
const IDLE_MS = 20_000

export function outward(setup: OutwardSetup): Outward {
  const { timeouts, clock } = setup
  const preamble = preambleOf(setup)
  const lines = new Set<Line>()
  // The one used last is the first to be used again, so that the others may grow old.
  const idle: Line[] = []
  let session: Buffer | undefined

  function send(request: OutwardRequest, handler: OutwardHandler): OutwardFlow {
    const errand: Errand = {
      request,
      handler,
      startedMs: clock.monotonic(),
      sentMs: 0,
      heardMs: undefined,
      line: undefined,
      paused: false,
      over: false,
    }
    const line = takeIdle()
    if (line !== undefined) begin(errand, line)
    else if (lines.size < setup.connectionsMax) openLine(errand)
    else setImmediate(end, errand, new Failure('refused', 'too many connections to this upstream are open'))

    return {
      pause() {
        errand.paused = true
        lineOf(errand)?.socket.pause()
      },
      resume() {
        if (!errand.paused) return
        errand.paused = false
        // Silence that we asked for is not the upstream's.
        if (errand.heardMs !== undefined) errand.heardMs = clock.monotonic()
        const line = lineOf(errand)
        if (line === undefined) return
        line.socket.resume()
        watch(line)
      },
      abort() {
        errand.over = true
        lineOf(errand)?.socket.destroy()
      },
    }
  }

  function takeIdle(): Line | undefined {
    for (;;) {
      const line = idle.pop()
      if (line === undefined || !line.socket.destroyed) return line
    }
  }

  function begin(errand: Errand, line: Line): void {
    const { request } = errand
    errand.line = line
    errand.sentMs = clock.monotonic()
    line.errand = errand
    line.reader.expect()
    request.onSent()
    line.socket.write(
      `${preamble}x-request-id: ${request.requestId}\r\ncontent-length: ${Buffer.byteLength(request.body)}\r\n\r\n${request.body}`,
    )
    if (errand.paused) line.socket.pause()
    watch(line)
  }

  function openLine(errand: Errand): void {
    const socket = openSocket(setup.url, session, {
      buffer: ARRIVED,
      callback(bytes) {
        arrived(line, bytes)
        return line.errand?.paused !== true
      },
    })
    const line: Line = {
      socket,
      reader: responseReader(
        {
          head(status, headers) {
            line.idleMs = Math.min(IDLE_MS, keepAliveMs(headers))
            const served = line.errand
            if (served === undefined) return
            served.heardMs = clock.monotonic()
            if (!served.over) served.handler.start(status, headers)
          },
          data(bytes) {
            if (line.errand?.over === false) line.errand.handler.data(bytes)
          },
          end: reusable => answered(line, reusable),
        },
        { headBytesMax: HEAD_BYTES_MAX },
      ),
      errand,
      ready: false,
      idleSinceMs: 0,
      idleMs: IDLE_MS,
      alarm: undefined,
      alarmMs: Number.POSITIVE_INFINITY,
    }
    errand.line = line
    lines.add(line)
    let trouble: Error | undefined
    const connecting = setTimeout(
      () => socket.destroy(new Timeout(`no connection after ${timeouts.connectMs} ms`)),
      timeouts.connectMs,
    )
    socket.on(setup.url.protocol === 'https:' ? 'secureConnect' : 'connect', () => {
      clearTimeout(connecting)
      line.ready = true
      if (line.errand !== undefined) begin(line.errand, line)
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
      clearTimeout(line.alarm)
      lines.delete(line)
      forgetIdle(line)
      if (line.errand !== undefined) end(line.errand, failureOf(trouble, line.ready))
    })
  }

  function arrived(line: Line, bytes: number): void {
    const { errand } = line
    if (errand?.heardMs !== undefined) errand.heardMs = clock.monotonic()
    try {
      line.reader.read(ARRIVED.subarray(0, bytes))
    } catch (error) {
      if (!(error instanceof BadResponse)) throw error
      line.socket.destroy(error)
      if (errand !== undefined && line.errand === errand) end(errand, failureOf(error, true))
    }
  }

  // A response is complete. What we had not yet sent of the request would be read as the beginning of the next.
  function answered(line: Line, reusable: boolean): void {
    const { errand, socket } = line
    line.errand = undefined
    if (reusable && !socket.destroyed && socket.writableLength === 0 && line.idleMs > 0) rest(line)
    else socket.destroy()
    if (errand !== undefined) end(errand, undefined)
  }

  function rest(line: Line): void {
    line.idleSinceMs = clock.monotonic()
    // It may have been paused when its last bytes had already come.
    if (line.socket.isPaused()) line.socket.resume()
    idle.push(line)
    watch(line)
  }

  function hungUp(line: Line): void {
    const { errand } = line
    if (!line.reader.ended() && errand !== undefined) {
      end(errand, new Failure('reset', 'the upstream closed the connection before its answer was complete'))
    }
    line.socket.destroy()
  }

  function end(errand: Errand, failure: Failure | undefined): void {
    if (errand.over) return
    errand.over = true
    errand.handler.end(failure)
  }

  // Its connection, as long as that has not gone on to another errand.
  function lineOf(errand: Errand): Line | undefined {
    return errand.line?.errand === errand ? errand.line : undefined
  }

  function forgetIdle(line: Line): void {
    const at = idle.indexOf(line)
    if (at >= 0) idle.splice(at, 1)
  }

  // One timer a connection, which goes off early rather than being set anew for every request and looks what is due.
  function watch(line: Line): void {
    const now = clock.monotonic()
    const due = dueMs(line)
    if (line.alarm !== undefined && line.alarmMs <= due) return
    clearTimeout(line.alarm)
    line.alarmMs = due
    line.alarm = setTimeout(() => ring(line), Math.max(1, Math.ceil(due - now))).unref()
  }

  function ring(line: Line): void {
    line.alarm = undefined
    const now = clock.monotonic()
    if (dueMs(line) > now) {
      watch(line)
      return
    }
    if (line.errand !== undefined) end(line.errand, new Failure('timeout', tooLate(line.errand, now)))
    line.socket.destroy()
  }

  function tooLate({ request, startedMs, sentMs, heardMs }: Errand, now: number): string {
    if (now - startedMs >= request.totalMs) return `no end after ${Math.round(request.totalMs)} ms`
    return heardMs === undefined
      ? `no answer after ${Math.round(now - sentMs)} ms`
      : `nothing more for ${Math.round(now - heardMs)} ms`
  }

  function dueMs({ errand, idleSinceMs, idleMs }: Line): number {
    if (errand === undefined) return idleSinceMs + idleMs
    const total = errand.startedMs + errand.request.totalMs
    if (errand.paused) return total
    const silence =
      errand.heardMs === undefined ? errand.sentMs + errand.request.firstByteMs : errand.heardMs + timeouts.idleMs
    return Math.min(total, silence)
  }

  return {
    send,
    async close() {
      for (const line of lines) line.socket.destroy()
    },
  }
}

// What arrives is read before anything else happens, so all connections share one buffer.
const ARRIVED = Buffer.allocUnsafeSlow(65_536)

function openSocket(url: URL, session: Buffer | undefined, onread: OnReadOpts): Socket {
  const isTls = url.protocol === 'https:'
  const host = url.hostname.replace(/^\[|\]$/g, '')
  const port = Number(url.port || (isTls ? 443 : 80))
  const options = { host, port, noDelay: true, keepAlive: true, onread }
  if (!isTls) return connectTcp(options)
  const servername = isIP(host) === 0 ? host : ''
  return connectTls({
    ...options,
    servername,
    ALPNProtocols: ['http/1.1'],
    ...(session === undefined ? {} : { session }),
  })
}

function preambleOf({ url, headers }: OutwardSetup): string {
  const lines = Object.entries({ host: url.host, connection: 'keep-alive', ...headers }).map(([name, value]) => {
    if (/[^\t\x20-\x7e]/.test(value)) throw new Error(`the header ${name} for ${url.host} holds an odd character`)
    return `${name}: ${value}\r\n`
  })
  return `POST ${url.pathname}${url.search} HTTP/1.1\r\n${lines.join('')}`
}

// A connection is given up a little before the upstream would do so.
function keepAliveMs(headers: ResponseHeaders): number {
  const seconds = /\btimeout=(\d{1,6})/.exec(headers.get('keep-alive') ?? '')?.[1]
  return seconds === undefined ? Number.POSITIVE_INFINITY : Number(seconds) * 1000 - 1000
}

class Timeout extends Error {
  readonly code = 'ETIMEDOUT'
}

const KINDS: Readonly<Record<string, FailureKind>> = {
  ECONNREFUSED: 'refused',
  EHOSTUNREACH: 'refused',
  ENETUNREACH: 'refused',
  EADDRNOTAVAIL: 'refused',
  ENOTFOUND: 'dns',
  EAI_AGAIN: 'dns',
  ETIMEDOUT: 'connect_timeout',
  ECONNRESET: 'reset',
  EPIPE: 'reset',
  EPROTO: 'tls',
}

function failureOf(error: Error | undefined, connected: boolean): Failure {
  if (error === undefined) return new Failure('reset', 'the connection was closed')
  if (error instanceof AggregateError && error.errors[0] instanceof Error) return failureOf(error.errors[0], connected)
  if (error instanceof BadResponse)
    return new Failure('nonsense', `the upstream's answer cannot be read: ${error.message}`)
  const { code } = error as { code?: unknown }
  if (typeof code !== 'string') return new Failure('reset', error.message)
  // What is unknown and comes before a connection stands is about certificates: OpenSSL has many words for it.
  return new Failure(KINDS[code] ?? (connected ? 'reset' : 'tls'), `${code}: ${error.message}`)
}
