// After a peak the memory of an idle gateway returns to about its level, without any request that would make V8
// collect.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { openFixture } from '../../../support/fixture.ts'
import { MIB } from '../../../support/memory.ts'
import { until } from '../../../support/until.ts'

const { gateway, upstream } = await openFixture()
const STREAMS = 600

test('memory of many concurrent streams is released when they are over', async () => {
  const { secret } = await gateway.createKey({ credits: '1000', rpm_limit: 1_000_000, max_concurrent: 10_000 })
  upstream.script({ words: Array.from({ length: 60 }, () => ' word'.repeat(120)), chunkDelayMs: 25 })
  await gateway.chat({}, { key: secret })
  const level = residentBytes()
  let peak = 0
  const watching = setInterval(() => {
    peak = Math.max(peak, residentBytes())
  }, 100)

  const streams = await Promise.all(Array.from({ length: STREAMS }, () => gateway.openChat({}, { key: secret })))
  await Promise.all(streams.map(stream => stream.rest()))
  clearInterval(watching)

  assert.ok(peak > level + 60 * MIB, `the peak was ${Math.round(peak / MIB)} MiB, the level ${Math.round(level / MIB)}`)
  await until('memory is released', () => residentBytes() < level + 40 * MIB, 60_000)
})

// Read from the system: a request for the metrics would make the gateway busy.
function residentBytes(): number {
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${gateway.pid}/status`, 'utf8'))?.[1]) * 1024
}
