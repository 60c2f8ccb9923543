// Questions that are gathered: each gets its own answer, a flood shares a few look-ups, and a failure is told to those it
// concerns alone.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { batcher } from '../../src/lib/batcher.ts'

test('a flood of questions is asked in batches, one at a time, and each gets its own answer', async () => {
  const sizes: number[] = []
  let running = 0
  const ask = batcher<number, string>(async questions => {
    sizes.push(questions.length)
    assert.equal(++running, 1)
    await setImmediate()
    running--
    return questions.map(question => (question % 2 === 0 ? `answer ${question}` : undefined))
  }, 100)

  const answers = await Promise.all(Array.from({ length: 250 }, (_, i) => ask(i)))

  assert.deepEqual(sizes, [1, 100, 100, 49])
  for (const [i, answer] of answers.entries()) assert.equal(answer, i % 2 === 0 ? `answer ${i}` : undefined)
  assert.equal(await ask(4), 'answer 4')
})

test('a batch that fails fails for those who are in it, and the next one is asked', async () => {
  let calls = 0
  const ask = batcher<number, number>(async questions => {
    await setImmediate()
    if (calls++ === 1) throw new Error('away')
    return questions
  }, 100)

  const results = await Promise.allSettled([ask(1), ask(2), ask(3)])
  const later = await ask(4)

  assert.deepEqual(
    results.map(({ status }) => status),
    ['fulfilled', 'rejected', 'rejected'],
  )
  assert.equal(later, 4)
})
