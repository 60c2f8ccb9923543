// A byte queue returns its bytes in order, and taken bytes are not overwritten.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { byteQueue } from '../../src/lib/byte-queue.ts'

test('the taken bytes equal the appended ones for any split, and are never overwritten', () => {
  const steps = fc.array(
    fc.oneof(fc.uint8Array({ minLength: 1, maxLength: 3000 }), fc.integer({ min: 1, max: 4000 })),
    { maxLength: 60 },
  )
  fc.assert(
    fc.property(steps, steps => {
      const queue = byteQueue()
      const appended: Buffer[] = []
      const taken: Buffer[] = []
      for (const step of steps) {
        if (typeof step === 'number') taken.push(queue.take(step))
        else {
          appended.push(Buffer.from(step))
          queue.append(Buffer.from(step))
        }
      }
      const all = Buffer.concat(appended)
      const length = taken.reduce((sum, piece) => sum + piece.length, 0)

      assert.equal(queue.size(), all.length - length)
      assert.ok(Buffer.concat([...taken, queue.peek(queue.size())]).equals(all))
    }),
  )
})

test('a single piece is not copied', () => {
  const queue = byteQueue()
  const piece = Buffer.from('hello')
  queue.append(piece)

  assert.equal(queue.peek(5), piece)
})
