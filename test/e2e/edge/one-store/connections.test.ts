// Connections are limited in total and per address, below the descriptor limit: a caller that holds many connections
// blocks nobody else, and the gateway always has descriptors for its upstreams and its store.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readdirSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { after, test } from 'node:test'
import { openFixture } from '../../../support/fixture.ts'
import { standardConfig, startGateway } from '../../../support/gateway.ts'
import { openRaw, rawRequest } from '../../../support/raw-http.ts'
import { assertRefusal, seen } from '../../../support/refusal.ts'
import { until } from '../../../support/until.ts'
import { startUpstream } from '../../../support/upstream.ts'

const DESCRIPTORS = 256
// (256 − 96) / 2 in total, three quarters of them for each address.
const TOTAL = 80
const PER_ADDRESS = 60
const CHAT = {
  body: { model: 'test/m1', messages: [{ role: 'user', content: 'Hello' }] },
}

// One request that is answered, and the beginning of another in the same packet.
const BUSY = 'GET /health HTTP/1.1\r\nHost: x\r\n\r\nG'

const { gateway, upstream } = await openFixture(standardConfig, { descriptorsMax: DESCRIPTORS })
const { secret } = await gateway.createKey({ rpm_limit: 1_000_000, daily_limit: null })

// Each on its own connection, one after the other.
async function chats(count: number, port = gateway.port): Promise<number[]> {
  const text = JSON.stringify(CHAT.body)
  const request =
    `POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer ${secret}\r\n` +
    `Content-Type: application/json\r\nContent-Length: ${text.length}\r\n\r\n${text}`
  const statuses: number[] = []
  for (let i = 0; i < count; i++) statuses.push((await rawRequest(port, request)).answer.status)
  return statuses
}

async function metric(line: RegExp): Promise<number> {
  const text = await (await fetch(`${gateway.url}/metrics`)).text()
  return Number(line.exec(text)?.[1] ?? Number.NaN)
}

// What the event brings, unless the socket is closed first.
async function first(socket: Socket, event: 'connect' | 'data' | 'close'): Promise<unknown> {
  if (socket.closed) return undefined
  const [value] = await Promise.race([once(socket, event), once(socket, 'close')]).catch(() => [])
  return value
}

// From another address, so that it is not counted with ours.
async function openFrom(localAddress: string, count: number, say = ''): Promise<OpenSockets> {
  const sockets: Socket[] = []
  for (let i = 0; i < count; i++) {
    const socket = connect({ port: gateway.port, host: '127.0.0.1', localAddress })
    socket.on('error', () => undefined)
    sockets.push(socket)
    await first(socket, 'connect')
    if (say === '') continue
    socket.write(say)
    const said = await first(socket, 'data')
    // Only a few at a time are refused with an answer, others are reset: so this one is gone before the next is opened.
    if (String(said).startsWith('HTTP/1.1 503')) await first(socket, 'close')
  }
  return {
    sockets,
    [Symbol.dispose]() {
      for (const socket of sockets) socket.destroy()
    },
  }
}
type OpenSockets = Disposable & { readonly sockets: readonly Socket[] }

test('idle connections of an address are closed in favour of its newer ones, and chats of others are served', async () => {
  using flood = await openFrom('127.0.0.2', 300)
  const statuses = await chats(20)

  assert.deepEqual(new Set(statuses), new Set([200]))
  await until('the older ones are closed', () => flood.sockets.filter(({ closed }) => !closed).length <= PER_ADDRESS)
  assert.ok(flood.sockets.at(-1)?.closed === false, 'the newest one is open')
  assert.ok((await metric(/^turnpike_connections_evicted_total\{bound="address"\} (\d+)/m)) >= 300 - PER_ADDRESS)
})

test('idle connections of many addresses are closed in favour of newer ones, and chats are served', async () => {
  const many = await Promise.all(Array.from({ length: 30 }, (_, i) => openFrom(`127.0.1.${i + 1}`, 20)))
  const statuses = await chats(50)

  assert.deepEqual(new Set(statuses), new Set([200]))
  assert.ok((await metric(/^turnpike_connections (\d+)/m)) <= TOTAL + 1)
  assert.ok(readdirSync(`/proc/${gateway.pid}/fd`).length < DESCRIPTORS)
  for (const flood of many) flood[Symbol.dispose]()
})

test('if all connections of an address are busy, a new one is refused with 503 and others are served', async () => {
  using _flood = await openFrom('127.0.0.3', PER_ADDRESS, BUSY)
  using late = await openFrom('127.0.0.3', 1)
  const answer: Buffer[] = []
  late.sockets[0]?.on('data', (piece: Buffer) => void answer.push(piece))
  await once(late.sockets[0] as Socket, 'close')
  const text = Buffer.concat(answer).toString()

  assert.match(text, /^HTTP\/1.1 503 .*\r\nConnection: close\r\n.*\r\nRetry-After: 1\r\n/s)
  assert.equal(JSON.parse(text.slice(text.indexOf('\r\n\r\n'))).error.code, 'service_unavailable')
  assert.deepEqual(await chats(3), [200, 200, 200])
})

test('if all connections are busy, new ones are refused, those that are open are served, and no upstream is blamed', async () => {
  using ours = await openRaw(gateway.port)
  const hello = `GET /v1/key/introspect HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${secret}\r\n\r\n`
  ours.send(`${hello}G`)
  await ours.answers(1)
  const many = await Promise.all(Array.from({ length: 6 }, (_, i) => openFrom(`127.0.2.${i + 1}`, 20, BUSY)))
  const { answer } = await rawRequest(gateway.port, hello)
  ours.send(hello.slice(1))
  const [, second] = await ours.answers(2)
  for (const flood of many) flood[Symbol.dispose]()

  assertRefusal(seen(answer), 'service_unavailable')
  assert.equal(second?.status, 200)
  await until('connections are available again', async () => (await metric(/^turnpike_connections (\d+)/m)) < 10)
  assert.deepEqual(await chats(3), [200, 200, 200])
  assert.ok((await metric(/^turnpike_connections_refused_total\{bound="total"\} (\d+)/m)) > 0)
  const alarms = gateway.lines.filter(line => line.includes('breaker_opened'))
  assert.deepEqual([alarms, upstream.journal.length > 0], [[], true])
})

test('a trusted proxy may open as many connections as there are', async () => {
  await using others = await startUpstream()
  await using behind = await startGateway({
    config: { ...standardConfig(others.url), trusted_proxies: ['127.0.0.2'] },
    descriptorsMax: DESCRIPTORS,
  })
  const sockets = await Promise.all(
    Array.from({ length: PER_ADDRESS + 10 }, async () => {
      const socket = connect({ port: behind.port, host: '127.0.0.1', localAddress: '127.0.0.2' })
      await once(socket, 'connect')
      return socket
    }),
  )
  assert.equal((await fetch(`${behind.url}/health`)).status, 200)

  const open = sockets.filter(({ closed }) => !closed).length
  for (const socket of sockets) socket.destroy()
  assert.equal(open, PER_ADDRESS + 10)
})

after(() => upstream.reset())
