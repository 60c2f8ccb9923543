// The thread that parses large answers: if it hangs, its answer is billed by its bytes, and the next one gets a new
// thread.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Failure } from '../../src/domain/failure.ts'
import type { LargeAnswerRead } from '../../src/upstream/large-answer-worker.ts'
import { largeAnswers } from '../../src/upstream/large-answers.ts'

const TEXT = `{"choices":[{"message":{"content":"${'x'.repeat(100_000)}"}}],"usage":{"completion_tokens":7}}`

test('an answer whose thread times out fails as produced, and so does the next', async () => {
  const large = largeAnswers({ answerReadMsMax: 1 })

  const reads = await Promise.all([read(large), read(large)])

  for (const failure of reads) {
    assert.ok(failure instanceof Failure)
    assert.deepEqual([failure.kind, failure.producedBytes], ['too_large', TEXT.length])
  }
  await large.close()
})

test('answers are parsed one after the other, by the same thread', async () => {
  const large = largeAnswers({ answerReadMsMax: 60_000 })

  const reads = await Promise.all([read(large), read(large), read(large, '{"choices":')])

  for (const answer of reads.slice(0, 2)) {
    assert.ok(!(answer instanceof Failure))
    assert.deepEqual(answer.usage, { completion_tokens: 7 })
  }
  assert.equal((reads[2] as Failure).kind, 'invalid_response')
  await large.close()
})

function read(large: ReturnType<typeof largeAnswers>, text = TEXT): Promise<LargeAnswerRead | Failure> {
  const segment = Buffer.allocUnsafeSlow(text.length)
  segment.write(text)
  return new Promise(resolve => large.read({ segments: [segment], unsaid: [] }, 'a', resolve))
}
