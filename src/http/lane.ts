// The express lane: chats that arrive whole, plain and one at a time, as nearly all do, are read and answered here, on
// the bare socket. Whatever else comes on a connection is put back, and Node's HTTP server has it from there on.
import type { Socket } from 'node:net'
import type { RefusalCode } from '../domain/refusal.ts'
import type { Alarm, Alarms } from '../lib/alarms.ts'
import { type HeadBounds, requestReader, type WholeRequest } from '../lib/http-request.ts'
import type { LaneRequest } from './exchange.ts'
import { KEEP_ALIVE_MS, LaneReply } from './lane-reply.ts'
import { destroyUnlessRead } from './reply.ts'

export type LaneNeeds = HeadBounds & {
  readonly serve: (req: LaneRequest, reply: LaneReply) => Promise<void>
  readonly handOver: (socket: Socket) => void
  readonly refuse: (socket: Socket, code: RefusalCode) => void
  readonly alarms: Alarms
  // Until when something has to come on a new connection.
  readonly headersTimeoutMs: number
  readonly writeStallMs: number
}

export type Lane = {
  enter(socket: Socket): void
  // From now on connections end when they have nothing to do.
  closeIdle(): void
  closeAll(): void
}

// How long the rest of a body is waited for here; a slow one is for those who watch the time of bodies.
const REST_MS = 200
const BYTES_MAX = 64 * 1024

export function expressLane(needs: LaneNeeds): Lane {
  const { alarms } = needs
  const read = requestReader('POST', '/v1/chat/completions', needs)
  const connections = new Set<{ closeIfIdle(): void; readonly socket: Socket }>()
  let closing = false

  function enter(socket: Socket): void {
    // A request that is not whole, or what came behind one that is not answered.
    let kept: Buffer | undefined
    let reply: LaneReply | undefined
    let rest: Alarm | undefined
    const fresh = alarms.set(needs.headersTimeoutMs, () => refuse('request_timeout'))
    const idle = alarms.set(KEEP_ALIVE_MS, () => (reply === undefined ? socket.destroy() : idle.again()))
    const connection = { socket, closeIfIdle }
    connections.add(connection)
    socket.on('error', ignore).on('data', onData).on('end', onEnd).on('drain', onDrain).on('close', leave)

    function onData(arrived: Buffer): void {
      const bytes = kept === undefined ? arrived : Buffer.concat([kept, arrived])
      kept = bytes
      if (reply !== undefined) {
        if (bytes.length > BYTES_MAX) socket.pause()
        return
      }
      fresh.cancel()
      const found = read(bytes)
      if (typeof found === 'object') serve(found)
      else if (found === 'other' || bytes.length > BYTES_MAX) handOver()
      else rest ??= alarms.set(REST_MS, handOver)
    }

    function serve({ method, url, httpVersion, headers, closes, body }: WholeRequest): void {
      rest?.cancel()
      rest = kept = undefined
      reply = new LaneReply(
        { method, url, httpVersion, headers, closes, body, socket, complete: true },
        onReplyEnd,
        onFinish,
      )
      void needs.serve(reply.req, reply)
    }

    function onReplyEnd(ended: LaneReply): void {
      if (socket.writableLength > 0) destroyUnlessRead(ended, needs.writeStallMs)
    }

    function onFinish(): void {
      const closes = reply?.closes || closing
      reply = undefined
      if (closes) socket.destroySoon()
      else if (kept !== undefined) handOver()
      else idle.again()
    }

    function onDrain(): void {
      reply?.drained()
    }

    // A caller that half-closes has left, also where what is buffered for it would keep its connection open.
    function onEnd(): void {
      if (reply !== undefined && !reply.writableEnded) socket.destroy()
      else if (reply === undefined && kept !== undefined) refuse('malformed_request')
      else socket.end()
    }

    function handOver(): void {
      leave()
      socket.off('error', ignore).pause()
      socket.unshift(kept as Buffer)
      needs.handOver(socket)
      socket.resume()
    }

    function refuse(code: RefusalCode): void {
      leave()
      needs.refuse(socket, code)
    }

    function leave(): void {
      connections.delete(connection)
      socket.off('data', onData).off('end', onEnd).off('drain', onDrain).off('close', leave)
      fresh.cancel()
      idle.cancel()
      rest?.cancel()
      reply?.closed()
      reply = undefined
    }

    function closeIfIdle(): void {
      if (reply === undefined && kept === undefined) socket.destroy()
    }
  }

  return {
    enter,
    closeIdle() {
      closing = true
      for (const connection of connections) connection.closeIfIdle()
    },
    closeAll() {
      for (const { socket } of connections) socket.destroy()
    },
  }
}

function ignore(): void {}
