// A slow reader sets the pace: the upstream is read no faster than the caller reads, and the buffered data is bounded,
// however much is to come.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { DIALECTS, type Dialect, dialectConfig } from '../../../support/dialects.ts'
import { openFixture } from '../../../support/fixture.ts'
import { parseAnswers } from '../../../support/http-response.ts'
import { MIB, readBytes, residentBytes } from '../../../support/memory.ts'
import { openRaw, type RawConnection } from '../../../support/raw-http.ts'
import type { JournalEntry } from '../../../support/upstream-journal.ts'
import { settledRow } from '../../../support/usage.ts'

const { gateway, upstream } = await openFixture(dialectConfig, { nodeArgs: ['--max-old-space-size=128'] })
const caller = await gateway.createKey()
const READERS = 4
// A gigabyte for all of them together.
const plan = { chunks: 32_000, chunkBytes: 8_000 }

for (const dialect of DIALECTS) {
  test(`${dialect.name}: with callers that do not read, the upstream is paused and memory does not grow`, async () => {
    upstream.reset()
    await gateway.chat({ max_tokens: 1 }, { key: caller.secret })
    const before = await residentBytes(gateway)
    const readBefore = await readBytes(gateway)
    upstream.journal.length = 0
    upstream.script(plan)

    const connections = await Promise.all(Array.from({ length: READERS }, () => openReader(dialect)))
    const entries = await standstill(READERS)

    const taken = entries.reduce((sum, entry) => sum + entry.bytes, 0)
    const grown = (await residentBytes(gateway)) - before
    const read = (await readBytes(gateway)) - readBefore
    // What the gateway has not read is in the kernel's buffers, which may grow to 36 MiB for each stream. What it has read is in
    // those to the callers: up to 4 MiB each, and what they receive without reading it.
    assert.ok(taken < READERS * 48 * MIB, `the upstream sent ${Math.round(taken / MIB)} MiB`)
    assert.ok(read < READERS * 12 * MIB, `the gateway read ${Math.round(read / MIB)} MiB`)
    // Received data is stored once for the meter; the rest is not yet collected garbage.
    assert.ok(grown < 128 * MIB, `resident memory grew by ${Math.round(grown / MIB)} MiB`)
    const inFlight = upstream.inFlight
    assert.ok(inFlight === READERS || mayBeTooLong(dialect), `${inFlight} in flight`)

    for (const connection of connections) connection.reset()
    const outcomes = await Promise.all(entries.map(async entry => (await settledRow(gateway, entry.requestId)).outcome))
    assert.equal(outcomes.filter(outcome => outcome === 'client_left').length, inFlight, outcomes.join())
    await upstream.idle()
  })
}

for (const dialect of DIALECTS.filter(dialect => !mayBeTooLong(dialect))) {
  test(`${dialect.name}: a caller that starts to read late gets everything in order`, async () => {
    upstream.journal.length = 0
    upstream.script({ ...plan, chunks: 3000 })
    using connection = await openReader(dialect)
    const [entry] = await standstill(1)
    assert.ok((entry?.chunks ?? 0) < 3000, 'nothing had to wait')

    connection.resume()
    await connection.closed(60_000)

    const { text, complete } = dialect.stream(parseAnswers(connection.received, true)[0]?.text ?? '')
    assert.equal(text.length, 3000 * plan.chunkBytes)
    assert.equal(complete, true)
    assert.equal((await settledRow(gateway, entry?.requestId)).outcome, 'completed')
  })
}

// A stream of Responses ends with an event that repeats the whole answer, and fails when there is more of it than 4 MiB: the kernel's
// buffers may take as much.
function mayBeTooLong({ name }: Dialect): boolean {
  return name.includes('responses')
}

async function openReader(dialect: Dialect): Promise<RawConnection> {
  const body = JSON.stringify(dialect.body('Go on', { stream: true }))
  const connection = await openRaw(gateway.port)
  connection.pause()
  connection.send(
    `POST ${dialect.path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${caller.secret}\r\n` +
      `Connection: close\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
  )
  return connection
}

// All calls have arrived, and for a while none of them could write any more.
async function standstill(calls: number): Promise<readonly JournalEntry[]> {
  await upstream.received(calls)
  for (let bytes = -1, now = 0; now !== bytes; ) {
    bytes = now
    await setTimeout(500)
    now = upstream.journal.reduce((sum, entry) => sum + entry.bytes, 0)
  }
  return [...upstream.journal]
}
