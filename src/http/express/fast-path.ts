// The express path: chats that arrive complete, plain and one at a time, as nearly all do, are read and answered here, on the
// bare socket. Anything else on a connection is pushed back, and Node's HTTP server owns it from then on. See
// docs/decisions/express-path.md.
import type { Socket } from 'node:net'
import type { RefusalCode } from '../../domain/refusal.ts'
import { byteQueue } from '../../lib/byte-queue.ts'
import type { Clock } from '../../lib/clock.ts'
import type { Alarm, Alarms } from '../../lib/coarse-timers.ts'
import type { LaneRequest } from '../http-types.ts'
import { destroyUnlessRead } from '../response.ts'
import { CHATS } from '../v1/endpoint.ts'
import { type HeadBounds, requestReader, type WholeRequest } from './request-parser.ts'
import { dateOf, KEEP_ALIVE_MS, type LaneDuties, LaneReply } from './response.ts'

export type LaneNeeds = HeadBounds & {
  readonly serve: (req: LaneRequest, reply: LaneReply) => Promise<void>
  // With the bytes that have arrived on it.
  readonly handOver: (socket: Socket, arrived: Buffer) => void
  readonly refuse: (socket: Socket, code: RefusalCode) => void
  readonly alarms: Alarms
  readonly clock: Clock
  // How long a new connection may stay silent.
  readonly headersTimeoutMs: number
  readonly writeStallMs: number
}

export type Lane = {
  enter(socket: Socket): void
  // Whether a connection of this path is idle.
  isIdle(socket: Socket): boolean
  // From now on connections end when they are idle.
  closeIdle(): void
  closeAll(): void
}

// How long the remainder of a body is waited for here; slow bodies go to Node, which has timeouts for them.
const REST_MS = 200
const BYTES_MAX = 64 * 1024
// Longer than announced to the caller, so that it never sends into a connection that is being closed.
const IDLE_MS = KEEP_ALIVE_MS + 1_000

export function expressLane(needs: LaneNeeds): Lane {
  const { alarms } = needs
  const date = dateOf(needs.clock)
  const read = requestReader('POST', CHATS, { ...needs, bytesMax: BYTES_MAX })
  // Each with a function that tells whether it is idle.
  const connections = new Map<Socket, () => boolean>()
  let closing = false

  function enter(socket: Socket): void {
    // An incomplete request, or what was sent after one that is not answered yet.
    const kept = byteQueue()
    // The total length of an incomplete request.
    let wholeBytes = 0
    let reply: LaneReply | undefined
    let rest: Alarm | undefined
    const fresh = alarms.set(needs.headersTimeoutMs, () => refuse('request_timeout'))
    const idle = alarms.set(IDLE_MS, () => (reply === undefined ? socket.destroy() : idle.again()))
    const duties: LaneDuties = { date, onEnd: onReplyEnd, onFinish }
    connections.set(socket, isIdle)
    socket.on('error', ignore).on('data', onData).on('end', onEnd).on('drain', onDrain).on('close', leave)

    function onData(arrived: Buffer): void {
      kept.append(arrived)
      if (reply !== undefined) {
        if (kept.length > BYTES_MAX) socket.pause()
        return
      }
      if (kept.length < wholeBytes) return
      fresh.cancel()
      const found = read(kept.peek(kept.length))
      if (typeof found === 'object') serve(found)
      else if (found === 'other') handOver()
      else {
        wholeBytes = found
        rest = alarms.set(REST_MS, handOver)
      }
    }

    function serve({ method, url, httpVersion, headers, closes, body }: WholeRequest): void {
      rest?.cancel()
      rest = undefined
      wholeBytes = 0
      kept.clear()
      reply = new LaneReply({ method, url, httpVersion, headers, closes, body, socket, complete: true }, duties)
      void needs.serve(reply.req, reply)
    }

    function onReplyEnd(ended: LaneReply): void {
      destroyUnlessRead(ended, needs.writeStallMs)
    }

    function onFinish(ended: LaneReply): void {
      reply = undefined
      if (ended.closes || closing || !socket.writable) close()
      else if (kept.length > 0) handOver()
      else idle.again()
    }

    // Input during or after the last answer is ignored.
    function close(): void {
      leave()
      kept.clear()
      socket.destroySoon()
    }

    function onDrain(): void {
      reply?.drained()
    }

    // A caller that half-closes has left, also where buffered output would keep its connection open.
    function onEnd(): void {
      if (reply !== undefined && !reply.writableEnded) socket.destroy()
      else if (reply === undefined && kept.length > 0) refuse('malformed_request')
      else socket.end()
    }

    function handOver(): void {
      leave()
      socket.off('error', ignore)
      needs.handOver(socket, kept.take(kept.length))
    }

    function refuse(code: RefusalCode): void {
      leave()
      needs.refuse(socket, code)
    }

    function leave(): void {
      connections.delete(socket)
      socket.off('data', onData).off('end', onEnd).off('drain', onDrain).off('close', leave)
      fresh.cancel()
      idle.cancel()
      rest?.cancel()
      reply?.closed()
      reply = undefined
    }

    function isIdle(): boolean {
      return reply === undefined && kept.length === 0
    }
  }

  return {
    enter,
    isIdle: socket => connections.get(socket)?.() ?? false,
    closeIdle() {
      closing = true
      for (const [socket, isIdle] of connections) if (isIdle()) socket.destroy()
    },
    closeAll() {
      for (const socket of connections.keys()) socket.destroy()
    },
  }
}

function ignore(): void {}
