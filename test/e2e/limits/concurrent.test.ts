// Requests in flight: at most max_concurrent per key, counted from admission to the end of the answer, however it ends.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { standardConfig, startGateway } from '../../support/gateway.ts'
import { assertRefusal } from '../../support/refusal.ts'
import { until } from '../../support/until.ts'
import { startUpstream } from '../../support/upstream.ts'

test('a key has at most max_concurrent requests in flight', async t => {
  await using upstream = await startUpstream()
  await using gateway = await startGateway({ config: standardConfig(upstream.url) })
  const inUse = async (secret: string) => {
    const { body } = await gateway.get('/v1/key/introspect', secret)
    return Number(body.limits?.concurrent?.in_use) - 1
  }

  await t.test('one more request is a 429, returns its rpm token and affects no other key', async () => {
    upstream.script({ words: ['one', ' two'], stallAfterChunks: 1 })
    const { secret } = await gateway.createKey({ max_concurrent: 2, rpm_limit: 4 })
    const other = await gateway.createKey({ max_concurrent: 1 })
    using first = await gateway.openChat({}, { key: secret })
    using second = await gateway.openChat({}, { key: secret })
    await Promise.all([first.nextChunk(), second.nextChunk()])

    for (let i = 0; i < 6; i++) {
      const refused = i % 2 === 0 ? await gateway.chat({}, { key: secret }) : await gateway.get('/v1/models', secret)

      const error = assertRefusal(refused, 'concurrency_exceeded')
      assert.equal(error.metadata?.limit, 'concurrent')
    }
    assert.equal((await gateway.get('/v1/models', other.secret)).status, 200)

    first.abort()
    await until('the slot is free', async () => (await gateway.get('/v1/models', secret)).status === 200)
    assert.equal(upstream.journal.length, 2)
    upstream.reset()
  })

  await t.test('of 60 concurrent requests at most five run at a time', async () => {
    const { secret } = await gateway.createKey({ max_concurrent: 5 })
    let most = 0
    upstream.script(() => {
      most = Math.max(most, upstream.inFlight)
      return { delayMs: 150 }
    })

    const answers = await Promise.all(Array.from({ length: 60 }, () => gateway.chat({}, { key: secret })))

    const served = answers.filter(({ status }) => status === 200).length
    assert.ok(most <= 5, `${most} at once`)
    assert.ok(served >= 5 && served === upstream.journal.length, `${served} of ${upstream.journal.length}`)
    for (const answer of answers.filter(({ status }) => status !== 200)) assertRefusal(answer, 'concurrency_exceeded')
    upstream.reset()
  })

  const endings: Readonly<Record<string, (secret: string) => Promise<unknown>>> = {
    'an answer': key => gateway.chat({}, { key }),
    'a stream': key => gateway.chat({ stream: true }, { key }),
    'a refusal': key => gateway.chat({ messages: [] }, { key }),
    'an upstream that fails': key => {
      upstream.next({ status: 500 })
      return gateway.chat({}, { key })
    },
    'an upstream that breaks off': key => {
      upstream.next({ words: ['one', ' two'], dieAfterChunks: 1 })
      return gateway.chat({ stream: true }, { key })
    },
    'a caller that disconnects in the middle of a stream': async key => {
      upstream.next({ words: ['one', ' two'], stallAfterChunks: 1 })
      using stream = await gateway.openChat({}, { key })
      await stream.nextChunk()
    },
    'a caller that disconnects before the first chunk of a stream': async key => {
      upstream.next({ delayMs: 30_000 })
      const leaving = new AbortController()
      const call = gateway.chat({ stream: true }, { key, signal: leaving.signal }).catch(() => undefined)
      await until('it is in progress', async () => (await inUse(key)) === 1)
      leaving.abort()
      await call
    },
  }
  for (const [what, end] of Object.entries(endings)) {
    await t.test(`the slot is released after ${what}`, async () => {
      const { secret } = await gateway.createKey({ max_concurrent: 3 })

      for (let i = 0; i < 4; i++) await end(secret)

      await until('all slots are free', async () => (await inUse(secret)) === 0)
    })
  }

  assert.ok((await gateway.audit()).ok)
})
