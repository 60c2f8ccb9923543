// Node's parser gets one request of a connection at a time, reads no more of a body than the handler does, and gets the
// end after everything before it.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Feed, requestFeed } from '../../src/http/feed.ts'
import { createServer } from '../support/node-http.ts'
import { until } from '../support/until.ts'

const MIB = 1024 * 1024
const GET = 'GET /a HTTP/1.1\r\nHost: x\r\n\r\n'

async function openFeed(serve: (req: IncomingMessage, res: ServerResponse) => void) {
  const server = createServer()
  const sockets: Socket[] = []
  const feeds = new Map<Socket, Feed>()
  const parsed: IncomingMessage[] = []
  const begun: IncomingMessage[] = []
  server.on('request', (req, res) => {
    parsed.push(req)
    feeds.get(req.socket)?.take(req, res, () => {
      begun.push(req)
      serve(req, res)
    })
  })
  server.on('connection', socket => {
    sockets.push(socket)
    feeds.set(socket, requestFeed(socket))
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const client = connect({ port: (server.address() as AddressInfo).port, host: '127.0.0.1', allowHalfOpen: true })
  await once(client, 'connect')
  let received = ''
  client.on('data', text => {
    received += text
  })
  client.on('error', () => undefined)
  await until('it is connected', () => sockets.length === 1)
  return {
    client,
    parsed,
    begun,
    socket: sockets[0] as Socket,
    received: () => received,
    answers: () => received.split('HTTP/1.1 200').length - 1,
    [Symbol.dispose]() {
      client.destroy()
      server.closeAllConnections()
      server.close()
    },
  }
}

test('a second request is parsed only when the first is answered', async () => {
  const open: ServerResponse[] = []
  using it = await openFeed((_req, res) => void open.push(res))
  it.client.write(GET.repeat(5))
  await until('the first has arrived', () => open.length === 1)
  await sleep(50)
  const parsed = it.parsed.length
  for (let i = 0; i < 5; i++) {
    await until('the next has begun', () => open.length === i + 1)
    open[i]?.end('a')
  }
  await until('all are answered', () => it.answers() === 5)

  assert.deepEqual([parsed, it.parsed.length], [1, 5])
})

test('between thousands of requests that are answered at once, other work runs after each', async () => {
  using it = await openFeed((_req, res) => void res.end('a'))
  let turns = 0
  let isOver = false
  const count = () => {
    turns += 1
    if (!isOver) setImmediate(count)
  }
  it.client.write(GET.repeat(2000))
  count()
  await until('all are answered', () => it.answers() === 2000)
  isOver = true

  assert.ok(turns >= 2000, `${turns} turns`)
})

test('in a body of thousands of tiny chunks, other work runs after a few', async () => {
  let chunks = 0
  let isOver = false
  using it = await openFeed((req, res) => {
    req.on('data', () => {
      chunks += 1
    })
    req.on('end', () => {
      isOver = true
      res.end('a')
    })
  })
  let before = 0
  let most = 0
  const look = () => {
    most = Math.max(most, chunks - before)
    before = chunks
    if (!isOver) setImmediate(look)
  }
  look()
  it.client.write('POST /a HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n')
  it.client.write('1\r\nx\r\n'.repeat(200_000))
  it.client.write('0\r\n\r\n')
  await until('it is answered', () => it.answers() === 1)

  assert.equal(chunks, 200_000)
  assert.ok(most < 6000, `${most} chunks in one iteration`)
})

test('for any split of the bytes the same requests are found', async () => {
  const bodies: string[] = []
  using it = await openFeed((req, res) => {
    let body = ''
    req.on('data', piece => {
      body += piece
    })
    req.on('end', () => {
      bodies.push(body)
      res.end('a')
    })
  })
  const sized = 'POST /b HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\none\r\n\r\ntw'
  const chunked = 'POST /c HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n4\r\n\r\n\r\n\r\n0\r\n\r\n'
  const long = `POST /d HTTP/1.1\r\nHost: x\r\nX-Long: ${'y'.repeat(9000)}\r\nContent-Length: 70000\r\n\r\n${'z'.repeat(70_000)}`
  const text = Buffer.from(GET + sized + chunked + long + GET + chunked)
  const wanted = ['', 'one\r\n\r\ntw', '\r\n\r\n', 'z'.repeat(70_000), '', '\r\n\r\n']
  let sent = 0
  for (const size of [1, 2, 3, 5, 17, 64, 1000, 100_000]) {
    bodies.length = 0
    sent += wanted.length
    // Small pieces only up to the long body, the rest of which comes in one.
    const small = Math.min(text.length, size * 600)
    for (let at = 0; at < small; at += size) it.socket.emit('data', text.subarray(at, Math.min(at + size, small)))
    if (small < text.length) it.socket.emit('data', text.subarray(small))
    await until('all are answered', () => it.answers() === sent)

    assert.deepEqual(bodies, wanted, `in pieces of ${size}`)
  }
})

test('Node reads no more of a body than the handler does', async () => {
  using it = await openFeed(() => undefined)
  it.client.write(`POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: ${40 * MIB}\r\n\r\n`)
  await until('the request has arrived', () => it.begun.length === 1)
  it.client.write(Buffer.alloc(40 * MIB, 'x'))
  await sleep(300)

  const taken = it.socket.bytesRead
  let bytes = 0
  for await (const piece of it.begun[0] as IncomingMessage) bytes += (piece as Buffer).length
  assert.ok(taken < MIB, `${taken} bytes were read`)
  assert.equal(bytes, 40 * MIB)
})

test('only a little data after an unanswered request is read', async () => {
  const open: ServerResponse[] = []
  using it = await openFeed((_req, res) => void open.push(res))
  it.client.write(GET + GET.repeat(200_000))
  await until('the first has arrived', () => open.length === 1)
  await sleep(200)

  assert.ok(it.socket.bytesRead < MIB, `${it.socket.bytesRead} bytes were read`)
})

test('a caller that half-closes after pipelined requests has disconnected, and no further request starts', async () => {
  const open: ServerResponse[] = []
  using it = await openFeed((_req, res) => void open.push(res))
  it.client.end(GET.repeat(1000))
  await until('its connection is closed', () => it.socket.destroyed)

  assert.deepEqual([it.begun.length, it.answers()], [1, 0])
})

test('a caller that half-closes after an unread body has sent all of it, and has disconnected', async () => {
  using it = await openFeed(() => undefined)
  const body = 'x'.repeat(50_000)
  it.client.write(`POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: ${body.length}\r\n\r\n`)
  await until('the request has arrived', () => it.begun.length === 1)
  const [req] = it.begun as [IncomingMessage]
  // As Node does when it has enough of an unread body.
  it.socket.pause()
  it.client.end(body)
  await until('its end has arrived', () => it.socket.readableEnded)
  const before = [req.complete, it.socket.destroyed]
  it.socket.resume()
  await until('its connection is closed', () => it.socket.destroyed)

  assert.deepEqual([before, req.complete, it.received()], [[false, false], true, ''])
})
