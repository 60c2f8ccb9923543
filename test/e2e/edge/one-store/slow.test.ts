// Slow callers: headers have ten seconds, a body thirty, and neither holds credits meanwhile. The waits are real, so
// all of them run concurrently.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ADMIN_TOKEN, standardConfig, startGateway } from '../../../support/gateway.ts'
import { openRaw, type RawResult, rawRequest } from '../../../support/raw-http.ts'
import { assertRefusal, seen } from '../../../support/refusal.ts'
import { startUpstream } from '../../../support/upstream.ts'
import { balanceOf } from '../../../support/usage.ts'

test('slow headers time out after 10 seconds and slow bodies after 30, without a hold', async t => {
  await using upstream = await startUpstream()
  await using gateway = await startGateway({ config: standardConfig(upstream.url) })
  const key = await gateway.createKey()
  const refused = await gateway.createKey({ scopes: [] })
  const head = `GET /v1/models HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key.secret}\r\n`
  const post = (secret: string, framing: string, target = '/v1/chat/completions') =>
    `POST ${target} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${secret}\r\nContent-Type: application/json\r\n${framing}\r\n\r\n`
  const patience = { timeoutMs: 45_000 }
  const drip = { bytes: 1, delayMs: 300 }

  const heads = [
    rawRequest(gateway.port, head, patience),
    rawRequest(gateway.port, `${head}X-Slow: ${'a'.repeat(200)}`, { ...patience, pace: drip }),
    rawRequest(gateway.port, 'G', patience),
  ]
  const silent = rawRequest(gateway.port, '', patience)
  const bodies = [
    rawRequest(gateway.port, post(key.secret, 'Content-Length: 1000'), patience),
    rawRequest(gateway.port, `${post(key.secret, 'Transfer-Encoding: chunked')}1\r\n{\r\n`, patience),
    dripBody(post(key.secret, 'Content-Length: 1000')),
  ]
  const operator = rawRequest(gateway.port, post(ADMIN_TOKEN, 'Content-Length: 1000', '/admin/v1/keys'), patience)
  const refusedRequest = rawRequest(gateway.port, post(refused.secret, 'Content-Length: 1000'), patience)

  await t.test('headers that never end are a 408 after 10 seconds', async () => {
    for (const { answer, ended, ms } of await Promise.all(heads)) {
      assertRefusal(seen(answer), 'request_timeout')
      assert.equal(answer.header('connection'), 'close')
      assert.notEqual(ended, 'timeout')
      assert.ok(ms > 9_000 && ms < 20_000, `${ms} ms`)
    }
  })

  await t.test('a silent connection is closed as well', async () => {
    const { ended, ms } = await silent

    assert.notEqual(ended, 'timeout')
    assert.ok(ms < 20_000, `${ms} ms`)
  })

  await t.test('while bodies are uploaded nothing is held and no upstream is called', async () => {
    assert.equal((await balanceOf(gateway, key.accountId)).held, '0')
    assert.equal(upstream.journal.length, 0)
  })

  await t.test('a body that never ends is a 408 after 30 seconds', async () => {
    for (const { answers, answer, ended, ms } of await Promise.all(bodies)) {
      assertRefusal(seen(answer), 'request_timeout')
      assert.equal(answer.header('connection'), 'close')
      assert.equal(answers.length, 1)
      assert.notEqual(ended, 'timeout')
      assert.ok(ms > 29_000 && ms < 42_000, `${ms} ms`)
    }
  })

  await t.test('so is a body for the admin API', async () => {
    const { answer, ended } = await operator

    assert.equal(answer.status, 408)
    assert.notEqual(ended, 'timeout')
  })

  await t.test('a refused caller that never sends the rest of its body is disconnected', async () => {
    const { answer, ended } = await refusedRequest

    assertRefusal(seen(answer), 'insufficient_scope')
    assert.notEqual(ended, 'timeout')
  })

  await t.test('each slow body has its own row, without hold or cost', async () => {
    const { body } = await gateway.get<{ data: { error_code: string; hold: string; cost: string }[] }>(
      '/v1/usage',
      key.secret,
    )

    assert.deepEqual(
      body.data.map(row => [row.error_code, row.hold, row.cost]),
      Array.from({ length: 3 }, () => ['request_timeout', '0', '0']),
    )
    assert.equal(upstream.journal.length, 0)
  })

  assert.ok((await gateway.audit()).ok)

  // Unlike rawRequest's pace this stops when the peer has closed.
  async function dripBody(request: string): Promise<RawResult> {
    const startedAt = performance.now()
    using connection = await openRaw(gateway.port)
    connection.send(request)
    const dripping = setInterval(() => connection.send(' '), 500)
    await connection.closed(patience.timeoutMs)
    clearInterval(dripping)
    const answers = await connection.answers(1, 100)
    const { closedBy, received } = connection
    return {
      answers,
      answer: answers[0] as NonNullable<(typeof answers)[0]>,
      ended: closedBy === 'peer' || closedBy === 'reset' ? closedBy : 'timeout',
      ms: performance.now() - startedAt,
      bytes: received,
      text: received.toString(),
    }
  }
})
