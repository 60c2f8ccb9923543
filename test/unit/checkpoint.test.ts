// What a checkpoint records of the output so far: the text of every choice, each part once, however often it is
// written.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Prices } from '../../src/domain/credits.ts'
import { keepCheckpoints } from '../../src/settle/checkpoint.ts'
import { type Held, priceOf } from '../../src/settle/settle.ts'
import type { Checkpoint, Unmarked } from '../../src/store/contract/store.ts'

const BYTES_PER_TOKEN = 4
const FREE = { prompt: 0n, completion: 0n, cacheRead: 0n, cacheWrite: 0n, request: 0n }

const MODEL = { id: 'm', contextLength: 1000, maxOutputTokens: 500, mediaMaxTokens: 0, prices: FREE, priceVersion: 'v' }
const NOTHING = { any: false, texts: [] as string[], bytesBeyond: 0 }

test('the output of every choice is measured once, from checkpoint to checkpoint', () => {
  const it = keeping()

  it.seen.output = { any: true, texts: ['a'.repeat(40)], bytesBeyond: 0 }
  it.ring()
  it.seen.output = { any: true, texts: ['a'.repeat(44), 'é'.repeat(20)], bytesBeyond: 0 }
  it.ring()
  it.seen.output = { any: true, texts: ['a'.repeat(44), 'é'.repeat(24)], bytesBeyond: 8 }
  it.ring()

  const bytes = [40, 44 + 2 * 20, 44 + 2 * 24 + 8]
  assert.deepEqual(
    it.marks.map(mark => mark.provider !== null && mark.tokens.completion),
    bytes.map(each => each / BYTES_PER_TOKEN),
  )
})

test('an upstream count below the output read is not trusted; a higher one is, within the bound', () => {
  const it = keeping()
  const completion = (reported: number | undefined, bytes: number) => {
    it.seen.usage = { prompt_tokens: 3, completion_tokens: reported }
    it.seen.output = { any: bytes > 0, texts: ['a'.repeat(bytes)], bytesBeyond: 0 }
    it.ring()
    const last = it.marks.at(-1)
    return last?.provider === 'p' ? last.tokens.completion : undefined
  }

  assert.equal(completion(undefined, 40), 10)
  assert.equal(completion(2, 400), 100)
  assert.equal(completion(0, 400), 100)
  assert.equal(completion(150, 400), 150)
  assert.equal(completion(1_000_000, 400), 1000)
})

test("the prompt count is the upstream's, else the estimate, and at most the context", () => {
  const it = keeping()
  const prompt = (reported: unknown) => {
    it.seen.usage = { prompt_tokens: reported, completion_tokens: 1 }
    it.ring()
    const last = it.marks.at(-1)
    return last?.provider === 'p' ? last.tokens.prompt : undefined
  }

  assert.deepEqual([prompt(7), prompt(0), prompt(undefined), prompt(1_000_000)], [7, 10, 10, 1000])
})

test('a checkpoint is billed at the tier of its prompt', () => {
  const tier = { abovePromptTokens: 100, ...FREE, prompt: 3000n, completion: 5000n }
  const it = keeping({ ...FREE, prompt: 1000n, completion: 2000n, tiers: [tier] })
  const cost = (prompt: number) => {
    it.seen.usage = { prompt_tokens: prompt, completion_tokens: 10 }
    it.ring()
    const last = it.marks.at(-1)
    return last?.provider === 'p' ? last.cost : undefined
  }

  assert.deepEqual([cost(100), cost(101)], [120n, 353n])
})

test('a failed attempt withdraws its checkpoint, once, and only if there is one', () => {
  const it = keeping()

  it.checkpoints.failed()
  it.ring()
  it.checkpoints.failed()
  it.checkpoints.failed()

  assert.deepEqual(
    it.marks.map(({ provider }) => provider),
    ['p', null],
  )
})

test("a row with a checkpoint at another model's price gets its own price from a late settlement", () => {
  const it = keeping()
  const [first] = it.held.models
  assert.deepEqual(priceOf(first, it.held), { priceVersion: null, price: null })
  const other = { ...MODEL, id: 'other', priceVersion: 'w' } as never

  it.called.model = other
  it.ring()

  assert.equal(priceOf(first, it.held).priceVersion, 'v')
  assert.equal(priceOf(other, it.held).priceVersion, 'w')
})

function keeping(prices: Prices = FREE) {
  const model = { ...MODEL, prices }
  const marks: (Checkpoint | Unmarked)[] = []
  const held = {
    requestId: 'r',
    chat: { n: 2, promptBytes: 40, media: [] },
    models: [model],
    capTokens: null,
    pricedOtherwise: false,
  } as unknown as Held
  const seen = { usage: undefined as unknown, output: NOTHING }
  const called = { provider: 'p', model: model as never, at: 0 }
  let ring = () => assert.fail('no alarm is set')
  const needs = {
    billing: { checkpoint: (mark: Checkpoint | Unmarked) => void marks.push(mark) },
    checkpointFirstMs: 1,
    checkpointEveryMs: 1,
    timers: {
      set(_ms: number, next: () => void) {
        ring = next as typeof ring
        return { again: () => undefined, cancel: () => undefined }
      },
    },
  }
  const watched = {
    get usage() {
      return seen.usage
    },
    output: () => seen.output,
  }
  const checkpoints = keepCheckpoints(held, watched, () => called, needs)
  return { marks, held, seen, called, checkpoints, ring: () => ring() }
}
