// The express path: completions that arrive whole, plain and one at a time, as nearly all do, are read and answered here, on the
// bare socket. Everything else on a connection is put back, and Node's HTTP server has the connection from then on.
// See docs/decisions/express-path.md.
import type { Socket } from 'node:net'
import type { RefusalCode } from '../../domain/refusal.ts'
import { byteQueue } from '../../lib/byte-queue.ts'
import type { Clock } from '../../lib/clock.ts'
import type { CoarseTimer, CoarseTimers } from '../../lib/coarse-timers.ts'
import type { ExpressRequest } from '../http-types.ts'
import { destroyUnlessRead } from '../response.ts'
import { COMPLETION_PATHS } from '../v1/endpoint.ts'
import { type HeadBounds, type RequestReader, requestReader, type WholeRequest } from './request-parser.ts'
import { dateOf, ExpressResponse, KEEP_ALIVE_MS, type ResponseEvents } from './response.ts'

export type ExpressDeps = HeadBounds & {
  readonly serve: (req: ExpressRequest, res: ExpressResponse) => Promise<void>
  // With the bytes that have arrived on it.
  readonly handOver: (socket: Socket, arrived: Buffer) => void
  readonly refuse: (socket: Socket, code: RefusalCode) => void
  readonly timers: CoarseTimers
  readonly clock: Clock
  // How long a new connection may send nothing.
  readonly headersTimeoutMs: number
  readonly writeStallMs: number
}

export type ExpressPath = {
  enter(socket: Socket): void
  // Whether a connection of this path is idle.
  isIdle(socket: Socket): boolean
  // From now on connections end when they are idle.
  closeIdle(): void
  closeAll(): void
}

// How long the remainder of a body is waited for here; slow bodies go to Node, which has timeouts for them.
const BODY_WAIT_MS = 200
const BYTES_MAX = 64 * 1024
// Longer than announced to the caller, so that it never sends into a connection that is being closed.
const IDLE_MS = KEEP_ALIVE_MS + 1_000

type State = {
  readonly deps: ExpressDeps
  readonly date: () => string
  readonly read: RequestReader
  // Each with a function that tells whether it is idle.
  readonly connections: Map<Socket, () => boolean>
  isClosing: boolean
}

export function expressPath(deps: ExpressDeps): ExpressPath {
  const state: State = {
    deps,
    date: dateOf(deps.clock),
    read: requestReader('POST', Object.values(COMPLETION_PATHS), { ...deps, bytesMax: BYTES_MAX }),
    connections: new Map(),
    isClosing: false,
  }
  const { connections } = state
  return {
    enter: socket => enter(socket, state),
    isIdle: socket => connections.get(socket)?.() ?? false,
    closeIdle() {
      state.isClosing = true
      for (const [socket, isIdle] of connections) if (isIdle()) socket.destroy()
    },
    closeAll() {
      for (const socket of connections.keys()) socket.destroy()
    },
  }
}

function enter(socket: Socket, state: State): void {
  const { deps, connections } = state
  const { timers } = deps
  // A request that is not whole, or what followed one that is not answered.
  const kept = byteQueue()
  // The total length of an incomplete request.
  let wholeBytes = 0
  let response: ExpressResponse | undefined
  let bodyWait: CoarseTimer | undefined
  const fresh = timers.set(deps.headersTimeoutMs, () => refuse('request_timeout'))
  const idle = timers.set(IDLE_MS, () => (response === undefined ? socket.destroy() : idle.again()))
  const events: ResponseEvents = { date: state.date, onEnd: onResponseEnd, onFinish }
  connections.set(socket, isIdle)
  socket.on('error', ignore).on('data', onData).on('end', onEnd).on('drain', onDrain).on('close', leave)

  function onData(arrived: Buffer): void {
    kept.append(arrived)
    if (response !== undefined) {
      if (kept.size() > BYTES_MAX) socket.pause()
      return
    }
    if (kept.size() < wholeBytes) return
    fresh.cancel()
    const found = state.read(kept.peek(kept.size()))
    if (typeof found === 'object') serve(found)
    else if (found === 'other') handOver()
    else {
      wholeBytes = found
      bodyWait = timers.set(BODY_WAIT_MS, handOver)
    }
  }

  function serve({ method, url, httpVersion, headers, closes, body }: WholeRequest): void {
    bodyWait?.cancel()
    bodyWait = undefined
    wholeBytes = 0
    kept.clear()
    response = new ExpressResponse({ method, url, httpVersion, headers, closes, body, socket, complete: true }, events)
    void deps.serve(response.req, response)
  }

  function onResponseEnd(ended: ExpressResponse): void {
    destroyUnlessRead(ended, deps.writeStallMs)
  }

  function onFinish(ended: ExpressResponse): void {
    response = undefined
    if (ended.closes || state.isClosing || !socket.writable) close()
    else if (kept.size() > 0) handOver()
    else idle.again()
  }

  // Input during or after the last answer is dropped.
  function close(): void {
    leave()
    kept.clear()
    socket.destroySoon()
  }

  function onDrain(): void {
    response?.drained()
  }

  // A caller that half-closes has left, even if what is buffered for it would keep its connection open.
  function onEnd(): void {
    if (response !== undefined && !response.writableEnded) socket.destroy()
    else if (response === undefined && kept.size() > 0) refuse('malformed_request')
    else socket.end()
  }

  function handOver(): void {
    leave()
    socket.off('error', ignore)
    deps.handOver(socket, kept.take(kept.size()))
  }

  function refuse(code: RefusalCode): void {
    leave()
    deps.refuse(socket, code)
  }

  function leave(): void {
    connections.delete(socket)
    socket.off('data', onData).off('end', onEnd).off('drain', onDrain).off('close', leave)
    fresh.cancel()
    idle.cancel()
    bodyWait?.cancel()
    response?.closed()
    response = undefined
  }

  function isIdle(): boolean {
    return response === undefined && kept.size() === 0
  }
}

function ignore(): void {}
