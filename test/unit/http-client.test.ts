// Both HTTP clients, on real sockets: which connection a request uses, when silence times out, and who is blamed for a
// missing connection.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import { setImmediate as immediate, setTimeout as sleep } from 'node:timers/promises'
import { createServer as createTlsServer } from 'node:tls'
import { Worker } from 'node:worker_threads'
import { TIMEOUTS } from '../../src/config/limits.ts'
import type { Timeouts } from '../../src/domain/catalog.ts'
import type { Failure } from '../../src/domain/failure.ts'
import { type Clock, systemClock } from '../../src/lib/clock.ts'
import { failureOf } from '../../src/upstream/connection-failure.ts'
import { type ConnectionLimit, connectionLimit } from '../../src/upstream/connection-limit.ts'
import type { HttpClient, HttpClientOptions } from '../../src/upstream/http-client.ts'
import { http1Client } from '../../src/upstream/http1/client.ts'
import { undiciClient } from '../../src/upstream/undici/client.ts'
import { CERTIFICATE, PRIVATE_KEY } from '../fixtures/localhost-tls.ts'

const OK = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok'

const OF_HTTP_1_0 = ['HTTP/1.0', 'HTTP/1.0 200 OK\r\nconnection: keep-alive\r\ncontent-length: 2\r\n\r\nok'] as const
const CLIENTS = { http1: http1Client, undici: (options: HttpClientOptions) => undiciClient(options) }

