// Streams leak nothing: after thousands of them, finished, broken or abandoned, the process is as large as before
// (figure S10, small).
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openFixture } from '../../../support/fixture.ts'
import { MIB, residentBytes } from '../../../support/memory.ts'

// With so small a heap, a leak per stream would soon end the process.
const { gateway, upstream } = await openFixture(undefined, { nodeArgs: ['--max-old-space-size=64'] })
const words = ['Hello', ' there', '!']
const messages = [{ role: 'user', content: 'Tell me more. '.repeat(200) }]
const { secret } = await gateway.createKey({ credits: '1000', rpm_limit: 1_000_000, daily_limit: null })

test('5,000 streams of every kind leak no memory, open row or upstream call', async () => {
  // Until the young generation has its size and the code is compiled.
  await run(1500)
  const before = await residentBytes(gateway)

  await run(5000)

  const grown = (await residentBytes(gateway)) - before
  assert.ok(grown < 16 * MIB, `resident memory grew by ${Math.round(grown / MIB)} MiB`)
  await upstream.idle()
  const { text } = await gateway.get('/metrics')
  assert.match(text, /^turnpike_streams_in_flight 0$/m)
  assert.match(text, /^turnpike_body_bytes 0$/m)
  assert.match(text, /^turnpike_open_rows 0$/m)
})

async function run(streams: number): Promise<void> {
  let next = 0
  const worker = async () => {
    while (next < streams) await one(next++)
  }
  await Promise.all(Array.from({ length: 20 }, worker))
  upstream.journal.length = 0
}

// Of ten streams one is broken by the upstream and one is abandoned by its caller.
async function one(i: number): Promise<void> {
  upstream.next(i % 10 === 0 ? { words, dieAfterChunks: 2 } : { words })
  const stream = await gateway.openChat({ messages }, { key: secret })
  if (i % 10 !== 1) await stream.rest()
  else {
    await stream.nextChunk()
    stream.abort()
  }
}
