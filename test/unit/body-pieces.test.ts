// A body takes as much memory as it is long, however small its pieces are, and none once its caller has left.
import assert from 'node:assert/strict'
import { EventEmitter, once } from 'node:events'
import { type AddressInfo, connect } from 'node:net'
import { test } from 'node:test'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { Refusal } from '../../src/domain/refusal.ts'
import type { HttpRequest, HttpResponse } from '../../src/http/http-types.ts'
import { readBody } from '../../src/http/request.ts'
import type { CoarseTimers } from '../../src/lib/coarse-timers.ts'
import { createServer } from '../support/node-http.ts'

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

test('a caller that left before its body is read is not waited for, and nothing is reserved', async () => {
  const found = Promise.withResolvers<{ readonly reserved: number; readonly error: unknown }>()
  await using server = createServer((req, res) => {
    req.once('close', () => {
      let reserved = 0
      const reserve = (bytes: number) => {
        reserved += bytes
      }
      Promise.try(readBody, req, res, { ...BOUNDS, reserve }).catch(error => found.resolve({ reserved, error }))
    })
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const caller = connect((server.address() as AddressInfo).port, '127.0.0.1')
  caller.write('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nhalf', () => caller.resetAndDestroy())

  const { reserved, error } = await found.promise
  assert.ok(error instanceof Refusal && error.code === 'malformed_request', String(error))
  assert.equal(reserved, 0)
})

const timers = { set: () => ({ cancel: () => undefined, again: () => undefined }) } as unknown as CoarseTimers
const BOUNDS = { bytesMax: 2 * BYTES, timeoutMs: 1000, timers, reserve: () => undefined }

function startReading(length: string | undefined) {
  const req = Object.assign(new EventEmitter(), { headers: { 'content-length': length }, pause: () => undefined })
  const whole = readBody(req as unknown as HttpRequest, {} as HttpResponse, BOUNDS) as Promise<Buffer>
  return { req, whole }
}

function inUse(): number {
  collect()
  const { heapUsed, arrayBuffers } = process.memoryUsage()
  return heapUsed + arrayBuffers
}
