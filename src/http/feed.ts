// Passes the bytes of a connection to Node's HTTP parser one request at a time. By itself, Node parses everything that has
// arrived and starts every request in it: one read of 64 KiB may contain thousands. Here the next one is parsed in a later turn
// of the event loop than the one in which the previous answer ended, and the socket is not read while too much is waiting. See
// docs/decisions/connections.md.
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { type ByteQueue, byteQueue } from '../lib/byte-queue.ts'

export type Feed = {
  // For bytes that were read before; data from the socket arrives by itself.
  push(arrived: Buffer): void
  // A request that Node has parsed: starts at once, or once those before it are answered.
  take(req: IncomingMessage, res: ServerResponse, begin: () => void): void
  // Unanswered requests in order; the first has started.
  readonly unanswered: readonly { readonly res: ServerResponse }[]
  // Whether it is idle: no request, and no bytes of one.
  isIdle(): boolean
  // Nothing more is parsed: waiting and later input is discarded.
  stop(): void
}

// How much is read ahead while an answer is outstanding: below this, a disconnect of the caller is noticed.
const READ_AHEAD_BYTES = 64 * 1024
// For a head or a chunked body, whose end is not known: so small that little is parsed ahead of it.
const SLICE_BYTES = 4 * 1024
// How many slices of such a body are parsed in one turn: each may be hundreds of chunks, and one wake-up of the socket brings
// megabytes.
const SLICES_PER_TURN = 4
const HEAD_END = '\r\n\r\n'
// Where the end of the shortest head begins; before it there are only blank lines, which Node skips.
const SHORTEST_HEAD_BYTES = 'GET / HTTP/1.1'.length

type Exchange = { readonly res: ServerResponse; readonly begin: () => void; hasBegun: boolean }

// Call it right after Node's server was given the socket: its listeners are called from here.
export function requestFeed(socket: Socket): Feed {
  const input: Input = { bytes: byteQueue(), last: undefined, bodyBytesLeft: 0, isHeadCut: false }
  const { bytes } = input
  const unanswered: Exchange[] = []
  let isFeeding = false
  let hasEnded = false
  let isStopped = false
  let turn: NodeJS.Immediate | undefined
  // For the remainder of a chunked body, and the number of its slices in this turn.
  let bodyTurn: NodeJS.Immediate | undefined
  let slices = 0
  const source = interpose(socket, { onData, onEnd, onRelease, onClose: stop })

  function onData(piece: Buffer): void {
    bytes.append(piece)
    feed()
  }

  function onEnd(): void {
    hasEnded = true
    feed()
  }

  function onRelease(): void {
    if (bytes.size() > 0) process.nextTick(feed)
  }

  function feed(): void {
    // Node requests more while it is being fed.
    if (isFeeding) return
    isFeeding = true
    while (bytes.size() > 0 && !source.isHeld) {
      const isBody = isInBody(input)
      // What a disconnected caller sent after the current request is not started.
      if (!isBody && hasEnded) bytes.clear()
      else if (!isBody && (unanswered.length > 0 || turn !== undefined)) break
      else if (isBody && input.bodyBytesLeft === 0 && ++slices > SLICES_PER_TURN) {
        bodyTurn ??= setImmediate(goOnWithBody)
        break
      } else source.parse(bytes.take(isBody ? bodySlice(input) : headSlice(input)))
    }
    isFeeding = false
    if (hasEnded) hearEnd()
    source.read(bytes.size() < READ_AHEAD_BYTES)
  }

  function goOnWithBody(): void {
    bodyTurn = undefined
    slices = 0
    feed()
  }

  // A caller that half-closes has left, also where buffered output would keep its connection open.
  function hearEnd(): void {
    const res = unanswered[0]?.res
    if (res?.req.complete && !res.writableEnded) res.destroy()
    else if (bytes.size() === 0) {
      stop()
      source.finish()
    }
  }

  function take(req: IncomingMessage, res: ServerResponse, begin: () => void): void {
    input.last = req
    input.bodyBytesLeft = Number(req.headers['content-length'] ?? 0)
    const exchange = { res, begin, hasBegun: unanswered.length === 0 }
    unanswered.push(exchange)
    res.on('close', () => {
      unanswered.splice(unanswered.indexOf(exchange), 1)
      if (unanswered.length > 0 || bytes.size() > 0) turn ??= setImmediate(proceed)
    })
    if (exchange.hasBegun) begin()
  }

  // After an answer that ends the connection no request starts that would be billed and never answered.
  function proceed(): void {
    turn = undefined
    const [next] = unanswered
    if (next === undefined) feed()
    else if (!next.hasBegun && socket.writable) {
      next.hasBegun = true
      next.begin()
    }
  }

  function stop(): void {
    if (isStopped) return
    isStopped = true
    bytes.clear()
    clearImmediate(turn)
    clearImmediate(bodyTurn)
    source.giveBack()
  }

  return { push: onData, take, unanswered, isIdle: () => unanswered.length === 0 && isBetweenRequests(input), stop }
}