for (const [name, client] of Object.entries(CLIENTS)) {
  test(`${name}: an account gets the connection that it used last; another account only after 100 ms of idling`, async t => {
    let nowMs = 0
    const clock = { now: () => nowMs, monotonic: () => nowMs }
    const { wire, sockets } = await opened(t, client, OK, { clock })
    const askAfter = async (ms: number, accountId: string) => {
      nowMs += ms
      // The next time at which connections may ripen has come.
      await sleep(150)
      await ask(wire, accountId)
      return sockets.length
    }

    assert.equal(await askAfter(0, 'a'), 1)
    assert.equal(await askAfter(5, 'a'), 1)
    assert.equal(await askAfter(99, 'b'), 2)
    assert.equal(await askAfter(5, 'b'), 2)
    assert.equal(await askAfter(5, 'a'), 2)
    // Both are idle for longer than that by now, that of `b` for less than that of `a`.
    assert.equal(await askAfter(101, 'c'), 2)
    assert.equal(await askAfter(5, 'c'), 2)
    assert.equal(await askAfter(0, 'b'), 2)
    assert.equal(await askAfter(0, 'd'), 3)
    await sleep(150)
    assert.equal(await askAfter(200, 'e'), 3)
  })

  test(`${name}: an account gets its connection again after 2 ms, and when what followed its response has been read`, async t => {
    let nowMs = 0
    const clock = { now: () => nowMs, monotonic: () => nowMs }
    const { wire, sockets } = await opened(t, client, OK, { clock })
    await ask(wire, 'a')
    nowMs += 1
    await turns()
    await ask(wire, 'a')
    assert.equal(sockets.length, 2)

    const busy = open(t, client, `http://127.0.0.1:${await answeringTwice(t)}`, {})
    const answers: string[] = []
    const note = (bytes: Buffer) => answers.push(bytes.toString('latin1'))
    await ask(busy, 'a', note)
    standStill(200)
    await ask(busy, 'a', note)
    assert.deepEqual(answers, ['1', '1'])
  })

  test(`${name}: connections ripen without a timer per request, and when all are ripe without any`, async t => {
    const { wire } = await opened(t, client, OK)
    const timers = t.mock.method(globalThis, 'setTimeout')
    const refs = () => process.getActiveResourcesInfo().filter(kind => kind === 'Timeout').length
    const before = refs()

    for (let i = 0; i < 5; i++) await Promise.all(['a', 'b', 'c', 'd'].map(account => ask(wire, account)))
    const after = refs()
    await sleep(400)
    const until = timers.mock.callCount()
    await sleep(200)

    assert.equal(after, before, 'they keep no process alive')
    // Of each connection two, and of all of them one in ten milliseconds.
    assert.ok(until < 60, `${until} timers`)
    assert.equal(timers.mock.callCount(), until)
  })

  test(`${name}: a second response that arrived while the process stood still never reaches another account`, async t => {
    const port = await answeringTwice(t)
    const stop = await stopper(t)
    // Long enough that the connection seems to have been idle for 100 ms; what arrived meanwhile is unread.
    const stops = {
      'before a request': async () => {
        await immediate()
        standStill(300)
      },
      'before timers, of which one is that of the connections': async () => {
        const due = sleep(80)
        await immediate()
        standStill(300)
        await due
      },
      'between that timer and immediates': async () => {
        const due = sleep(20)
        await immediate()
        standStill(30)
        await due
        stop()
        await immediate()
      },
    }
    for (const [when, standingStill] of Object.entries(stops)) {
      const wire = open(t, client, `http://127.0.0.1:${port}`, {})
      const answers: string[] = []
      const note = (bytes: Buffer) => answers.push(bytes.toString('latin1'))

      // Its connection ripens first, before the second response to the next request comes.
      await ask(wire, 'other')
      await sleep(60)
      await ask(wire, 'a', note)
      await sleep(30)
      await standingStill()
      await ask(wire, 'b', note)

      assert.deepEqual(answers, ['1', '1'], when)
    }
  })

  test(`${name}: what came while the process stood still is no timeout: a connection, a response, its body`, async t => {
    const port = await onThread(
      t,
      `socket.on('data', () => {
        setTimeout(() => socket.write('HTTP/1.1 200 OK\\r\\ncontent-length: 2\\r\\n\\r\\n'), 50)
        setTimeout(() => socket.write('ok'), 120)
      })`,
    )
    const timeouts = { connectMs: 500, idleMs: 500 }
    const waits = {
      connection: () => new Promise<void>(process.nextTick),
      response: () => sleep(20).then(() => immediate()),
      body: () => sleep(80).then(() => immediate()),
    }
    for (const [what, wait] of Object.entries(waits)) {
      const wire = open(t, client, `http://127.0.0.1:${port}`, { timeouts })

      const asked = ask(wire, 'a', undefined, 500)
      await wait()
      standStill(800)

      assert.equal(await asked, undefined, what)
    }
    const wire = open(t, client, `http://127.0.0.1:${port}`, { timeouts })
    assert.equal((await ask(wire, 'a', undefined, 30))?.kind, 'timeout')
  })

  for (const [what, answer] of [
    ['a 204 with a length', 'HTTP/1.1 204 No Content\r\ncontent-length: 5\r\n\r\n'],
    ['a 304 with a length', 'HTTP/1.1 304 Not Modified\r\ncontent-length: 5\r\n\r\n'],
    ['a 204 in chunks', 'HTTP/1.1 204 No Content\r\ntransfer-encoding: chunked\r\n\r\n'],
    ['Connection: close', 'HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 2\r\n\r\nok'],
    [
      'a second Connection header',
      'HTTP/1.1 200 OK\r\nconnection: keep-alive\r\nConnection: Close\r\ncontent-length: 2\r\n\r\nok',
    ],
    ['interim headers that close', `HTTP/1.1 103 Early Hints\r\nconnection: close\r\n\r\n${OK}`],
    ['bytes after the end', `${OK}H`],
    // Undici honours keep-alive of HTTP/1.0; only our own client does not.
    ...(name === 'http1' ? [OF_HTTP_1_0] : []),
  ] as const) {
    test(`${name}: a connection is not reused after ${what}`, async t => {
      const { wire, sockets } = await opened(t, client, answer)

      await ask(wire, 'a')
      await turns()
      await ask(wire, 'a')

      assert.equal(sockets.length, 2)
    })
  }

  test(`${name}: a body that stalls after its headers is ended by the idle timeout, not by that of the first byte`, async t => {
    const head = 'HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\n'
    for (const begun of [head, `${head}abc`]) {
      const { wire } = await opened(t, client, begun, { timeouts: { idleMs: 100 } })
      const began = performance.now()

      const failure = await ask(wire, 'a')

      assert.equal(failure?.kind, 'timeout')
      assert.ok(performance.now() - began < 10_000)
    }
  })

  test(`${name}: all upstreams share one connection limit: an idle connection is closed for a new one, and beyond the limit no upstream is blamed`, async t => {
    const limit = connectionLimit(1)
    const silent = { timeouts: { idleMs: 60_000 }, limit }
    const first = await opened(t, client, 'HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n', { limit })
    const second = await opened(t, client, 'HTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\n', silent)

    assert.equal(await ask(first.wire, 'a'), undefined)
    const waiting = ask(second.wire, 'a')
    const [resting] = first.sockets as [Socket]
    if (!resting.closed) await once(resting, 'close')
    const refused = await ask(first.wire, 'a')
    second.sockets[0]?.write('x')

    assert.equal(await waiting, undefined)
    assert.deepEqual([refused?.kind, refused?.ours], ['refused', true])
  })

  test(`${name}: if only public addresses may be called, no private one is connected to, by http or https, by address or name`, async t => {
    let connections = 0
    const server = createTlsServer({ cert: CERTIFICATE, key: PRIVATE_KEY }).on('connection', () => {
      connections += 1
    })
    const port = await listening(t, server)
    for (const host of ['127.0.0.1', 'localhost', '[::ffff:127.0.0.1]']) {
      for (const protocol of ['https', 'http']) {
        const wire = open(t, client, `${protocol}://${host}:${port}`, { publicOnly: true })

        const failure = await ask(wire, 'a')

        assert.equal(failure?.kind, 'refused', `${protocol}://${host}`)
        assert.match(failure?.message ?? '', /ENOTPUBLIC|not a public address/)
      }
    }
    await sleep(50)
    assert.equal(connections, 0)
  })

  test(`${name}: between megabytes that arrive at once, other work runs after each 64 KiB, and all of them are read`, async t => {
    const bytes = 8 * 1024 * 1024
    const { wire } = await opened(t, client, `HTTP/1.1 200 OK\r\ncontent-length: ${bytes}\r\n\r\n${'x'.repeat(bytes)}`)
    let read = 0
    let before = 0
    let most = 0
    let isOver = false
    const look = () => {
      most = Math.max(most, read - before)
      before = read
      if (!isOver) setImmediate(look)
    }
    look()

    const failure = await ask(wire, 'a', chunk => {
      read += chunk.length
    })
    isOver = true

    assert.deepEqual([failure, read], [undefined, bytes])
    // One more read may be in progress when the bound is reached.
    assert.ok(most <= 2 * 65_536, `${most} bytes in one iteration`)
  })
}

