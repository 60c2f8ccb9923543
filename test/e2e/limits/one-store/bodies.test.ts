// Bodies in memory: one account may fill a quarter of a node's 256 MiB and gets a 503 beyond that before the body is
// read; other accounts are not affected.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { BOUNDS } from '../../../../src/config/limits.ts'
import { standardConfig, startGateway } from '../../../support/gateway.ts'
import { openRaw, type RawConnection } from '../../../support/raw-http.ts'
import { assertRefusal, seen } from '../../../support/refusal.ts'
import { until } from '../../../support/until.ts'
import { startUpstream } from '../../../support/upstream.ts'

const CAP = 4 * 1024 * 1024

test('an account can use a quarter of the body memory, which is released afterwards', async t => {
  await using upstream = await startUpstream()
  await using gateway = await startGateway({ config: standardConfig(upstream.url) })
  const key = await gateway.createKey()
  const sibling = await gateway.createKey({ account_id: key.accountId })
  const unrelated = await gateway.createKey()
  const announced: RawConnection[] = []
  const announce = async (secret: string) => {
    const connection = await openRaw(gateway.port)
    announced.push(connection)
    connection.send(
      `POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${secret}\r\n` +
        `Content-Type: application/json\r\nContent-Length: ${CAP}\r\nExpect: 100-continue\r\n\r\n`,
    )
    return connection
  }

  await t.test('past its share an account gets 503 before its body is read, with any of its keys', async () => {
    for (let i = 0; i < 16; i++) {
      const connection = await announce(i % 2 === 0 ? key.secret : sibling.secret)
      await until('it may send', () => connection.received.includes('HTTP/1.1 100'))
    }

    const refused = await announce(sibling.secret)
    const [answer] = await refused.answers(1)

    const error = assertRefusal(seen(answer as NonNullable<typeof answer>), 'service_unavailable')
    assert.match(String(error.message), /bodies/)
    assert.ok(!refused.received.includes('HTTP/1.1 100'))
  })

  await t.test('another account is served meanwhile', async () => {
    const connection = await announce(unrelated.secret)
    await until('it may send', () => connection.received.includes('HTTP/1.1 100'))

    assert.equal((await gateway.chat({}, { key: unrelated.secret })).status, 200)
  })

  await t.test('memory is released when callers disconnect', async () => {
    for (const connection of announced) connection.reset()

    await until('it is served', async () => (await gateway.chat({}, { key: key.secret })).status === 200)
    assert.equal(await bodyBytes(), 0)
  })

  for (const stream of [false, true]) {
    await t.test(`a body counts until its request has ended, with ${stream ? 'a stream' : 'JSON'}`, async () => {
      upstream.next({ delayMs: 300, chunkDelayMs: 100 })
      const calls = upstream.journal.length
      const content = 'x'.repeat(100_000)
      const answering = gateway.chat({ messages: [{ role: 'user', content }], stream }, { key: key.secret })
      await upstream.received(calls + 1)

      const waiting = await bodyBytes()
      const answer = await answering

      assert.equal(answer.status, 200)
      assert.ok(waiting > content.length && waiting < content.length + 200, `${waiting} bytes`)
      await until('the memory is released', async () => (await bodyBytes()) === 0)
    })
  }

  assert.ok((await gateway.audit()).ok)

  async function bodyBytes(): Promise<number> {
    const { text } = await gateway.get('/metrics')
    return Number(/^turnpike_body_bytes (\d+)$/m.exec(text)?.[1])
  }
})

test('with a small heap each account can have one body in memory', async () => {
  await using upstream = await startUpstream()
  const env = { NODE_OPTIONS: '--max-old-space-size=128' }
  await using gateway = await startGateway({ config: standardConfig(upstream.url), env })
  const { secret } = await gateway.createKey()
  const announce = async () => {
    const connection = await openRaw(gateway.port)
    connection.send(
      `POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${secret}\r\n` +
        `Content-Type: application/json\r\nContent-Length: ${BOUNDS.bodyBytesMax}\r\nExpect: 100-continue\r\n\r\n`,
    )
    return connection
  }

  using first = await announce()
  await until('it may send', () => first.received.includes('HTTP/1.1 100'))
  using second = await announce()
  const [answer] = await second.answers(1)

  assertRefusal(seen(answer as NonNullable<typeof answer>), 'service_unavailable')
  assert.ok((await gateway.audit()).ok)
})
