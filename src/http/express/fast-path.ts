// The express lane: chats that arrive whole, plain and one at a time, as nearly all do, are read and answered here, on
// the bare socket. Whatever else comes on a connection is put back, and Node's HTTP server has it from there on.
// See docs/decisions/express-path.md.
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
  // With what has arrived on it.
  readonly handOver: (socket: Socket, arrived: Buffer) => void
  readonly refuse: (socket: Socket, code: RefusalCode) => void
  readonly alarms: Alarms
  readonly clock: Clock
  // How long a new connection may say nothing.
  readonly headersTimeoutMs: number
  readonly writeStallMs: number
}

export type Lane = {
  enter(socket: Socket): void
  // Whether nothing is under way on a connection that is here.
  isIdle(socket: Socket): boolean
  // From now on connections end when they have nothing to do.
  closeIdle(): void
  closeAll(): void
}

// How long the rest of a body is waited for here; a slow one is for those who watch the time of bodies.
const REST_MS = 200
const BYTES_MAX = 64 * 1024
// More than the caller is told, so that it never sends into a connection that is just being closed.
const IDLE_MS = KEEP_ALIVE_MS + 1_000

export function expressLane(needs: LaneNeeds): Lane {
  const { alarms } = needs
  const date = dateOf(needs.clock)
  const read = requestReader('POST', CHATS, { ...needs, bytesMax: BYTES_MAX })
  // Each with whether nothing is under way on it.
  const connections = new Map<Socket, () => boolean>()
  let closing = false

  function enter(socket: Socket): void {
    // A request that is not whole, or what came behind one that is not answered.
    const kept = byteQueue()
    // What a request that has begun will have when it is whole.
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

    // What still comes, or came behind the last answer, is nobody's.
    function close(): void {
      leave()
      kept.clear()
      socket.destroySoon()
    }

    function onDrain(): void {
      reply?.drained()
    }

    // A caller that half-closes has left, also where what is buffered for it would keep its connection open.
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
