// The support code's network tools: the fault proxy misbehaves as instructed, and the raw client sees every byte and
// every header.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer as createHttpServer } from 'node:http'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { startFaultProxy } from '../support/fault-proxy.ts'
import { httpCall } from '../support/http-call.ts'
import { parseAnswers } from '../support/http-response.ts'
import { openRaw, rawRequest } from '../support/raw-http.ts'
import { startUpstream } from '../support/upstream.ts'

test('a passing proxy is transparent, and latency delays', async () => {
  await using upstream = await startUpstream()
  await using proxy = await startFaultProxy(upstream.port)
  const url = `http://127.0.0.1:${proxy.port}/v1/chat/completions`

  const plain = await httpCall(url, { body: { model: 'm1' } })
  await proxy.set({ kind: 'latency', ms: 60 })
  const startedAt = performance.now()
  const slow = await httpCall(url, { body: { model: 'm1' } })

  assert.equal(plain.status, 200)
  assert.equal(slow.status, 200)
  assert.ok(performance.now() - startedAt >= 115)
})

test('a blackhole holds bytes back until it heals', async () => {
  await using upstream = await startUpstream()
  await using proxy = await startFaultProxy(upstream.port)
  await proxy.set({ kind: 'blackhole' })

  const waiting = httpCall(`http://127.0.0.1:${proxy.port}/v1/x`, { body: {} })
  await setTimeout(80)
  const before = upstream.journal.length
  await proxy.set({ kind: 'pass' })

  assert.equal(before, 0)
  assert.equal((await waiting).status, 200)
})

test('a reset cuts open and new connections, and refuse closes the listener until it is reopened', async () => {
  await using upstream = await startUpstream()
  upstream.script({ delayMs: 5000 })
  await using proxy = await startFaultProxy(upstream.port)
  const url = `http://127.0.0.1:${proxy.port}/v1/x`

  const cut = assert.rejects(httpCall(url, { body: {} }), { code: 'ECONNRESET' })
  await upstream.received(1)
  await proxy.set({ kind: 'reset' })
  await cut
  await assert.rejects(httpCall(url, { body: {} }))
  await proxy.set({ kind: 'refuse' })
  await assert.rejects(httpCall(url, { body: {} }), { code: 'ECONNREFUSED' })
  await proxy.set({ kind: 'pass' })
  upstream.script({})

  assert.equal((await httpCall(url, { body: {} })).status, 200)
  assert.ok(upstream.journal[0]?.closedByPeerAt)
})

test('slices arrive as pieces, and a slow close comes late', async () => {
  await using echo = await startEcho()
  await using proxy = await startFaultProxy(echo.port, { kind: 'slice', bytes: 3, delayMs: 5 })
  const socket = connect(proxy.port, '127.0.0.1')
  const pieces: string[] = []
  socket.on('data', piece => pieces.push(String(piece)))

  socket.write('abcdefgh')
  await setTimeout(120)
  await proxy.set({ kind: 'slowClose', ms: 80 })
  const endedAt = performance.now()
  socket.end()
  await once(socket, 'close')

  assert.equal(pieces.join(''), 'abcdefgh')
  assert.ok(pieces.length >= 3)
  assert.ok(performance.now() - endedAt >= 75)
})

test('the raw client keeps duplicates, decodes chunks, reads trailers and sees the close', async () => {
  await using server = await startScripted((_, res) => {
    res.setHeader('Trailer', 'X-End')
    res.setHeader('Set-Cookie', ['a=1', 'b=2'])
    res.write('one ')
    res.write('two')
    res.addTrailers({ 'X-End': 'yes' })
    res.end()
  })

  const result = await rawRequest(server.port, 'GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n')

  assert.equal(result.ended, 'peer')
  assert.deepEqual(result.answer.headerAll('set-cookie'), ['a=1', 'b=2'])
  assert.equal(result.answer.text, 'one two')
  assert.deepEqual(result.answer.trailers, [['X-End', 'yes']])
  assert.equal(result.answer.complete, true)
})

test('the raw client can send slowly, pipeline, half-close and keep the connection', async () => {
  await using server = await startScripted((req, res) => void res.end(req.url))
  const twice = 'GET /a HTTP/1.1\r\nHost: x\r\n\r\nGET /b HTTP/1.1\r\nHost: x\r\n\r\n'

  const slow = await rawRequest(server.port, twice, { pace: { bytes: 20, delayMs: 5 }, expect: 2 })
  const halfClosed = await rawRequest(server.port, 'GET /c HTTP/1.1\r\nHost: x\r\n\r\n', { halfClose: true })
  using connection = await openRaw(server.port)
  connection.send('GET /d HTTP/1.1\r\nHost: x\r\n\r\n')
  await connection.answers(1)
  connection.send('GET /e HTTP/1.1\r\nHost: x\r\n\r\n')
  const answers = await connection.answers(2)

  assert.deepEqual(
    slow.answers.map(answer => answer.text),
    ['/a', '/b'],
  )
  assert.equal(slow.ended, 'enough')
  assert.equal(halfClosed.answer.text, '/c')
  assert.deepEqual(
    answers.map(answer => answer.text),
    ['/d', '/e'],
  )
})

test("a paused reader blocks the server's writes", async () => {
  let written = 0
  await using server = await startScripted((_, res) => {
    const piece = Buffer.alloc(64 * 1024)
    const pour = () => {
      for (;;) {
        written += piece.length
        if (!res.write(piece)) break
      }
    }
    res.on('drain', pour)
    pour()
  })
  using connection = await openRaw(server.port)
  connection.pause()
  connection.send('GET / HTTP/1.1\r\nHost: x\r\n\r\n')
  await setTimeout(150)
  const early = written
  await setTimeout(150)

  assert.ok(early > 0)
  assert.equal(written, early)
})

test('interim and truncated answers are distinguished from complete ones', () => {
  const bytes = Buffer.from('HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabc')

  const answers = parseAnswers(bytes, true)

  assert.deepEqual(
    answers.map(answer => [answer.status, answer.complete]),
    [
      [100, true],
      [200, false],
    ],
  )
})

async function startEcho() {
  const server = createServer({ allowHalfOpen: true }, (socket: Socket) => void socket.pipe(socket))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return { port: (server.address() as AddressInfo).port, [Symbol.asyncDispose]: async () => void server.close() }
}

async function startScripted(handler: Parameters<typeof createHttpServer>[1] & {}) {
  const server = createHttpServer(handler as never)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      server.close()
    },
  }
}
