// The replacement for fetch, against a server that writes exact bytes: received data is read before an error is
// reported, only the configured host is called, and an abort cancels the call.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { TIMEOUTS } from '../../src/config/limits.ts'
import { Failure } from '../../src/domain/failure.ts'
import { systemClock } from '../../src/lib/clock.ts'
import { connectionLimit } from '../../src/upstream/connection-limit.ts'
import { type FetchSetup, upstreamFetch } from '../../src/upstream/fetch.ts'
import { http1Client } from '../../src/upstream/http1/client.ts'
import { type AnswerReservation, answerMemory } from '../../src/upstream/response-memory.ts'
import { until } from '../support/until.ts'

const HEAD = 'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n'
const init = { method: 'POST', body: '{}', headers: { 'X-A': 'b', Host: 'evil', 'user-agent': 'other' } }

test('data from before a connection broke is read before the failure, also through third-party streams', async () => {
  for (const through of [0, 4]) {
    await using fixture = await openFixture(socket => socket.end(`${HEAD}5\r\nhello\r\n5\r\nworld\r\n`))
    const { body } = await fixture.send(`${fixture.origin}/x`, init)
    let stream = body as ReadableStream<Uint8Array>
    for (let i = 0; i < through; i++) stream = stream.pipeThrough(slowly())
    // The connection has broken before anything is read.
    await setTimeout(50)
    const heard: string[] = []

    const failure = await readInto(heard, stream)

    assert.equal(heard.join(''), 'helloworld')
    assert.ok(failure instanceof Failure)
    assert.equal(failure.kind, 'reset')
  }
})

test('the content type is case-insensitive', async () => {
  await using fixture = await openFixture(socket => socket.end(`${HEAD.toUpperCase()}5\r\nhello\r\n0\r\n\r\n`))
  const heard: string[] = []

  const failure = await readInto(heard, (await fixture.send(`${fixture.origin}/x`, init)).body!)

  assert.deepEqual([heard.join(''), failure], ['hello', undefined])
})

test("headers are the caller's, except for those that the client writes itself", async () => {
  await using fixture = await openFixture(socket => socket.end(`${HEAD}0\r\n\r\n`))

  await fixture.send(`${fixture.origin}/x?y=z`, init)

  const lines = fixture.received.join('').split('\r\n')
  assert.equal(lines[0], 'POST /x?y=z HTTP/1.1')
  assert.deepEqual(
    lines.filter(line => /^(host|user-agent|x-a|x-team)/i.test(line)),
    [`host: ${fixture.origin.slice('http://'.length)}`, 'user-agent: turnpike', 'x-a: b', 'x-team: blue'],
  )
})

test('no other host is called, whatever is requested', async () => {
  await using fixture = await openFixture(() => undefined)

  await assert.rejects(fixture.send('http://127.0.0.1:1/x', init), { kind: 'refused' })
  await assert.rejects(fixture.send(`${fixture.origin}/x`, { ...init, body: new Uint8Array(1) }), TypeError)
  assert.equal(fixture.received.length, 0)
})

test('an abort cancels the call, before an answer and during one', async () => {
  for (const answer of ['', `${HEAD}5\r\nhello\r\n`]) {
    await using fixture = await openFixture(socket => socket.write(answer))
    const stop = new AbortController()
    const pending = fixture.send(`${fixture.origin}/x`, { ...init, signal: stop.signal })
    pending.catch(() => undefined)
    while (fixture.received.length === 0) await setTimeout(2)
    const response = answer === '' ? undefined : await pending

    stop.abort()

    if (response === undefined) await assert.rejects(pending, { name: 'AbortError' })
    else await assert.rejects(response.text(), { name: 'AbortError' })
    await fixture.closed
  }
})

test("an error body is read up to its bound, and classified by the caller's function", async () => {
  const head = `HTTP/1.1 418 No\r\nretry-after: 3\r\ncontent-length: 1000000\r\n\r\n`
  await using fixture = await openFixture(socket => socket.write(`${head}${'x'.repeat(200_000)}`))

  await assert.rejects(fixture.send(`${fixture.origin}/x`, init), { message: '418 after 3 with 65536 bytes' })
})

// As the packages do it: each piece is parsed and checked in a promise or two.
function slowly(): TransformStream<Uint8Array, Uint8Array> {
  return new TransformStream({
    async transform(piece, controller) {
      for (let i = 0; i < 4; i++) await Promise.resolve()
      controller.enqueue(piece)
    },
  })
}

test('a whole answer beyond 64 KiB waits for memory, continues when there is some, and keeps it until it is released', async () => {
  const memory = answerMemory({ bytesMax: 1_000_000, bytesMaxPerAccount: 1_000_000 })
  const other = memory.open('b', () => undefined)
  other.take(950_000)
  const body = `"${'x'.repeat(300_000)}"`
  const reservations: AnswerReservation[] = []
  await using fixture = await openFixture(
    socket =>
      socket.write(
        `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
      ),
    {
      stream: false,
      bounds: { answerBytesMax: 1_000_000, sseEventBytesMax: 1000 },
      reserveMemory(resume) {
        const reservation = memory.open('a', resume)
        reservations.push(reservation)
        return reservation
      },
    },
  )

  const response = await fixture.send(fixture.origin, { method: 'POST', body: '{}' })
  const text = response.text()
  await until('it waits', () => reservations[0]?.isWaiting() === true)
  other.release()

  assert.equal(await text, body)
  assert.equal(memory.bytes >= body.length, true)
  for (const reservation of reservations) reservation.release()
  assert.deepEqual([reservations.length, memory.bytes], [1, 0])
})

async function readInto(heard: string[], stream: ReadableStream<Uint8Array>): Promise<unknown> {
  try {
    for await (const piece of stream) heard.push(Buffer.from(piece).toString())
  } catch (error) {
    return error
  }
  return undefined
}

// A server that answers each request with exact bytes, and a replacement for fetch that may call it.
async function openFixture(answer: (socket: Socket) => void, setup: Partial<FetchSetup> = {}) {
  const received: string[] = []
  const closed = Promise.withResolvers<void>()
  const server = createServer(socket => {
    socket.on('error', () => undefined)
    socket.on('close', () => closed.resolve())
    socket.once('data', bytes => {
      received.push(bytes.toString())
      answer(socket)
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const wire = http1Client({
    url: new URL(origin),
    headers: { 'user-agent': 'turnpike' },
    timeouts: TIMEOUTS,
    connectionsMax: 4,
    limit: connectionLimit(4),
    clock: systemClock,
    onBug: assert.ifError,
  })
  const send = upstreamFetch(wire, {
    accountId: 'a',
    requestId: 'r',
    origin,
    headers: { 'x-team': 'blue' },
    stream: true,
    bounds: { answerBytesMax: 1000, sseEventBytesMax: 1000 },
    firstByteMs: 5000,
    totalMs: 5000,
    onSent: () => undefined,
    failure: ({ status, retryAfter, body }) =>
      new Failure('status', `${status} after ${retryAfter} with ${body.length} bytes`),
    ...setup,
  })
  return {
    origin,
    send,
    received,
    closed: closed.promise,
    async [Symbol.asyncDispose]() {
      await wire.close()
      server.close()
    },
  }
}
