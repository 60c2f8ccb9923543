// Hands the bytes of a connection to Node's HTTP parser one request at a time. Left alone, Node parses all that has arrived and
// begins every request in it: one read of 64 KiB may hold thousands. Here the next one is parsed in a later turn of the event loop
// than the one in which the answer before it ended, and the socket is not read while more than a little waits.
// See docs/decisions/connections.md.
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { byteQueue } from '../lib/byte-queue.ts'

export type Feed = {
  // What arrives on the socket comes by itself.
  push(arrived: Buffer): void
  // A request that Node has parsed: begins at once, or once those before it are answered.
  take(req: IncomingMessage, res: ServerResponse, begin: () => void): void
  // Requests that are not answered, in their order; the first has begun.
  readonly unanswered: readonly { readonly res: ServerResponse }[]
  // Whether nothing is under way: no request, and no bytes of one.
  isIdle(): boolean
  // Nothing more is parsed: what waits and what still comes is discarded.
  stop(): void
}

// What is read ahead while an answer is outstanding: as long as there is less, it is noticed when the caller leaves.
const READ_AHEAD_BYTES = 64 * 1024
// Of a head, or of a body in chunks, whose end cannot be known: so few that even what is parsed ahead of it is little.
const SLICE_BYTES = 4 * 1024
// How many slices of such a body are parsed in one turn: each may be hundreds of chunks, and one wake-up of the socket brings megabytes.
const SLICES_PER_TURN = 4
const HEAD_END = '\r\n\r\n'
// Where the end of the shortest head begins; before it there are only blank lines, which Node skips.
const SHORTEST_HEAD_BYTES = 'GET / HTTP/1.1'.length

type Exchange = { readonly res: ServerResponse; readonly begin: () => void; hasBegun: boolean }

// To be called when Node's server has just been given the socket: its listeners are called from here.
export function requestFeed(socket: Socket): Feed {
  const parse = takeListener(socket, 'data')
  const finish = takeListener(socket, 'end')
  const { pause, resume } = socket
  const bytes = byteQueue()
  const unanswered: Exchange[] = []
  // The last request that was parsed, and what is missing of its body if it said how long that is.
  let last: IncomingMessage | undefined
  let bodyBytesLeft = 0
  let isHeadCut = false
  let isHeld = false
  let isReading = true
  let isFeeding = false
  let hasEnded = false
  let isStopped = false
  let turn: NodeJS.Immediate | undefined
  // For the rest of a body in chunks, and how many slices of it this turn has seen.
  let bodyTurn: NodeJS.Immediate | undefined
  let slices = 0

  // Node pauses and resumes the parsing instead of the socket, which is read on to see whether the caller leaves.
  socket.pause = hold
  socket.resume = release
  socket.on('data', onData).on('end', onEnd).on('close', stop)
  resume.call(socket)

  function hold(): Socket {
    isHeld = true
    return socket
  }

  function release(): Socket {
    isHeld = false
    if (bytes.length > 0) process.nextTick(feed)
    return socket
  }

  function onData(piece: Buffer): void {
    bytes.append(piece)
    feed()
  }

  function onEnd(): void {
    hasEnded = true
    feed()
  }

  function feed(): void {
    // Node asks for more while it is being fed.
    if (isFeeding) return
    isFeeding = true
    while (bytes.length > 0 && !isHeld) {
      const isBody = last?.complete === false
      // What a caller that has left sent after the request under way is not begun.
      if (!isBody && hasEnded) bytes.clear()
      else if (!isBody && (unanswered.length > 0 || turn !== undefined)) break
      else if (isBody && bodyBytesLeft === 0 && ++slices > SLICES_PER_TURN) {
        bodyTurn ??= setImmediate(goOnWithBody)
        break
      } else parse.call(socket, bytes.take(isBody ? bodySlice() : headSlice()))
    }
    isFeeding = false
    if (hasEnded) hearEnd()
    readAhead()
  }

  function goOnWithBody(): void {
    bodyTurn = undefined
    slices = 0
    feed()
  }

  // As far as the end of the head, so that no second request is parsed with it.
  function headSlice(): number {
    const at = bytes.peek(SLICE_BYTES).indexOf(HEAD_END, isHeadCut ? 0 : SHORTEST_HEAD_BYTES)
    isHeadCut = at < 0
    return at < 0 ? SLICE_BYTES : at + HEAD_END.length
  }

  function bodySlice(): number {
    const slice = bodyBytesLeft > 0 ? Math.min(bodyBytesLeft, bytes.length) : SLICE_BYTES
    bodyBytesLeft -= Math.min(bodyBytesLeft, slice)
    return slice
  }

  // A caller that half-closes has left, also where what is buffered for it would keep its connection open.
  function hearEnd(): void {
    const res = unanswered[0]?.res
    if (res?.req.complete && !res.writableEnded) res.destroy()
    else if (bytes.length === 0) {
      stop()
      finish.call(socket)
    }
  }

  function readAhead(): void {
    const hasRoom = bytes.length < READ_AHEAD_BYTES
    if (hasRoom === isReading) return
    isReading = hasRoom
    if (hasRoom) resume.call(socket)
    else pause.call(socket)
  }

  function take(req: IncomingMessage, res: ServerResponse, begin: () => void): void {
    last = req
    bodyBytesLeft = Number(req.headers['content-length'] ?? 0)
    const exchange = { res, begin, hasBegun: unanswered.length === 0 }
    unanswered.push(exchange)
    res.on('close', () => {
      unanswered.splice(unanswered.indexOf(exchange), 1)
      if (unanswered.length > 0 || bytes.length > 0) turn ??= setImmediate(proceed)
    })
    if (exchange.hasBegun) begin()
  }

  // After an answer that ends the connection nothing begins that would be paid for and never answered.
  function proceed(): void {
    turn = undefined
    const [next] = unanswered
    if (next === undefined) feed()
    else if (!next.hasBegun && socket.writable) {
      next.hasBegun = true
      next.begin()
    }
  }

  function isIdle(): boolean {
    return unanswered.length === 0 && bytes.length === 0 && !isHeadCut && last?.complete !== false
  }

  function stop(): void {
    if (isStopped) return
    isStopped = true
    bytes.clear()
    clearImmediate(turn)
    clearImmediate(bodyTurn)
    socket.off('data', onData).off('end', onEnd).off('close', stop)
    socket.pause = pause
    socket.resume = resume
    // What still comes is read and dropped.
    socket.on('data', ignore)
  }

  return { push: onData, take, unanswered, isIdle, stop }
}

type Listener = (...args: unknown[]) => void

function takeListener(socket: Socket, event: 'data' | 'end'): Listener {
  const listener = socket.listeners(event).at(-1) as Listener
  socket.off(event, listener)
  return listener
}

function ignore(): void {}
