// The tunnel through a proxy, on real sockets: http and https upstreams, a password, and the failures of a proxy.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer as createHttpServer, type RequestListener } from 'node:http'
import { createServer as createHttpsServer } from 'node:https'
import type { AddressInfo, Server } from 'node:net'
import { type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { TIMEOUTS } from '../../src/config/limits.ts'
import type { Failure } from '../../src/domain/failure.ts'
import { systemClock } from '../../src/lib/clock.ts'
import { connectionLimit } from '../../src/upstream/connection-limit.ts'
import type { HttpClient } from '../../src/upstream/http-client.ts'
import { proxyFor } from '../../src/upstream/open-client.ts'
import { undiciClient } from '../../src/upstream/undici/client.ts'
import { CERTIFICATE, PRIVATE_KEY } from '../fixtures/localhost-tls.ts'
import { PROXY_PASSWORD, PROXY_USER, startConnectProxy } from '../support/connect-proxy.ts'

setDefaultCACertificates([...getCACertificates('default'), CERTIFICATE])

const echo: RequestListener = async (req, res) => {
  let body = ''
  for await (const piece of req) body += piece
  res.end(JSON.stringify({ method: req.method, url: req.url, headers: req.headers, body }))
}

for (const scheme of ['http', 'https'] as const) {
  test(`${scheme}: calls use the tunnel, several over one connection, and the proxy's password is sent only to the proxy`, async t => {
    await using proxy = await startConnectProxy()
    const port = await listening(t, serverOf(scheme))
    const host = scheme === 'https' ? 'localhost' : 'upstream.test'
    const client = open(t, `${scheme}://${host}:${port}`, proxy.url)

    const first = await ask(client)
    // A connection is reused after a few iterations of the event loop.
    for (let i = 0; i < 5; i++) await sleep(5)
    const second = await ask(client)

    assert.deepEqual([first.failure, second.failure, first.sent], [undefined, undefined, 1])
    const seen = JSON.parse(first.text)
    assert.deepEqual([seen.method, seen.url, seen.body, seen.headers.host], ['POST', '/v1', '{}', `${host}:${port}`])
    assert.equal(seen.headers['proxy-authorization'], undefined)
    assert.deepEqual(proxy.journal, [`${host}:${port} 200`])
  })

  for (const [what, credentials] of [
    ['without a password', ''],
    ['with a wrong one', `${PROXY_USER}:wrong@`],
  ] as const) {
    test(`${scheme}: a proxy that refuses a call ${what} is a connection failure, and nothing was sent`, async t => {
      await using proxy = await startConnectProxy()
      const port = await listening(t, serverOf(scheme))
      const client = open(t, `${scheme}://localhost:${port}`, `http://${credentials}127.0.0.1:${proxy.port}`)

      const { failure, sent, text } = await ask(client)

      assert.deepEqual([failure?.kind, failure?.ours, failure?.stale, sent, text], ['refused', false, false, 0, ''])
      assert.match(failure?.message ?? '', /407/)
      assert.doesNotMatch(failure?.message ?? '', /wrong|gate/)
      assert.deepEqual(proxy.journal, [`localhost:${port} 407`])
    })
  }
}

test('a proxy that is unreachable, closes, never answers or sends an invalid response is a connection failure', async t => {
  const gone = await startConnectProxy()
  await gone[Symbol.asyncDispose]()
  await using closing = await startConnectProxy(socket => void socket.destroy())
  await using silent = await startConnectProxy(() => undefined)
  await using odd = await startConnectProxy(socket => void socket.end('SSH-2.0-OpenSSH_9.9\r\n'))
  await using full = await startConnectProxy(socket => void socket.end('HTTP/1.1 503 Busy\r\n\r\n'))

  const kinds: unknown[] = []
  for (const { url } of [gone, closing, silent, odd, full]) {
    const { failure, sent } = await ask(open(t, 'https://upstream.test', url, { connectMs: 300 }))
    kinds.push(failure?.kind)
    assert.equal(sent, 0)
    assert.ok(!failure?.message.includes(PROXY_PASSWORD))
  }

  assert.deepEqual(kinds, ['refused', 'refused', 'connect_timeout', 'refused', 'refused'])
})

test('if only public addresses may be called, a proxy gets no private one, and must be public itself', async t => {
  await using proxy = await startConnectProxy()
  const port = await listening(t, serverOf('http'))
  for (const host of ['localhost', '127.0.0.1', '[::ffff:7f00:1]']) {
    const { failure, sent } = await ask(open(t, `http://${host}:${port}`, proxy.url, {}, true))
    assert.deepEqual([failure?.kind, sent], ['refused', 0], host)
    assert.match(failure?.message ?? '', /is not a public address/)
  }

  const own = proxyFor(new URL('http://203.0.113.1'), { proxy: proxy.url, publicOnly: true }, NONE)
  const { failure } = await ask(clientOf(t, 'http://upstream.test', own))
  assert.match(failure?.message ?? '', /is not a public address/)
  assert.deepEqual(proxy.journal, [])
})

const NONE = { http: undefined, https: undefined, exempt: [] }

function serverOf(scheme: 'http' | 'https'): Server {
  return scheme === 'https' ? createHttpsServer({ cert: CERTIFICATE, key: PRIVATE_KEY }, echo) : createHttpServer(echo)
}

async function listening(t: TestContext, server: Server): Promise<number> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.close())
  return (server.address() as AddressInfo).port
}

// A proxy of the environment would not be used for localhost: this is a provider's own.
function open(t: TestContext, url: string, proxyUrl: string, timeouts = {}, publicOnly = false): HttpClient {
  const { username, password, host } = new URL(proxyUrl)
  const credentials = username === '' ? {} : { proxyCredentials: `${username}:${password}` }
  const proxy = proxyFor(new URL(url), { proxy: `http://${host}`, ...credentials }, NONE)
  return clientOf(t, url, proxy, timeouts, publicOnly)
}

function clientOf(
  t: TestContext,
  url: string,
  proxy: ReturnType<typeof proxyFor>,
  timeouts = {},
  publicOnly = false,
): HttpClient {
  const options = {
    url: new URL(url),
    publicOnly,
    headers: { 'content-type': 'application/json' },
    timeouts: { ...TIMEOUTS, ...timeouts },
    connectionsMax: 10,
    limit: connectionLimit(10),
    clock: systemClock,
    onBug: (error: unknown) => assert.fail(String(error)),
  }
  const client = undiciClient(options, proxy)
  t.after(() => client.close())
  return client
}

function ask(client: HttpClient): Promise<{ failure: Failure | undefined; text: string; sent: number }> {
  return new Promise(resolve => {
    let text = ''
    let sent = 0
    const onSent = () => {
      sent += 1
    }
    const data = (chunk: Buffer) => {
      text += chunk
    }
    client.send(
      {
        requestId: 'r',
        accountId: 'a',
        path: '/v1',
        head: 'x-a: b\r\n',
        body: '{}',
        firstByteMs: 15_000,
        totalMs: 60_000,
        onSent,
      },
      { start: () => undefined, data, end: failure => resolve({ failure, text, sent }) },
    )
  })
}
