// Both HTTP clients: which account gets a connection again and when, and what a process finds that stood still for a while.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, createServer } from 'node:net'
import { type TestContext, test } from 'node:test'
import { setImmediate as immediate, setTimeout as sleep } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import { ask, CLIENTS, listening, OK, open, opened, turns } from '../support/http-clients.ts'

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