test('exhausted resources of this machine are blamed on no upstream', () => {
  const at = { connected: false, stale: false }
  const error = (code: string) => Object.assign(new Error(code), { code })
  for (const code of ['EMFILE', 'ENFILE', 'ENOBUFS', 'ENOMEM', 'EADDRNOTAVAIL', 'EAGAIN', 'EAI_MEMORY']) {
    assert.deepEqual(seen(failureOf(error(code), at)), ['refused', true], code)
    const several = new AggregateError([error('ECONNREFUSED'), error(code)])
    assert.equal(failureOf(several, at).ours, true)
  }
  assert.deepEqual(seen(failureOf(error('ECONNREFUSED'), at)), ['refused', false])
  assert.deepEqual(seen(failureOf(error('ENOTFOUND'), at)), ['dns', false])
  assert.deepEqual(seen(failureOf(error('CERT_HAS_EXPIRED'), at)), ['tls', false])
})

function seen({ kind, ours }: Failure): readonly [string, boolean] {
  return [kind, ours]
}

// Bytes after an answer have been read by then.
async function turns(): Promise<void> {
  for (let i = 0; i < 5; i++) await sleep(3)
}

type Open = (options: HttpClientOptions) => HttpClient
type Options = {
  readonly timeouts?: Partial<Timeouts>
  readonly publicOnly?: boolean
  readonly clock?: Clock
  readonly limit?: ConnectionLimit
}

// A server that answers every request with these bytes.
async function opened(t: TestContext, client: Open, answer: string, options: Options = {}) {
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

function standStill(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms)
}

// Stops this thread when it reads its sockets.
async function stopper(t: TestContext): Promise<() => void> {
  const server = createServer(socket => {
    socket.on('error', () => undefined).on('data', () => standStill(300))
  })
  const port = await listening(t, server)
  const socket = connect(port, '127.0.0.1').on('error', () => undefined)
  await once(socket, 'connect')
  t.after(() => socket.destroy())
  return () => socket.write('x')
}

// 80 ms after the first response of a connection comes the second.
function answeringTwice(t: TestContext): Promise<number> {
  return onThread(
    t,
    `const answer = number => 'HTTP/1.1 200 OK\\r\\ncontent-length: 1\\r\\n\\r\\n' + number
    socket.once('data', () => {
      socket.write(answer(1))
      setTimeout(() => socket.write(answer(2)), 80)
    })`,
  )
}

// A server on a thread of its own, which answers while this one stands still.
async function onThread(t: TestContext, onSocket: string): Promise<number> {
  const server = new Worker(
    `const { parentPort } = require('node:worker_threads')
    const server = require('node:net').createServer({ noDelay: true }, socket => {
      socket.on('error', () => undefined)
      ${onSocket}
    })
    server.listen(0, '127.0.0.1', () => parentPort.postMessage(server.address().port))`,
    { eval: true },
  )
  t.after(() => server.terminate())
  const [port] = (await once(server, 'message')) as [number]
  return port
}

async function listening(t: TestContext, server: ReturnType<typeof createServer>): Promise<number> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.close())
  return (server.address() as AddressInfo).port
}

function open(
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

function ask(
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
