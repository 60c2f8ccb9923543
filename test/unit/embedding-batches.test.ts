// How the inputs of one request are divided among calls, and how their answers become one.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { type Batch, batchesOf, batchLimits, withValuesMax } from '../../src/domain/embedding-batches.ts'
import { Failure } from '../../src/domain/failure.ts'
import type { AnswerListener, UpstreamStream, Whole } from '../../src/domain/handoff.ts'
import { inBatches, sharedMemory } from '../../src/upstream/embedding-answer.ts'
import { answerMemory } from '../../src/upstream/response-memory.ts'

test('batches keep every input in order, within both limits unless one input alone exceeds them', () => {
  const inputs = fc.array(fc.string({ minLength: 1, maxLength: 40 }), { minLength: 1, maxLength: 60, size: 'max' })
  fc.assert(
    fc.property(inputs, fc.integer({ min: 1, max: 20 }), fc.integer({ min: 1, max: 100 }), (all, most, tokens) => {
      const batches = batchesOf(all, { inputs: most, tokens })

      assert.deepEqual(
        batches.flatMap(batch => batch.inputs as readonly string[]),
        all,
      )
      let from = 0
      for (const batch of batches) {
        const bytes = (batch.inputs as string[]).reduce((sum, text) => sum + Buffer.byteLength(text), 0)
        assert.equal(batch.from, from)
        assert.ok(batch.inputs.length <= most && (bytes <= tokens || batch.inputs.length === 1))
        from += batch.inputs.length
      }
    }),
  )
})

test('lists of tokens are divided by their length', () => {
  const batches = batchesOf([[1, 2, 3], [4], [5, 6]], { inputs: 10, tokens: 4 })

  assert.deepEqual(
    batches.map(({ inputs, from }) => [inputs.length, from]),
    [
      [2, 0],
      [1, 2],
    ],
  )
})

test('the limits are those of the vendor, by kind, address and model', () => {
  const limit = (kind: Parameters<typeof batchLimits>[0]['kind'], baseUrl: string, model: string) =>
    batchLimits({ kind, baseUrl }, model).inputs

  assert.deepEqual(
    [
      limit('openai', 'https://api.openai.com/v1', 'text-embedding-3-small'),
      limit('openai', 'https://api.mistral.ai/v1', 'mistral-embed'),
      limit('google', '', 'gemini-embedding-001'),
      limit('vertex', '', 'text-embedding-005'),
      limit('vertex', '', 'gemini-embedding-001'),
      limit('cohere', '', 'embed-v4.0'),
      limit('bedrock', '', 'us.cohere.embed-v4:0'),
      limit('bedrock', '', 'amazon.titan-embed-text-v2:0'),
    ],
    [2048, 128, 100, 250, 1, 96, 96, 1],
  )
  assert.equal(withValuesMax({ inputs: 100, tokens: 1, concurrent: 1 }, 3072, 40_000).inputs, 13)
  assert.equal(withValuesMax({ inputs: 100, tokens: 1, concurrent: 1 }, 50_000, 40_000).inputs, 1)
})

test('answers are joined in the order of the inputs, whichever comes first, with the sum of their usage', () => {
  const { started, answer, told } = run(3, 2)

  assert.deepEqual(started(), [0, 1])
  answer(1, 'b', 5)
  assert.deepEqual(started(), [0, 1, 2])
  answer(2, 'c', 7)
  answer(0, 'a', 1)

  assert.equal(told.text(), '[a,b,c]')
  assert.deepEqual(told.whole?.usage, { prompt_tokens: 13, completion_tokens: 0 })
  assert.deepEqual(told.ends, [undefined])
})

test('usage that one call does not report is unknown', () => {
  const { answer, told } = run(2, 2)

  answer(0, 'a', 5)
  answer(1, 'b', undefined)

  assert.equal(told.whole?.usage, undefined)
})

test('the first failure ends all calls and starts no other', () => {
  const { started, fail, aborted, told, answer } = run(5, 2)
  const failure = new Failure('status', 'no', { status: 500 })

  fail(0, failure)
  answer(1, 'b', 1)

  assert.deepEqual([started(), aborted(), told.ends], [[0, 1], [1], [failure]])
  assert.equal(told.whole, undefined)
})

test('parts of one answer never wait for each other, though they exceed the share of the account', () => {
  const memory = answerMemory({ bytesMax: 100, bytesMaxPerAccount: 10 })
  const shared = sharedMemory(memory)
  const parts = Array.from({ length: 5 }, () => shared.open('a', () => undefined))

  assert.deepEqual(
    parts.map(part => part.take(8)),
    [true, true, true, true, true],
  )
  shared.complete()
  assert.equal(memory.bytes, 40)
  for (const part of parts) part.release()
  for (const part of parts) part.release()
  assert.equal(memory.bytes, 0)
})

test('parts that wait for memory are resumed when others release theirs', () => {
  const memory = answerMemory({ bytesMax: 10, bytesMaxPerAccount: 10 })
  const other = memory.open('b', () => undefined)
  other.take(9)
  const shared = sharedMemory(memory)
  let resumed = 0
  const part = shared.open('a', () => {
    resumed += 1
  })

  assert.equal(part.take(5), false)
  assert.equal(part.isWaiting(), true)
  other.release()

  assert.deepEqual([resumed, part.isWaiting()], [1, false])
  part.release()
})

function run(count: number, concurrent: number) {
  const batches: Batch[] = Array.from({ length: count }, (_, from) => ({ inputs: ['x'], from }))
  const listeners = new Map<number, AnswerListener>()
  const ended: number[] = []
  const told = {
    whole: undefined as Whole | undefined,
    ends: [] as (Failure | undefined)[],
    text: () => Buffer.concat(told.whole?.embeddings ?? []).toString(),
  }
  const call = ({ from }: Batch, listener: AnswerListener): UpstreamStream => {
    listeners.set(from, listener)
    return { pause() {}, resume() {}, abort: () => void ended.push(from), upstreamId: () => null }
  }
  inBatches(batches, concurrent, call, {
    chunks: () => undefined,
    whole: whole => {
      told.whole = whole
    },
    end: failure => void told.ends.push(failure),
  })
  return {
    started: () => [...listeners.keys()],
    aborted: () => ended,
    told,
    answer(number: number, text: string, tokens: number | undefined) {
      const usage = tokens === undefined ? undefined : { prompt_tokens: tokens }
      listeners.get(number)?.whole({ choices: [], embeddings: [Buffer.from(text)], usage, fingerprint: undefined })
      listeners.get(number)?.end(undefined)
    },
    fail: (number: number, failure: Failure) => listeners.get(number)?.end(failure),
  }
}
