// A server-side fault is a 503 or a 500, never a 401 or a 429, and costs nothing: an unexpected error, an unavailable
// store, too many bodies in memory, a server that is shutting down.
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { type Gateway, standardConfig, startGateway } from '../../../support/gateway.ts'
import { openRaw, type RawConnection } from '../../../support/raw-http.ts'
import { assertRefusal, seen } from '../../../support/refusal.ts'
import { startUpstream } from '../../../support/upstream.ts'
import { settledRow } from '../../../support/usage.ts'

const MIB = 1024 * 1024

test('an unexpected error is a 500 without cost or hold', async () => {
  await using upstream = await startUpstream()
  const env = { TURNPIKE_FAILPOINTS: 'after_hold=throw' }
  await using gateway = await startGateway({ config: standardConfig(upstream.url), env })
  const key = await gateway.createKey({ credits: '1' })

  for (const stream of [false, true]) {
    const answer = await gateway.chat({ stream }, { key: key.secret })

    assertRefusal(answer, 'internal_error')
    const { body: row } = await gateway.admin('GET', `/usage/${answer.headers['x-request-id']}`)
    assert.deepEqual(
      [row.state, row.outcome, row.http_status, row.error_code, row.cost],
      ['settled', 'refused', 500, 'internal_error', '0'],
    )
  }

  const { body: account } = await gateway.admin('GET', `/accounts/${key.accountId}`)
  assert.deepEqual(account.balance, { available: '1', held: '0', spent: '0', owed: '0' })
  assert.equal(upstream.journal.length, 0)
  assert.ok((await gateway.audit()).ok)
})

test('an unexpected error before the reservation has a row too', async () => {
  await using upstream = await startUpstream()
  const env = { TURNPIKE_FAILPOINTS: 'before_hold=throw*2' }
  await using gateway = await startGateway({ config: standardConfig(upstream.url), env })
  const key = await gateway.createKey({ credits: '1' })

  for (const stream of [false, true]) {
    const answer = await gateway.chat({ stream }, { key: key.secret })

    assertRefusal(answer, 'internal_error')
    const row = await settledRow(gateway, answer.headers['x-request-id'])
    assert.deepEqual(
      [row.key_id, row.state, row.outcome, row.http_status, row.error_code, row.cost, row.hold],
      [key.id, 'settled', 'refused', 500, 'internal_error', '0', '0'],
    )
  }

  assert.equal((await gateway.chat({}, { key: key.secret })).status, 200)
  assert.ok((await gateway.audit()).ok)
})

test('body memory, the store and a shutdown refuse with 503', async t => {
  await using upstream = await startUpstream()
  await using gateway = await startGateway({ config: standardConfig(upstream.url, { drain_delay: 0 }) })
  const key = await gateway.createKey({ rpm_limit: 10_000 })
  const head = (length: number) =>
    `POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key.secret}\r\n` +
    `Content-Type: application/json\r\nContent-Length: ${length}\r\n\r\n`

  await t.test('one account can use a quarter of the body memory, and others keep theirs', async () => {
    const load = await openMany(gateway, 16)
    for (const connection of load) connection.send(head(4 * MIB))
    await untilLoaded(gateway, 64 * MIB)

    const answer = await gateway.chat({}, { key: key.secret })

    const error = assertRefusal(answer, 'service_unavailable')
    assert.match(String(error.message), /bodies/)
    const { body: row } = await gateway.admin('GET', `/usage/${answer.headers['x-request-id']}`)
    assert.deepEqual([row.outcome, row.http_status, row.error_code], ['refused', 503, 'service_unavailable'])
    assert.equal((await gateway.chat({})).status, 200)
    for (const connection of load) connection.reset()
    await untilLoaded(gateway, 0)
    assert.equal((await gateway.chat({}, { key: key.secret })).status, 200)
  })

  await t.test('a store that cannot write is a 503 before any upstream is called, and recovers', async () => {
    const calls = upstream.journal.length
    const few = await gateway.createKey({ rpm_limit: 16 })
    using locked = lock(gateway)
    const started = performance.now()

    const answers = await Promise.all(Array.from({ length: 16 }, () => gateway.chat({}, { key: few.secret })))
    const ms = performance.now() - started
    locked.release()

    assert.ok(ms < 12_000, `the response took ${ms} ms`)
    for (const answer of answers) assertRefusal(answer, 'service_unavailable')
    assert.equal(upstream.journal.length, calls)
    const after = await gateway.chat({}, { key: few.secret })
    assert.deepEqual(
      [after.status, after.headers['ratelimit-remaining']],
      [200, '15'],
      'a server-side fault took a token',
    )
  })

  await t.test('a draining server refuses new requests and finishes open ones', async () => {
    upstream.next({ chunkDelayMs: 150 })
    using late = await openRaw(gateway.port)
    late.send('GET /v1/models HTTP/1.1\r\nHost: x\r\n')
    const stream = await gateway.openChat({}, { key: key.secret })
    await stream.nextChunk()
    gateway.signal('SIGTERM')
    await untilClosed(gateway)

    late.send(`Authorization: Bearer ${key.secret}\r\n\r\n`)
    const [answer] = await late.answers(1)

    assertRefusal(seen(answer as NonNullable<typeof answer>), 'service_unavailable')
    assert.equal(answer?.header('connection'), 'close')
    assert.equal((await stream.rest()).done, true)
    assert.equal(await gateway.exited, 0)
  })

  assert.ok((await gateway.audit()).ok)
})

async function openMany(gateway: Gateway, count: number): Promise<RawConnection[]> {
  return Promise.all(Array.from({ length: count }, () => openRaw(gateway.port)))
}

async function untilLoaded(gateway: Gateway, bytes: number): Promise<void> {
  const deadline = Date.now() + 5000
  for (;;) {
    const { text } = await gateway.get('/metrics')
    const now = /^turnpike_body_bytes (\d+)$/m.exec(text)?.[1]
    if (Number(now) === bytes) return
    assert.ok(Date.now() < deadline, `${now} bytes of bodies, not ${bytes}`)
  }
}

// Another process that holds the write lock, like a broken backup tool.
function lock(gateway: Gateway): { release(): void; [Symbol.dispose](): void } {
  const db = new DatabaseSync(join(gateway.dataDir, 'turnpike.db'), { timeout: 5000 })
  db.exec('BEGIN IMMEDIATE')
  const release = () => {
    if (db.isOpen) db.close()
  }
  return { release, [Symbol.dispose]: release }
}

async function untilClosed(gateway: Gateway): Promise<void> {
  const deadline = Date.now() + 5000
  for (;;) {
    const connection = await openRaw(gateway.port).catch(() => undefined)
    if (connection === undefined) return
    connection.reset()
    assert.ok(Date.now() < deadline, 'the listener is still open')
  }
}
