// Both HTTP clients, on real sockets: after which responses a connection is not reused, when silence times out, and who is blamed
// for a missing connection.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { Socket } from 'node:net'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { createServer as createTlsServer } from 'node:tls'
import type { Failure } from '../../src/domain/failure.ts'
import { failureOf } from '../../src/upstream/connection-failure.ts'
import { connectionLimit } from '../../src/upstream/connection-limit.ts'
import { CERTIFICATE, PRIVATE_KEY } from '../fixtures/localhost-tls.ts'
import { ask, CLIENTS, listening, OK, open, opened, turns } from '../support/http-clients.ts'

const OF_HTTP_1_0 = ['HTTP/1.0', 'HTTP/1.0 200 OK\r\nconnection: keep-alive\r\ncontent-length: 2\r\n\r\nok'] as const

for (const [name, client] of Object.entries(CLIENTS)) {
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
