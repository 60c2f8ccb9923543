// One connection with tens of thousands of pipelined requests has one request in progress at a time: others are
// answered meanwhile, and a disconnect is noticed.
import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { test } from 'node:test'
import { openFixture } from '../../../support/fixture.ts'
import { httpCall } from '../../../support/http-call.ts'
import { openRaw } from '../../../support/raw-http.ts'
import { until } from '../../../support/until.ts'
import { settledRow } from '../../../support/usage.ts'

const { gateway, upstream } = await openFixture()
const { secret } = await gateway.createKey({ rpm_limit: 1_000_000, daily_limit: null })
const REQUESTS = 60_000
// The limit for a stalled process; a machine that runs other tests at the same time gets more time.
const HEALTH_MS_MAX = 1000

const line = (target: string, more = '') => `GET ${target} HTTP/1.1\r\nHost: x\r\n${more}\r\n`
const caller = (key: string) => `Authorization: Bearer ${key}\r\n`
const chat = (body: object, framing: 'sized' | 'chunked' = 'sized') => {
  const text = JSON.stringify({ model: 'test/m1', messages: [{ role: 'user', content: 'Hello' }], ...body })
  const head = `POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\n${caller(secret)}Content-Type: application/json\r\n`
  return framing === 'sized'
    ? `${head}Content-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`
    : `${head}Transfer-Encoding: chunked\r\n\r\n${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n0\r\n\r\n`
}

const floods: Readonly<Record<string, string>> = {
  'an unknown path': line('/x'),
  'HTTP/1.0 without a Host': 'GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n',
  'a call without a key': line('/v1/models'),
  'a call with an unknown key': line('/v1/models', caller('svc_live_nobody')),
  'a call with a key': line('/v1/x', caller(secret)),
  'a chat that is refused': chat({ temperature: 'hot' }),
}
for (const [what, request] of Object.entries(floods)) {
  test(`60,000 × ${what} on one connection: /health is answered after a few of them`, async () => {
    using flood = openFlood(request.repeat(REQUESTS))
    await until('the flood is being answered', () => flood.answers() > 10)
    const seen: { ms: number; answers: number }[] = []
    for (let i = 0; i < 15; i++) {
      const before = { at: performance.now(), answers: flood.answers() }
      const { status } = await httpCall(`${gateway.url}/health`)
      assert.equal(status, 200)
      seen.push({ ms: performance.now() - before.at, answers: flood.answers() - before.answers })
    }

    assert.ok(flood.answers() < REQUESTS, 'the flood had ended before /health was requested')
    // A new connection takes some iterations of the event loop; what is in the kernel's buffers is counted too.
    const most = Math.max(...seen.map(({ answers }) => answers))
    assert.ok(most < 2000, `${most} of the flood were answered before /health`)
    const slowest = Math.max(...seen.map(({ ms }) => ms))
    assert.ok(slowest < HEALTH_MS_MAX, `/health took ${slowest} ms`)
  })
}

for (const framing of ['sized', 'chunked'] as const) {
  test(`a caller that half-closes after pipelined requests disconnects from the stream before them (${framing})`, async () => {
    upstream.reset()
    upstream.script({ words: ['one', ' two'], stallAfterChunks: 1 })
    using connection = await openRaw(gateway.port)
    connection.send(chat({ stream: true }, framing))
    await until('the stream has begun', () => connection.received.includes('one'))
    connection.send(line('/v1/models', caller(secret)).repeat(300))
    connection.halfClose()

    const row = await settledRow(gateway, upstream.journal[0]?.requestId)
    assert.equal(row.outcome, 'client_left')
    assert.equal(await connection.closed(), true)
    upstream.reset()
  })
}

// Sends everything as fast as it is accepted, and counts the answers.
function openFlood(text: string) {
  const socket = connect(gateway.port, '127.0.0.1')
  let answers = 0
  socket.on('error', () => undefined)
  socket.on('data', piece => {
    for (let at = piece.indexOf('HTTP/1.1 '); at >= 0; at = piece.indexOf('HTTP/1.1 ', at + 1)) answers += 1
  })
  socket.write(text)
  return { answers: () => answers, [Symbol.dispose]: () => void socket.destroy() }
}
