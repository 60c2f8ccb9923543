// The batcher: each call gets its own result, a flood shares a few lookups, and a failure affects only its own batch.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { batcher } from '../../src/lib/batcher.ts'

test('a flood of calls is sent in batches, one at a time, and each gets its own result', async () => {
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

test('a failing batch fails only its own calls, and the next one is sent', async () => {
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
