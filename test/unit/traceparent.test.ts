// The traceparent header: valid ones are read, all others ignored.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readTraceparent, writeTraceparent } from '../../src/lib/traceparent.ts'

const [TRACE, SPAN] = ['0af7651916cd43dd8448eb211c80319c', 'b7ad6b7169203331']

test('a valid header is read and written back', () => {
  for (const flags of ['00', '01']) {
    const header = `00-${TRACE}-${SPAN}-${flags}`
    const read = readTraceparent(header)
    assert.deepEqual(read, { traceId: TRACE, spanId: SPAN, isSampled: flags === '01' })
    assert.equal(read && writeTraceparent(read), header)
  }
})

test('a later version may have more fields, and unknown flags', () => {
  assert.deepEqual(readTraceparent(`cc-${TRACE}-${SPAN}-03-what-follows`), {
    traceId: TRACE,
    spanId: SPAN,
    isSampled: true,
  })
})

test('anything else is ignored', () => {
  const bad = [
    undefined,
    '',
    ['00'],
    TRACE,
    `00-${TRACE}-${SPAN}`,
    `00-${TRACE}-${SPAN}-01-more`,
    `ff-${TRACE}-${SPAN}-01`,
    `00-${'0'.repeat(32)}-${SPAN}-01`,
    `00-${TRACE}-${'0'.repeat(16)}-01`,
    `00-${TRACE.toUpperCase()}-${SPAN}-01`,
    `00-${TRACE}-${SPAN}-0x`,
    `cc-${TRACE}-${SPAN}-01what`,
    `00-${TRACE}-${SPAN}-01\r\nx: y`,
    'x'.repeat(100_000),
  ]
  for (const header of bad) assert.equal(readTraceparent(header), undefined, String(header).slice(0, 80))
})
