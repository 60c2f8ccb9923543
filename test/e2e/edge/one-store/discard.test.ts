// The body of a refused request is neither parsed nor stored: a short one is discarded and the connection stays usable,
// a long or endless one closes the connection.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { standardConfig, startGateway } from '../../../support/gateway.ts'
import { openRaw } from '../../../support/raw-http.ts'
import { assertRefusal, type Code, seen } from '../../../support/refusal.ts'
import { startUpstream } from '../../../support/upstream.ts'

const MIB = 1024 * 1024

test('the body of a refused request is discarded, or the connection is closed', async t => {
  await using upstream = await startUpstream()
  await using gateway = await startGateway({ config: standardConfig(upstream.url) })
  const { secret } = await gateway.createKey()
  const suspended = await gateway.createKey()
  await gateway.admin('PATCH', `/accounts/${suspended.accountId}`, { status: 'suspended' })
  const spent = await gateway.createKey({ rpm_limit: 1 })
  await gateway.get('/v1/models', spent.secret)
  const post = (key: string, headers: string, target = '/v1/chat/completions') =>
    `POST ${target} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\nContent-Type: application/json\r\n${headers}\r\n`
  const next = `GET /v1/models HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${secret}\r\n\r\n`
  // Looks like a separate request, in case it is parsed as one.
  const poison = 'GET /v1/key/introspect HTTP/1.1\r\nHost: x\r\n\r\n'

  const refusals: readonly [what: string, head: (headers: string) => string, code: Code][] = [
    ['an unknown key', headers => post('svc_live_nobody', headers), 'invalid_api_key'],
    ['a suspended account', headers => post(suspended.secret, headers), 'account_suspended'],
    ['a wrong method', headers => post(secret, headers, '/v1/models'), 'method_not_allowed'],
    ['an unknown path', headers => post(secret, headers, '/v1/nothing'), 'not_found'],
    ['an exhausted limit', headers => post(spent.secret, headers), 'rate_limit_exceeded'],
    ['another content type', headers => post(secret, headers).replace('/json', '/xml'), 'unsupported_media_type'],
  ]

  for (const [what, head, code] of refusals) {
    await t.test(`${what}: a short body is discarded, and the connection stays usable`, async () => {
      const body = poison.padEnd(MIB, 'x')
      using connection = await openRaw(gateway.port)

      connection.send(head(`Content-Length: ${body.length}\r\n`) + body + next)
      const answers = await connection.answers(2)

      assert.equal(answers.length, 2)
      assertRefusal(seen(answers[0] as (typeof answers)[number]), code)
      assert.notEqual(answers[0]?.header('connection'), 'close')
      assert.equal(answers[1]?.status, 200)
      assert.equal(connection.closedBy, 'open')
    })

    await t.test(`${what}: the answer does not wait for the body`, async () => {
      using connection = await openRaw(gateway.port)

      connection.send(head('Content-Length: 1000\r\n'))
      const [answer] = await connection.answers(1)
      connection.send('x'.repeat(1000) + next)
      const answers = await connection.answers(2)

      assertRefusal(seen(answer as NonNullable<typeof answer>), code)
      assert.equal(answers[1]?.status, 200)
    })
  }

  await t.test('a longer or chunked body gets its answer, and the connection closes', async () => {
    const framings = [
      `Content-Length: ${16 * MIB + 1}\r\n`,
      'Transfer-Encoding: chunked\r\n',
      'Content-Length: 1000\r\nExpect: 100-continue\r\n',
    ]
    const cases = refusals.flatMap(([, head, code]) => framings.map(framing => ({ request: head(framing), code })))

    await Promise.all(
      cases.map(async ({ request, code }) => {
        using connection = await openRaw(gateway.port)

        connection.send(request)
        const [answer] = await connection.answers(1)
        const startedAt = performance.now()
        const closed = await connection.closed(8000)

        assertRefusal(seen(answer as NonNullable<typeof answer>), code)
        assert.equal(answer?.header('connection'), 'close')
        assert.equal(closed, true)
        assert.ok(performance.now() - startedAt > 1000, 'closed before the caller could have read the answer')
      }),
    )
  })

  await t.test('a complete chunked body closes the connection too', async () => {
    for (const [, head, code] of refusals) {
      using connection = await openRaw(gateway.port)

      connection.send(`${head('Transfer-Encoding: chunked\r\n')}5\r\nhello\r\n0\r\n\r\n`)
      const [answer] = await connection.answers(1)

      assertRefusal(seen(answer as NonNullable<typeof answer>), code)
      assert.equal(answer?.header('connection'), 'close')
      assert.equal(await connection.closed(8000), true)
    }
  })

  await t.test('a chunked body that was read before it was refused does not', async () => {
    using connection = await openRaw(gateway.port)

    connection.send(`${post(secret, 'Transfer-Encoding: chunked\r\n')}2\r\n{}\r\n0\r\n\r\n${next}`)
    const answers = await connection.answers(2)

    assertRefusal(seen(answers[0] as NonNullable<(typeof answers)[0]>), 'missing_field', 'model')
    assert.equal(answers[1]?.status, 200)
  })

  await t.test(
    'a caller that keeps sending is cut off after 1 MiB, and nothing of it is read as a request',
    async () => {
      using connection = await openRaw(gateway.port)
      const piece = `${(64 * 1024).toString(16)}\r\n${poison.padEnd(64 * 1024, ' ')}\r\n`

      connection.send(post('svc_live_nobody', 'Transfer-Encoding: chunked\r\n'))
      const [answer] = await connection.answers(1)
      const startedAt = performance.now()
      for (let sent = 0; sent < 64 * MIB && connection.closedBy === 'open'; sent += MIB) {
        for (let i = 0; i < 16; i++) connection.send(piece)
        await new Promise(resolve => setTimeout(resolve, 5))
      }

      assertRefusal(seen(answer as NonNullable<typeof answer>), 'invalid_api_key')
      assert.equal(await connection.closed(), true)
      assert.ok(performance.now() - startedAt < 1900, 'closed by a timeout instead of the byte limit')
      assert.equal((connection.received.toString().match(/HTTP\/1\.1/g) ?? []).length, 1)
    },
  )

  assert.ok((await gateway.audit()).ok)
})
