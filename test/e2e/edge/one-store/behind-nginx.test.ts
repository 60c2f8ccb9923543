// Two nodes behind the nginx of the deployment files: answers and streams pass unbuffered, callers keep their
// addresses, an unavailable node is not noticed, and no chat is sent twice.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { text } from 'node:stream/consumers'
import { after, test } from 'node:test'
import { nginxBinary } from '../../../support/deploy-tools.ts'
import { ADMIN_TOKEN, ENCRYPTION_KEY, type Gateway, standardConfig, startGateway } from '../../../support/gateway.ts'
import { httpCall } from '../../../support/http-call.ts'
import { startNginx } from '../../../support/nginx.ts'
import { request } from '../../../support/node-http.ts'
import { freshSchema, hasPostgres } from '../../../support/postgres.ts'
import { openStream } from '../../../support/sse.ts'
import { until } from '../../../support/until.ts'
import { startUpstream } from '../../../support/upstream.ts'

const binary = nginxBinary()

if (binary !== undefined && hasPostgres()) {
  const upstream = await startUpstream()
  const schema = await freshSchema()
  const env = {
    DATABASE_URL: schema.url,
    TURNPIKE_ENCRYPTION_KEY: ENCRYPTION_KEY,
    TURNPIKE_TRUSTED_PROXIES: '127.0.0.1/32',
  }
  const start = () => startGateway({ config: standardConfig(upstream.url), env })
  const first = await start()
  const second = await start()
  const nginx = await startNginx(binary, [first.port, second.port])
  const key = await first.createKey({ rpm_limit: 100_000, daily_limit: null })
  const url = `${nginx.url}/v1/chat/completions`
  const headers = { authorization: `Bearer ${key.secret}` }
  const body = { model: 'test/m1', messages: [{ role: 'user', content: 'Hello' }] }
  after(async () => {
    const { ok, output } = await first.audit()
    for (const part of [nginx, first, second, schema, upstream]) await part[Symbol.asyncDispose]()
    assert.ok(ok, JSON.stringify(output))
  })

  test('a JSON answer has its cost, and so have refusals', async () => {
    const answer = await httpCall(url, { body, headers })
    const unknown = await httpCall(url, { body })

    assert.equal(answer.status, 200)
    assert.ok(Number(answer.headers['x-svc-cost']) > 0)
    assert.equal(unknown.status, 401)
    assert.equal(unknown.body.error?.code, 'invalid_api_key')
    assert.match(String(unknown.headers['x-request-id']), /^[0-9a-f-]{36}$/)
  })

  test('a body that is too large is refused by the gateway, not by nginx', async () => {
    const large = await httpCall(url, { body: JSON.stringify({ ...body, user: 'x'.repeat(17_000_000) }), headers })

    assert.equal(large.status, 413)
    assert.equal(large.body.error?.code, 'request_too_large')
  })

  test('a stream arrives chunk by chunk', async () => {
    upstream.next({ words: ['one', ' two', ' three'], chunkDelayMs: 400 })
    const stream = await openStream(url, { body: { ...body, stream: true }, key: key.secret })
    await stream.nextChunk()
    const firstAt = performance.now()
    const { done, content } = await stream.rest()

    assert.deepEqual([done, content], [true, 'one two three'])
    assert.ok(performance.now() - firstAt > 600, 'the first chunk was held back until the provider had ended')
    // Only newer versions of nginx forward trailers; in every version the row has the cost by now.
    if (nginx.passesTrailers) assert.ok(Number(stream.trailers['x-svc-cost']) > 0)
    const row = await httpCall(`${nginx.url}/v1/usage/${String(stream.headers['x-request-id'])}`, { headers })
    assert.ok(Number(row.body.cost) > 0)
  })

  test('a disconnect reaches the provider, during a stream and before the first byte', async () => {
    const streamed = upstream.journal.length
    upstream.next({ words: Array.from({ length: 100 }, () => ' word'), chunkDelayMs: 100 })
    const stream = await openStream(url, { body: { ...body, stream: true }, key: key.secret })
    await stream.nextChunk()
    stream.abort()
    await until('the provider sees it', () => upstream.journal[streamed]?.closedByPeerAt !== undefined, 5000)

    const waited = upstream.journal.length
    upstream.next({ delayMs: 8000 })
    const leaving = new AbortController()
    // A stream: a JSON call is read to its end, because its usage comes last.
    const streaming = { ...body, stream: true }
    const answer = httpCall(url, { body: streaming, headers, signal: leaving.signal }).catch(error => String(error))
    await upstream.received(waited + 1)
    leaving.abort()
    await until('the provider sees it', () => upstream.journal[waited]?.closedByPeerAt !== undefined, 5000)
    assert.match(String(await answer), /AbortError/)
  })

  test("the row has the caller's address, whatever headers it sends", async () => {
    for (const claimed of [undefined, '6.6.6.6', 'garbage']) {
      const id = await modelsFrom('127.0.0.2', claimed)

      const { body: row } = await first.admin('GET', `/usage/${id}`)
      assert.equal(row.client_ip, '127.0.0.2', claimed ?? 'nothing')
    }
  })

  test('a session cookie is Secure if TLS ends in front of nginx', async () => {
    const signIn = async (proto: string | undefined) => {
      const forwarded: Record<string, string> = proto === undefined ? {} : { 'x-forwarded-proto': proto }
      const answer = await httpCall(`${nginx.url}/admin/v1/session`, {
        body: { token: ADMIN_TOKEN },
        headers: forwarded,
      })
      assert.equal(answer.status, 201)
      return String(answer.headers['set-cookie']).includes('; Secure')
    }

    assert.deepEqual([await signIn('https'), await signIn('https, http')], [true, true])
    assert.deepEqual([await signIn('http'), await signIn(undefined)], [false, false])
  })

  test('metrics are not available through the proxy', async () => {
    assert.equal((await httpCall(`${nginx.url}/metrics`)).status, 404)
  })

  test('a chat whose node dies is not retried, and the caller gets an error in the usual shape', async () => {
    upstream.script({ delayMs: 3000 })
    const from = upstream.journal.length
    const [answer] = await Promise.all([
      httpCall(url, { body, headers }),
      upstream.received(from + 1).then(async () => {
        // Whichever node has it.
        const busy = (await inFlight(first)) > 0 ? first : second
        await busy.kill()
        await busy.restart()
      }),
    ])
    upstream.script({})

    assert.deepEqual([answer.status, answer.body.error?.code], [503, 'service_unavailable'])
    assert.equal(answer.headers['retry-after'], '1')
    assert.equal(upstream.journal.length, from + 1)
  })

  test('one unavailable node is invisible; two give an error in the usual shape', async () => {
    await second.stop({ hurry: true })

    const answers = await Promise.all(Array.from({ length: 20 }, () => httpCall(url, { body, headers })))
    assert.deepEqual(
      answers.filter(answer => answer.status !== 200).map(answer => `${answer.status} ${answer.text}`),
      [],
    )

    await first.stop({ hurry: true })
    const none = await httpCall(url, { body, headers })
    assert.deepEqual([none.status, none.body.error?.code], [503, 'service_unavailable'])
    await first.restart()
    await until('it is available again', async () => (await httpCall(url, { body, headers })).status === 200)
  })

  async function modelsFrom(localAddress: string, claimed: string | undefined): Promise<string> {
    const forwarded = claimed === undefined ? {} : { 'x-forwarded-for': claimed }
    const outgoing = request(`${nginx.url}/v1/models`, {
      localAddress,
      agent: false,
      headers: { ...headers, ...forwarded },
    })
    outgoing.end()
    const [incoming] = (await once(outgoing, 'response')) as [IncomingMessage]
    await text(incoming)
    assert.equal(incoming.statusCode, 200)
    return String(incoming.headers['x-request-id'])
  }
}

async function inFlight(gateway: Gateway): Promise<number> {
  const { text: metrics } = await gateway.get('/metrics')
  return Number(/^turnpike_requests_in_flight (\d+)/m.exec(metrics)?.[1] ?? 0)
}
