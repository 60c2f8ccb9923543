// Memory for whole answers: bounded per node and per account, granted in turn, and without deadlock.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { type AnswerReservation, answerMemory } from '../../src/upstream/response-memory.ts'

const ANSWER_MAX = 32

test('beyond its share an account waits, others do not, and released memory goes to those waiting', () => {
  const memory = answerMemory({ bytesMax: 100, bytesMaxPerAccount: 50 })
  const resumed: string[] = []
  const open = (account: string, name: string) => memory.open(account, () => resumed.push(name))
  const [a1, a2, a3, b1] = [open('a', 'a1'), open('a', 'a2'), open('a', 'a3'), open('b', 'b1')]

  assert.deepEqual([a1.take(20), a2.take(30), a3.take(20), b1.take(20)], [true, true, false, true])
  resumed.length = 0
  a2.complete()
  assert.deepEqual(resumed, [])
  a2.release()

  assert.deepEqual(resumed, ['a3'])
  assert.equal(memory.bytes, 60)
})

test('on a full node a newcomer does not overtake a waiting account', () => {
  const memory = answerMemory({ bytesMax: 100, bytesMaxPerAccount: 100 })
  const resumed: string[] = []
  const [a, b, c] = ['a', 'b', 'c'].map(name => memory.open(name, () => resumed.push(name))) as [
    Reservation,
    Reservation,
    Reservation,
  ]

  assert.deepEqual([a.take(90), b.take(30), c.take(5)], [true, false, false])
  resumed.length = 0
  a.release()

  assert.deepEqual(resumed, ['b', 'c'])
})

type Reservation = AnswerReservation

test('answers that grow step by step all complete, within the bound plus one answer', () => {
  const step = fc.record({
    account: fc.nat(3),
    sizes: fc.array(fc.integer({ min: 1, max: 8 }), { minLength: 1, maxLength: 4 }),
  })
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40, size: 'max' }), fc.infiniteStream(fc.nat()), (answers, choices) => {
      const memory = answerMemory({ bytesMax: 64, bytesMaxPerAccount: 16 })
      const open = answers.map(({ account, sizes }) => {
        const answer = {
          sizes: [...sizes],
          waits: false,
          reservation: undefined as AnswerReservation | undefined,
          sent: false,
        }
        answer.reservation = memory.open(`account ${account}`, () => {
          answer.waits = false
        })
        return answer
      })
      let left = open
      while (left.length > 0) {
        const ready = left.filter(({ waits }) => !waits)
        assert.ok(ready.length > 0, 'deadlock: all wait for each other')
        const answer = ready[choices.next().value % ready.length] as (typeof open)[number]
        const size = answer.sizes.shift()
        if (size !== undefined) answer.waits = !answer.reservation?.take(size)
        else if (!answer.sent) {
          answer.reservation?.complete()
          answer.sent = true
        } else {
          answer.reservation?.release()
          left = left.filter(one => one !== answer)
        }
        assert.ok(memory.bytes <= 64 + ANSWER_MAX, `${memory.bytes} bytes`)
      }
      assert.equal(memory.bytes, 0)
    }),
    { numRuns: 300 },
  )
})