// The bytes that are not parsed yet, and where in a request they begin.
type Input = {
  readonly bytes: ByteQueue
  // The last parsed request, and the remaining length of its body if announced.
  last: IncomingMessage | undefined
  bodyBytesLeft: number
  isHeadCut: boolean
}

function isInBody({ last }: Input): boolean {
  return last?.complete === false
}

function isBetweenRequests(input: Input): boolean {
  return input.bytes.size() === 0 && !input.isHeadCut && !isInBody(input)
}

// Up to the end of the head, so that no second request is parsed with it.
function headSlice(input: Input): number {
  const at = input.bytes.peek(SLICE_BYTES).indexOf(HEAD_END, input.isHeadCut ? 0 : SHORTEST_HEAD_BYTES)
  input.isHeadCut = at < 0
  return at < 0 ? SLICE_BYTES : at + HEAD_END.length
}

function bodySlice(input: Input): number {
  const { bodyBytesLeft, bytes } = input
  const slice = bodyBytesLeft > 0 ? Math.min(bodyBytesLeft, bytes.size()) : SLICE_BYTES
  input.bodyBytesLeft -= Math.min(bodyBytesLeft, slice)
  return slice
}

type SourceListener = {
  onData(piece: Buffer): void
  onEnd(): void
  onRelease(): void
  onClose(): void
}

// The socket and its parser, with the feed between them: Node pauses and resumes the parsing instead of the socket, which is
// still read to notice a disconnect.
type Source = {
  // Whether Node has paused the parsing.
  isHeld: boolean
  parse(bytes: Buffer): void
  finish(): void
  read(on: boolean): void
  giveBack(): void
}

function interpose(socket: Socket, { onData, onEnd, onRelease, onClose }: SourceListener): Source {
  const parse = takeListener(socket, 'data')
  const finish = takeListener(socket, 'end')
  const { pause, resume } = socket
  let isReading = true

  function hold(): Socket {
    source.isHeld = true
    return socket
  }

  function release(): Socket {
    source.isHeld = false
    onRelease()
    return socket
  }

  const source: Source = {
    isHeld: false,
    parse: bytes => parse.call(socket, bytes),
    finish: () => finish.call(socket),
    read(on) {
      if (on === isReading) return
      isReading = on
      if (on) resume.call(socket)
      else pause.call(socket)
    },
    giveBack() {
      socket.off('data', onData).off('end', onEnd).off('close', onClose)
      socket.pause = pause
      socket.resume = resume
      // Later input is read and dropped.
      socket.on('data', ignore)
    },
  }
  // Only now: a listener for data resumes the socket.
  socket.pause = hold
  socket.resume = release
  socket.on('data', onData).on('end', onEnd).on('close', onClose)
  resume.call(socket)
  return source
}

type Listener = (...args: unknown[]) => void

function takeListener(socket: Socket, event: 'data' | 'end'): Listener {
  const listener = socket.listeners(event).at(-1) as Listener
  socket.off(event, listener)
  return listener
}

function ignore(): void {}
