// Bodies over the cap of 16 MiB: refused unread if their length is announced, cut off at the cap if not, and never
// buffered in memory.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { standardConfig, startGateway } from '../../../support/gateway.ts'
import { openRaw, rawRequest } from '../../../support/raw-http.ts'
import { assertRefusal, seen } from '../../../support/refusal.ts'
import { startUpstream } from '../../../support/upstream.ts'
import { balanceOf } from '../../../support/usage.ts'

const MIB = 1024 * 1024
const CAP = 16 * MIB
const CHUNK = 64 * 1024

test('a body over the cap is a 413, counted and never buffered', async t => {
  await using upstream = await startUpstream()
  await using gateway = await startGateway({ config: standardConfig(upstream.url) })
  const key = await gateway.createKey()
  const head = (headers: string) =>
    `POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key.secret}\r\n` +
    `Content-Type: application/json\r\n${headers}\r\n`
  const chunk = Buffer.from(`${CHUNK.toString(16)}\r\n${' '.repeat(CHUNK)}\r\n`)

  await t.test('a Content-Length over the cap is refused before the body is sent', async () => {
    const lengths = [CAP + 1, 10 * 1024 * MIB, Number.MAX_SAFE_INTEGER]

    const refused = await Promise.all(
      lengths.map(length => rawRequest(gateway.port, head(`Content-Length: ${length}\r\n`), { timeoutMs: 15_000 })),
    )

    for (const { answer, ended } of refused) {
      assertRefusal(seen(answer), 'request_too_large')
      assert.equal(answer.header('connection'), 'close')
      assert.equal(ended, 'peer')
    }
  })

  await t.test('a body of exactly the cap is accepted', async () => {
    const chat = JSON.stringify({ model: 'test/m1', messages: [{ role: 'user', content: 'Hello' }] })

    const { answer } = await rawRequest(
      gateway.port,
      head(`Content-Length: ${CAP}\r\n`) + chat + ' '.repeat(CAP - chat.length),
      { expect: 1, timeoutMs: 15_000 },
    )

    assert.equal(answer.status, 200)
  })

  await t.test('a chunked body is refused when it exceeds the cap', async () => {
    using connection = await openRaw(gateway.port)

    connection.send(head('Transfer-Encoding: chunked\r\n'))
    for (let sent = 0; sent < CAP; sent += CHUNK) connection.send(chunk)
    await setTimeout(200)
    const early = connection.received.length
    connection.send(chunk)
    const [answer] = await connection.answers(1)

    assert.equal(early, 0)
    assertRefusal(seen(answer as NonNullable<typeof answer>), 'request_too_large')
    assert.equal(answer?.header('connection'), 'close')
    assert.equal(await connection.closed(), true)
  })

  await t.test('an endless chunked body is cut off, and memory stays flat', async () => {
    const before = residentBytes(gateway.pid)

    for (let round = 0; round < 20; round++) {
      using connection = await openRaw(gateway.port)
      connection.send(head('Transfer-Encoding: chunked\r\n'))
      for (let sent = 0; sent < 64 * MIB && connection.closedBy === 'open'; sent += MIB) {
        for (let i = 0; i < MIB / CHUNK; i++) connection.send(chunk)
        await setTimeout(1)
      }

      // A caller that sends endlessly may lose the answer in the reset; its row is the proof.
      assert.equal(await connection.closed(), true)
    }

    const grown = (residentBytes(gateway.pid) - before) / MIB
    assert.ok(grown < 96, `grew by ${grown} MiB`)
  })

  await t.test('each counts as a request of its key, without hold or cost', async () => {
    const { body } = await gateway.get<{ data: { error_code: string; cost: string }[] }>('/v1/usage', key.secret)
    const tooLarge = body.data.filter(row => row.error_code === 'request_too_large')

    assert.equal(tooLarge.length, 24)
    assert.ok(tooLarge.every(row => row.cost === '0'))
    assert.equal((await balanceOf(gateway, key.accountId)).held, '0')
    assert.equal(upstream.journal.length, 1)
  })

  assert.ok((await gateway.audit()).ok)
})

function residentBytes(pid: number): number {
  const pages = readFileSync(`/proc/${pid}/statm`, 'latin1').split(' ')[1]
  return Number(pages) * 4096
}
