// The response to one request of the express path: a head and its body, written directly to the socket. A body without a length
// is framed by its writer.
import type { Clock } from '../../lib/clock.ts'
import { STATUS_CODES } from '../../lib/node-http.ts'
import type { ExpressRequest, HttpResponse } from '../http-types.ts'

export const KEEP_ALIVE_MS = 65_000

// The connection's callbacks for each response.
export type ResponseEvents = {
  // For the Date header.
  date(): string
  // Everything is written; the kernel may not have it yet.
  onEnd(res: ExpressResponse): void
  // The kernel has all of it.
  onFinish(res: ExpressResponse): void
}

export class ExpressResponse implements HttpResponse {
  readonly req: ExpressRequest
  headersSent = false
  writableEnded = false
  writableFinished = false
  destroyed = false
  chunkedEncoding = false
  // Whether the connection ends with this response.
  closes: boolean
  // Written together with the next piece.
  #head = ''
  #events: ResponseEvents
  #onClose: (() => void)[] = []
  #onDrain: (() => void) | undefined

  constructor(req: ExpressRequest, events: ResponseEvents) {
    this.req = req
    this.closes = req.closes
    this.#events = events
  }

  get writableLength(): number {
    return this.req.socket.writableLength
  }

  writeHead(status: number, headers: string[]): void {
    if (this.headersSent) throw new Error('the head has been written')
    let text = `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n`
    let sized = false
    let told = false
    for (let i = 0; i < headers.length; i += 2) {
      const name = headers[i] as string
      const value = headers[i + 1] as string
      if (NOT_PLAIN.test(value)) throw new Error(`${name} cannot have this value`)
      if (name === 'Content-Length') sized = true
      else if (name === 'Connection') this.closes = told = true
      text += `${name}: ${value}\r\n`
    }
    if (!sized) {
      this.chunkedEncoding = true
      text += 'Transfer-Encoding: chunked\r\n'
    }
    if (!told) text += this.closes ? CLOSE : KEEP_ALIVE
    this.#head = `${text}Date: ${this.#events.date()}\r\n\r\n`
    this.headersSent = true
  }

  // There is no 100-continue on this path.
  writeContinue(): void {}

  flushHeaders(): void {
    if (this.#head !== '') this.write('')
  }

  write(piece: string | Uint8Array): boolean {
    if (this.destroyed || this.writableEnded) return false
    const head = this.#head
    this.#head = ''
    if (typeof piece === 'string') return this.req.socket.write(head + piece)
    if (head !== '') this.req.socket.write(head)
    return this.req.socket.write(piece)
  }

  end(text = ''): void {
    if (this.destroyed || this.writableEnded) return
    this.writableEnded = true
    this.req.socket.write(this.#head + text, this.#finished)
    this.#events.onEnd(this)
  }

  // Once finished, the connection belongs to the next request.
  destroy(): void {
    if (this.writableFinished) return
    this.destroyed = true
    this.req.socket.destroy()
  }

  once(event: 'close' | 'drain', listener: () => void): void {
    if (event === 'close') this.#onClose.push(listener)
    else this.#onDrain = listener
  }

  drained(): void {
    const listener = this.#onDrain
    this.#onDrain = undefined
    listener?.()
  }

  // The end of the exchange, by its own end or the connection's.
  closed(): void {
    this.destroyed = true
    for (const listener of this.#onClose) listener()
    this.#onClose = []
  }

  #finished = (error?: Error | null): void => {
    if (error) return
    this.writableFinished = true
    this.closed()
    this.#events.onFinish(this)
  }
}

const CLOSE = 'Connection: close\r\n'
const KEEP_ALIVE = `Connection: keep-alive\r\nKeep-Alive: timeout=${KEEP_ALIVE_MS / 1000}\r\n`

// A line break would let a value inject headers.
const NOT_PLAIN = /[^\t\x20-\x7e]/

// Formatted once a second.
export function dateOf(clock: Clock): () => string {
  let second = 0
  let date = ''
  return () => {
    const now = Math.floor(clock.now() / 1000)
    if (now !== second) {
      second = now
      date = new Date(now * 1000).toUTCString()
    }
    return date
  }
}
