// Our own HTTP/1.1 client: requests are written as one text, and responses are parsed out of one read buffer that all
// connections share. It serves providers that are called directly; README.md says what it must never do.
// See docs/decisions/upstream-client.md.
import type { Socket } from 'node:net'
import type { Transport, TransportEvents } from '../connection.ts'
import { pooledClient } from '../connection-pool.ts'
import { type HttpClient, type HttpClientOptions, headerLines } from '../http-client.ts'
import { connectEvent, openSocket } from '../open-socket.ts'
import { responseParser } from './response-parser.ts'

const HEAD_BYTES_MAX = 32_768
const LARGE_BODY_CHARS = 262_144
// Bytes that arrive are parsed before anything else happens, so all connections share one buffer.
const ARRIVED = Buffer.allocUnsafeSlow(65_536)
// Read from one connection before others have their turn: some hundred frames of a stream.
const TURN_BYTES = 65_536

type Shared = {
  readonly options: HttpClientOptions
  // The header lines of every request.
  readonly preamble: string
  // Of the last TLS connection, to resume it.
  session: Buffer | undefined
}

export function http1Client(options: HttpClientOptions): HttpClient {
  const { url, headers } = options
  const preamble = headerLines({ host: url.host, connection: 'keep-alive', ...headers })
  const shared: Shared = { options, preamble, session: undefined }
  return pooledClient(options, events => openTransport(shared, events))
}

function openTransport(shared: Shared, events: TransportEvents): Transport {
  const { url, publicOnly } = shared.options
  const parser = responseParser(events, { headBytesMax: HEAD_BYTES_MAX })
  let isPaused = false
  // Read since others had their turn.
  let burstBytes = 0
  let problem: Error | undefined
  const socket = openSocket({ url, publicOnly, session: shared.session, onread: { buffer: ARRIVED, callback: onRead } })
  socket.on(connectEvent(url), events.ready)
  socket.on('session', (session: Buffer) => {
    shared.session = session
  })
  socket.on('error', error => {
    problem = error
  })
  socket.on('end', () => {
    if (!parser.ended()) events.failed(undefined)
    socket.destroy()
  })
  socket.on('close', () => events.closed(problem))

  // Whether more may be read now. One wake-up may bring megabytes: others get their turn before the remainder is read.
  function onRead(bytes: number): boolean {
    events.arrived()
    try {
      parser.read(ARRIVED.subarray(0, bytes))
    } catch (error) {
      socket.destroy()
      events.failed(error as Error)
    }
    if (isPaused) return false
    burstBytes += bytes
    if (burstBytes < TURN_BYTES) return true
    burstBytes = 0
    setImmediate(readOn)
    return false
  }

  function readOn(): void {
    if (!socket.destroyed && !isPaused) socket.resume()
  }

  return {
    isDestroyed: () => socket.destroyed,
    isDrained: () => socket.writableLength === 0,
    send({ path, head, requestId, body }) {
      parser.expect()
      const start = `POST ${path} HTTP/1.1\r\n${shared.preamble}${head}x-request-id: ${requestId}\r\ncontent-length: `
      if (body.length > LARGE_BODY_CHARS) writeLarge(socket, start, body)
      else socket.write(`${start}${Buffer.byteLength(body)}\r\n\r\n${body}`)
    },
    pause() {
      isPaused = true
      socket.pause()
    },
    resume() {
      if (!isPaused) return
      isPaused = false
      socket.resume()
    },
    destroy: error => void socket.destroy(error),
  }
}

// Encoded once, and neither measured nor copied after its head first.
function writeLarge(socket: Socket, start: string, body: string): void {
  const bytes = Buffer.from(body)
  socket.cork()
  socket.write(`${start}${bytes.length}\r\n\r\n`)
  socket.write(bytes)
  socket.uncork()
}
