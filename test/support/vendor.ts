// A vendor of any protocol: answers every request with given bytes, and records the requests. For answers in their
// vendor's documented format, where no mock reports cached or reasoning tokens.
import { once } from 'node:events'
import type { IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout } from 'node:timers/promises'
import { crc32 } from 'node:zlib'
import { createServer } from './node-http.ts'

export type VendorAnswer = {
  readonly status?: number
  readonly type?: string
  readonly headers?: Readonly<Record<string, string>>
  // Written one by one.
  readonly pieces: readonly (string | Buffer)[]
  readonly pieceDelayMs?: number
  // After the last piece: nothing more, or the socket is closed.
  readonly last?: 'hang' | 'die'
  // Repeated as fast as it is read.
  readonly endless?: string | Buffer
}

export type VendorRequest = {
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly text: string
  readonly body: Record<string, unknown>
  bytes: number
  closedAt: number | undefined
}

export type Vendor = {
  readonly origin: string
  readonly requests: VendorRequest[]
  // For the next request, once.
  next(answer: VendorAnswer): void
  [Symbol.asyncDispose](): Promise<void>
}

export async function startVendor(): Promise<Vendor> {
  const requests: VendorRequest[] = []
  const queue: VendorAnswer[] = []
  const server = createServer(async (req, res) => {
    const pieces: Buffer[] = []
    for await (const piece of req) pieces.push(piece as Buffer)
    const text = Buffer.concat(pieces).toString()
    const seen = { path: req.url ?? '', headers: req.headers, text, body: parsed(text), bytes: 0, closedAt: undefined }
    const entry: VendorRequest = seen
    requests.push(entry)
    const closed = once(res, 'close').then(() => {
      entry.closedAt = Date.now()
    })
    const answer = queue.shift() ?? { status: 500, pieces: ['nothing was planned'] }
    res.writeHead(answer.status ?? 200, { 'content-type': answer.type ?? 'application/json', ...answer.headers })
    const write = async (piece: string | Buffer) => {
      if (res.destroyed) return
      entry.bytes += Buffer.byteLength(piece)
      if (!res.write(piece)) await Promise.race([new Promise(resolve => res.once('drain', resolve)), closed])
    }
    for (const piece of answer.pieces) {
      await write(piece)
      if (answer.pieceDelayMs !== undefined) await setTimeout(answer.pieceDelayMs)
    }
    while (answer.endless !== undefined && !res.destroyed) await write(answer.endless)
    // Written data is flushed first.
    if (answer.last === 'die') setImmediate(() => res.destroy())
    else if (answer.last === undefined) res.end()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    next: answer => queue.push(answer),
    async [Symbol.asyncDispose]() {
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    },
  }
}

export function jsonAnswer(body: object): VendorAnswer {
  return { pieces: [JSON.stringify(body)] }
}

// Server-sent events, with a name if the vendor gives one.
export function sseAnswer(events: readonly object[], isNamed: boolean): VendorAnswer {
  const pieces = events.map(event => {
    const name = isNamed ? `event: ${(event as { type: string }).type}\n` : ''
    return `${name}data: ${JSON.stringify(event)}\n\n`
  })
  return { type: 'text/event-stream', pieces }
}

// Amazon's event stream: length, length of headers, checksum, headers, payload, checksum.
export function amazonAnswer(events: readonly Readonly<Record<string, object>>[]): VendorAnswer {
  const pieces = events.flatMap(event => Object.entries(event).map(([type, payload]) => amazonFrame(type, payload)))
  return { type: 'application/vnd.amazon.eventstream', pieces }
}

function amazonFrame(type: string, payload: object): Buffer {
  const headers = Buffer.concat([
    amazonHeader(':event-type', type),
    amazonHeader(':content-type', 'application/json'),
    amazonHeader(':message-type', 'event'),
  ])
  const body = Buffer.from(JSON.stringify(payload))
  const prelude = Buffer.alloc(8)
  prelude.writeUInt32BE(12 + headers.length + body.length + 4, 0)
  prelude.writeUInt32BE(headers.length, 4)
  const frame = Buffer.concat([prelude, checksum(prelude), headers, body])
  return Buffer.concat([frame, checksum(frame)])
}

function amazonHeader(name: string, value: string): Buffer {
  const length = Buffer.alloc(3)
  length.writeUInt8(STRING, 0)
  length.writeUInt16BE(value.length, 1)
  return Buffer.concat([Buffer.from([name.length]), Buffer.from(name), length, Buffer.from(value)])
}

const STRING = 7

function checksum(bytes: Buffer): Buffer {
  const sum = Buffer.alloc(4)
  sum.writeUInt32BE(crc32(bytes), 0)
  return sum
}

function parsed(text: string): Record<string, unknown> {
  try {
    return JSON.parse(text) as Record<string, unknown>
  } catch {
    return {}
  }
}
