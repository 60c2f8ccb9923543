// A body takes as much memory as it is long, however small its pieces are.
import assert from 'node:assert/strict'
import { EventEmitter } from 'node:events'
import { test } from 'node:test'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import type { HttpRequest, HttpResponse } from '../../src/http/http-types.ts'
import { readBody } from '../../src/http/request.ts'
import type { CoarseTimers } from '../../src/lib/coarse-timers.ts'

const BYTES = 300_000
const text = Buffer.from(Array.from({ length: BYTES }, (_, i) => String.fromCharCode(97 + (i % 26))).join(''))

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

for (const announced of [true, false]) {
  test(`a body that arrives byte by byte, with its length ${announced ? 'announced' : 'unknown'}`, async () => {
    const { req, whole } = startReading(announced ? String(BYTES) : undefined)
    const before = inUse()
    for (let i = 0; i < BYTES - 1; i++) req.emit('data', Buffer.from(text.subarray(i, i + 1)))
    const grown = inUse() - before
    req.emit('data', text.subarray(BYTES - 1))
    req.emit('end')

    assert.ok(text.equals(await whole))
    assert.ok(grown < 10 * BYTES, `${grown} bytes for ${BYTES}`)
  })
}

test('a body in one piece is not copied, and an empty one is empty', async () => {
  const one = startReading(String(BYTES))
  one.req.emit('data', text)
  one.req.emit('end')
  const none = startReading(undefined)
  none.req.emit('end')

  assert.equal((await one.whole).buffer, text.buffer)
  assert.equal((await none.whole).length, 0)
})

function startReading(length: string | undefined) {
  const req = Object.assign(new EventEmitter(), { headers: { 'content-length': length }, pause: () => undefined })
  const timers = { set: () => ({ cancel: () => undefined, again: () => undefined }) } as unknown as CoarseTimers
  const bounds = { bytesMax: 2 * BYTES, timeoutMs: 1000, timers, reserve: () => undefined }
  const whole = readBody(req as unknown as HttpRequest, {} as HttpResponse, bounds) as Promise<Buffer>
  return { req, whole }
}

function inUse(): number {
  collect()
  const { heapUsed, arrayBuffers } = process.memoryUsage()
  return heapUsed + arrayBuffers
}
