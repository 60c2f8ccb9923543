// Both HTTP clients against servers on real sockets.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import type { TestContext } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { TIMEOUTS } from '../../src/config/limits.ts'
import type { Timeouts } from '../../src/domain/catalog.ts'
import type { Failure } from '../../src/domain/failure.ts'
import { type Clock, systemClock } from '../../src/lib/clock.ts'
import { type ConnectionLimit, connectionLimit } from '../../src/upstream/connection-limit.ts'
import type { HttpClient, HttpClientOptions } from '../../src/upstream/http-client.ts'
import { http1Client } from '../../src/upstream/http1/client.ts'
import { undiciClient } from '../../src/upstream/undici/client.ts'

export const CLIENTS = { http1: http1Client, undici: (options: HttpClientOptions) => undiciClient(options) }
export const OK = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok'

// Bytes after an answer have been read by then.
export async function turns(): Promise<void> {
  for (let i = 0; i < 5; i++) await sleep(3)
}

export type Open = (options: HttpClientOptions) => HttpClient
type Options = {
  readonly timeouts?: Partial<Timeouts>
  readonly publicOnly?: boolean
  readonly clock?: Clock
  readonly limit?: ConnectionLimit
}

// A server that answers every request with these bytes.
export async function opened(t: TestContext, client: Open, answer: string, options: Options = {}) {
  const sockets: Socket[] = []
  const server = createServer(socket => {
    sockets.push(socket)
    socket.on('error', () => undefined).on('data', () => socket.write(answer))
  })
  const port = await listening(t, server)
  t.after(() => {
    for (const socket of sockets) socket.destroy()
  })
  return { wire: open(t, client, `http://127.0.0.1:${port}`, options), sockets }
}

export async function listening(t: TestContext, server: ReturnType<typeof createServer>): Promise<number> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.close())
  return (server.address() as AddressInfo).port
}

export function open(
  t: TestContext,
  client: Open,
  url: string,
  { timeouts, publicOnly, clock = systemClock, limit = connectionLimit(100) }: Options,
): HttpClient {
  const setup: HttpClientOptions = {
    url: new URL(url),
    headers: {},
    timeouts: { ...TIMEOUTS, ...timeouts },
    connectionsMax: 100,
    limit,
    publicOnly,
    clock,
    onBug: error => assert.fail(String(error)),
  }
  const wire = client(setup)
  t.after(() => wire.close())
  return wire
}

export function ask(
  wire: HttpClient,
  accountId: string,
  data: (chunk: Buffer) => void = () => undefined,
  firstByteMs = 15_000,
): Promise<Failure | undefined> {
  return new Promise(resolve => {
    wire.send(
      {
        requestId: 'r',
        accountId,
        path: '/',
        head: '',
        body: '{}',
        firstByteMs,
        totalMs: 600_000,
        onSent: () => undefined,
      },
      { start: () => undefined, data, end: resolve },
    )
  })
}
