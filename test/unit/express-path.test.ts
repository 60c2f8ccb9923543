// A connection on the express path has a time limit for its first request and for idling, and buffers a bounded amount
// of pipelined data.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { type ExpressDeps, expressPath } from '../../src/http/express/express-path.ts'
import { dateOf, type ExpressResponse } from '../../src/http/express/response.ts'
import { readBody } from '../../src/http/request.ts'
import { coarseTimers } from '../../src/lib/coarse-timers.ts'
import { manualClock } from '../support/manual-clock.ts'
import { until } from '../support/until.ts'

const CHAT = 'POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}'
const HEADERS = ['Content-Length', '2']
// Longer than the tick of coarse timers.
const TICKS_MS = 160
const MIB = 1024 * 1024

async function openPath(overrides: Partial<ExpressDeps> = {}) {
  const clock = manualClock()
  const replies: ExpressResponse[] = []
  const taken: Socket[] = []
  const refused: string[] = []
  const handedOver: Buffer[] = []
  const path = expressPath({
    serve: async (_req, reply) => void replies.push(reply),
    handOver(socket, arrived) {
      handedOver.push(arrived)
      socket.on('data', (bytes: Buffer) => handedOver.push(bytes)).resume()
    },
    refuse(socket, code) {
      refused.push(code)
      socket.destroy()
    },
    clock,
    timers: coarseTimers(clock, error => assert.fail(String(error))),
    headersTimeoutMs: 10_000,
    writeStallMs: 60_000,
    headersMax: 100,
    headerBytesMax: 16_384,
    ...overrides,
  })
  const server = createServer({ allowHalfOpen: true }, socket => {
    taken.push(socket)
    path.enter(socket)
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
  await once(socket, 'connect')
  let received = ''
  socket.on('data', text => {
    received += text
  })
  socket.on('error', () => undefined)
  return {
    path,
    socket,
    replies,
    taken,
    refused,
    handedOver,
    received: () => received,
    async pass(ms: number) {
      clock.advance(ms)
      await sleep(TICKS_MS)
    },
    async chat(count: number) {
      socket.write(CHAT)
      await until('the chat is served', () => replies.length === count)
      return replies[count - 1] as ExpressResponse
    },
    [Symbol.dispose]() {
      path.closeAll()
      socket.destroy()
      server.close()
    },
  }
}

function answer(reply: ExpressResponse): void {
  reply.writeHead(200, [...HEADERS])
  reply.end('{}')
}

test('a silent connection is refused in time; one that has sent a request is not', async () => {
  using silent = await openPath()
  using spoken = await openPath()
  await spoken.chat(1)

  for (const { pass } of [silent, spoken]) await pass(9_900)
  const before = [...silent.refused, ...spoken.refused]
  for (const { pass } of [silent, spoken]) await pass(200)

  assert.deepEqual([before, silent.refused, spoken.refused], [[], ['request_timeout'], []])
})

test('a connection may be idle for the announced 65 seconds and a little more after each answer, and is not closed during one', async () => {
  using it = await openPath()
  answer(await it.chat(1))
  await it.pass(60_000)
  const second = await it.chat(2)
  await it.pass(200_000)
  assert.equal(it.taken[0]?.destroyed, false)
  await it.pass(10_000)
  answer(second)
  await until('the second answer has arrived', () => it.received().split('HTTP/1.1 200').length === 3)

  await it.pass(65_500)
  const rested = it.taken[0]?.destroyed
  await it.pass(2_000)

  assert.deepEqual([rested, it.taken[0]?.destroyed], [false, true])
})

test('during an unfinished answer only a little pipelined data is read, and all of it is handed over', async () => {
  using it = await openPath()
  const reply = await it.chat(1)
  const behind = Buffer.alloc(4 * MIB, 'x')
  it.socket.write(behind)
  await sleep(200)
  const taken = it.taken[0]?.bytesRead ?? 0
  answer(reply)
  await until(
    'all of it has arrived',
    () => it.handedOver.reduce((sum, { length }) => sum + length, 0) === behind.length,
  )

  assert.ok(taken < MIB, `${taken} bytes were read`)
  assert.ok(Buffer.concat(it.handedOver).equals(behind))
})

test('after an answer that closes the connection nothing is served, whenever it arrived', async () => {
  using it = await openPath()
  it.socket.write(CHAT.replace('Host', 'Connection: close\r\nHost'))
  await until('the chat is served', () => it.replies.length === 1)
  it.socket.write(CHAT)
  await sleep(50)
  const [reply] = it.replies as [ExpressResponse]
  // When the answer is finished, and its connection has not ended yet.
  reply.once('close', () => queueMicrotask(() => it.taken[0]?.emit('data', Buffer.from(CHAT))))
  answer(reply)
  await until('it has ended', () => it.taken[0]?.destroyed === true)

  assert.deepEqual([it.replies.length, it.handedOver.length], [1, 0])
})

test('an ended reply writes nothing more, and a finished one closes no connection', async () => {
  using it = await openPath()
  const reply = await it.chat(1)
  answer(reply)
  const more = reply.write(': keep-alive\n')
  reply.flushHeaders()
  await until('the answer has arrived', () => it.received().includes('{}'))
  reply.destroy()
  answer(await it.chat(2))
  await until('the second has arrived', () => it.received().split('HTTP/1.1 200').length === 3)

  assert.equal(more, false)
  assert.ok(!it.received().includes('keep-alive\n'))
})

test('a chat in two pieces is answered on this path, however late the second is', async () => {
  using it = await openPath()
  it.socket.write(CHAT.slice(0, -2))
  await sleep(50)
  it.socket.write('{}')
  await until('the chat is served', () => it.replies.length === 1)
  await it.pass(1_000)
  answer(it.replies[0] as ExpressResponse)

  await until('the answer has arrived', () => it.received().endsWith('{}'))
  it.socket.write(CHAT)
  await until('the next is served', () => it.replies.length === 2)
})

test('data that arrives byte by byte is copied a few times, not once per byte', async t => {
  using it = await openPath()
  const reply = await it.chat(1)
  const copy = t.mock.method(Buffer.prototype, 'copy')
  const concat = t.mock.method(Buffer, 'concat')
  const bytes = Buffer.alloc(30_000, 'x')
  for (let i = 0; i < bytes.length; i++) it.taken[0]?.emit('data', bytes.subarray(i, i + 1))
  let copied = 0
  for (const { result } of copy.mock.calls) copied += Number(result)
  answer(reply)
  await until(
    'all of it has arrived',
    () => it.handedOver.reduce((sum, { length }) => sum + length, 0) === bytes.length,
  )

  assert.ok(copied < 4 * bytes.length, `${copied} bytes were copied`)
  assert.equal(concat.mock.callCount(), 0)
})

test('a body that arrives byte by byte is not parsed again with each byte', async t => {
  using it = await openPath()
  const body = 'x'.repeat(20_000)
  const text = Buffer.from(CHAT.replace('Content-Length: 2\r\n\r\n{}', `Content-Length: ${body.length}\r\n\r\n${body}`))
  const head = text.length - body.length
  await until('it is connected', () => it.taken.length === 1)
  const reads = t.mock.method(Buffer.prototype, 'indexOf')
  it.taken[0]?.emit('data', text.subarray(0, head))
  for (let i = head; i < text.length; i++) it.taken[0]?.emit('data', text.subarray(i, i + 1))
  await until('the chat is served', () => it.replies.length === 1)

  assert.equal(it.replies[0]?.req.body.toString(), body)
  assert.ok(reads.mock.callCount() < 10, `${reads.mock.callCount()} reads`)
})

test('a request whose body was taken does not keep it', async () => {
  using it = await openPath()
  const reply = await it.chat(1)
  const needs = {
    bytesMax: 100,
    timeoutMs: 1000,
    timers: coarseTimers(manualClock(), error => assert.fail(String(error))),
    reserve: () => undefined,
  }

  const body = await readBody(reply.req, reply, needs)

  assert.deepEqual([String(body), reply.req.body.length], ['{}', 0])
})

test('the date of an answer is the time of the answer', () => {
  const clock = manualClock(Date.UTC(2026, 0, 5, 7))
  const date = dateOf(clock)
  const first = date()
  clock.advance(1000)

  assert.deepEqual([first, date()], ['Mon, 05 Jan 2026 07:00:00 GMT', 'Mon, 05 Jan 2026 07:00:01 GMT'])
})

test('when the express path closes, half a request may still be completed', async () => {
  using it = await openPath()
  it.socket.write(CHAT.slice(0, -2))
  await until('half of it has arrived', () => it.taken[0]?.bytesRead === CHAT.length - 2)
  it.path.closeIdle()
  it.socket.write('{}')
  await until('the chat is served', () => it.replies.length === 1)
  answer(it.replies[0] as ExpressResponse)

  await until('it has ended', () => it.taken[0]?.destroyed === true)
  assert.ok(it.received().endsWith('{}'))
})

test('when the express path closes, idle connections end at once and busy ones after their answer', async () => {
  using resting = await openPath()
  using busy = await openPath()
  answer(await resting.chat(1))
  await until('the answer has arrived', () => resting.received().includes('{}'))
  const reply = await busy.chat(1)

  resting.path.closeIdle()
  busy.path.closeIdle()
  await until('it has ended', () => resting.taken[0]?.destroyed === true)
  assert.equal(busy.taken[0]?.destroyed, false)
  answer(reply)

  await until('it has ended too', () => busy.taken[0]?.destroyed === true)
  assert.ok(busy.received().endsWith('{}'))
})

test('a header value that contains line breaks is never written', async () => {
  using it = await openPath()
  const reply = await it.chat(1)

  assert.throws(() => reply.writeHead(200, ['X-A', 'b\r\nX-C: d', ...HEADERS]), /X-A/)
  assert.equal(reply.headersSent, false)
  assert.equal(it.received(), '')
})
