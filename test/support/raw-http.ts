// Sends raw bytes to a port: for requests that no HTTP library would send, and for reading as no library would.
import { once } from 'node:events'
import { connect } from 'node:net'
import { setTimeout } from 'node:timers/promises'
import { type HttpAnswer, parseAnswers } from './http-response.ts'

export type RawConnection = {
  readonly received: Buffer
  readonly closedBy: 'open' | 'peer' | 'reset' | 'us'
  send(data: string | Buffer): void
  sendSlowly(data: string | Buffer, pace: { bytes: number; delayMs: number }): Promise<void>
  halfClose(): void
  // A paused reader reads nothing from the socket: the peer sees a closed window.
  pause(): void
  resume(): void
  reset(): void
  // Resolves with all answers so far once `count` final ones are complete.
  answers(count: number, timeoutMs?: number): Promise<HttpAnswer[]>
  // True when the peer closed within the time.
  closed(timeoutMs?: number): Promise<boolean>
  [Symbol.dispose](): void
}

export type RawOptions = {
  readonly timeoutMs?: number
  readonly halfClose?: boolean
  readonly pace?: { readonly bytes: number; readonly delayMs: number }
  // Stop as soon as this many final answers are complete, instead of waiting for the peer to close.
  readonly expect?: number
  readonly methods?: readonly string[]
}

export type RawResult = {
  readonly bytes: Buffer
  readonly text: string
  readonly answers: HttpAnswer[]
  // The first answer that is not a 1xx; throws if there is none.
  readonly answer: HttpAnswer
  readonly ended: 'peer' | 'reset' | 'timeout' | 'enough'
  readonly ms: number
}

export async function rawRequest(port: number, data: string | Buffer, options: RawOptions = {}): Promise<RawResult> {
  const startedAt = performance.now()
  using connection = await openRaw(port, options.methods)
  if (options.pace === undefined) connection.send(data)
  else await connection.sendSlowly(data, options.pace)
  if (options.halfClose) connection.halfClose()
  const ended = await waitForEnd(connection, options)
  const isClosed = ended === 'peer' || ended === 'reset'
  const answers = parseAnswers(connection.received, isClosed, options.methods)
  return {
    bytes: connection.received,
    text: connection.received.toString('utf8'),
    answers,
    get answer() {
      const first = answers.find(answer => answer.status >= 200)
      if (first === undefined) throw new Error(`no answer (${ended}): ${connection.received.toString('latin1')}`)
      return first
    },
    ended,
    ms: performance.now() - startedAt,
  }
}

export async function openRaw(port: number, methods: readonly string[] = []): Promise<RawConnection> {
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true, noDelay: true })
  await once(socket, 'connect')
  const pieces: Buffer[] = []
  let closedBy: RawConnection['closedBy'] = 'open'
  socket.on('data', (piece: Buffer) => pieces.push(piece))
  socket.on('end', () => {
    if (closedBy === 'open') closedBy = 'peer'
    socket.end()
  })
  socket.on('error', () => {
    if (closedBy === 'open') closedBy = 'reset'
  })
  const received = () => Buffer.concat(pieces)
  const current = () => parseAnswers(received(), closedBy !== 'open', methods)

  return {
    get received() {
      return received()
    },
    get closedBy() {
      return closedBy
    },
    send(data) {
      if (socket.writable) socket.write(data)
    },
    async sendSlowly(data, pace) {
      const bytes = typeof data === 'string' ? Buffer.from(data) : data
      for (let at = 0; at < bytes.length && socket.writable; at += pace.bytes) {
        socket.write(bytes.subarray(at, at + pace.bytes))
        await setTimeout(pace.delayMs)
      }
    },
    halfClose: () => void socket.end(),
    pause: () => void socket.pause(),
    resume: () => void socket.resume(),
    reset() {
      closedBy = 'us'
      socket.resetAndDestroy()
    },
    async answers(count, timeoutMs = 5000) {
      const enough = () => current().filter(answer => answer.status >= 200 && answer.complete).length >= count
      await waitUntil(() => enough() || closedBy !== 'open', timeoutMs)
      if (!enough()) throw new Error(`no ${count} complete answers (${closedBy}): ${received().toString('latin1')}`)
      return current()
    },
    closed: (timeoutMs = 5000) => waitUntil(() => closedBy !== 'open', timeoutMs),
    [Symbol.dispose]() {
      if (closedBy === 'open') closedBy = 'us'
      socket.destroy()
    },
  }
}

async function waitForEnd(connection: RawConnection, options: RawOptions): Promise<RawResult['ended']> {
  const timeoutMs = options.timeoutMs ?? 5000
  if (options.expect !== undefined) {
    const answers = await connection.answers(options.expect, timeoutMs).catch(() => undefined)
    if (answers !== undefined) return 'enough'
  } else await connection.closed(timeoutMs)
  return connection.closedBy === 'open' || connection.closedBy === 'us' ? 'timeout' : connection.closedBy
}

async function waitUntil(holds: () => boolean, timeoutMs: number): Promise<boolean> {
  const deadline = performance.now() + timeoutMs
  while (!holds()) {
    if (performance.now() > deadline) return false
    await setTimeout(2)
  }
  return true
}
