// Metering of upstream usage: trusted within bounds, clamped above them, estimated if impossible; the resulting counts
// can always be billed.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { meterUsage, readUsage, unknowns } from '../../src/domain/metering.ts'

const BOUNDS = { prompt: 1000, completion: 200 }
const ESTIMATES = { prompt: 50, completion: 20 }
const SEEN = { output: true, finished: true, unseen: false }
const usage = (prompt_tokens: unknown, completion_tokens: unknown, more: object = {}) =>
  readUsage({ prompt_tokens, completion_tokens, ...more })

test('for any reported usage the counts are integers within their bounds, and so are their parts', () => {
  const odd = fc.oneof(
    fc.nat(3000),
    fc.double(),
    fc.bigInt().map(Number),
    fc.constantFrom(-1, 0, 1e300, Number.POSITIVE_INFINITY, Number.NaN, '5', null, undefined, [], {}, true),
  )
  const media = { image_tokens: odd, audio_tokens: odd }
  const details = fc.oneof(
    odd,
    fc.record({
      cached_tokens: odd,
      cache_write_tokens: odd,
      reasoning_tokens: odd,
      ...media,
      cached_tokens_details: fc.oneof(odd, fc.record(media)),
    }),
  )
  const reports = fc.oneof(
    odd,
    fc.record({
      prompt_tokens: odd,
      completion_tokens: odd,
      prompt_tokens_details: details,
      completion_tokens_details: details,
    }),
  )
  fc.assert(
    fc.property(reports, fc.boolean(), fc.boolean(), (report, output, finished) => {
      const { tokens } = meterUsage(
        readUsage(report),
        BOUNDS,
        { output, finished, unseen: false, media: true },
        ESTIMATES,
      )

      for (const count of Object.values(tokens)) assert.ok(Number.isSafeInteger(count) && count >= 0)
      assert.ok(tokens.prompt > 0 && tokens.prompt <= BOUNDS.prompt)
      assert.ok(tokens.completion <= BOUNDS.completion && (!output || tokens.completion > 0))
      assert.ok(tokens.cached + tokens.cacheWrite + tokens.image + tokens.audio <= tokens.prompt)
      assert.ok(tokens.reasoning <= tokens.completion)
    }),
  )
})

test('a count within its bound is used exactly', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 1000 }), fc.integer({ min: 1, max: 200 }), (prompt, completion) => {
      const metered = meterUsage(usage(prompt, completion), BOUNDS, SEEN, ESTIMATES)

      assert.deepEqual([metered.tokens.prompt, metered.tokens.completion], [prompt, completion])
      assert.deepEqual([metered.source, metered.clamped], ['upstream', false])
    }),
  )
})

test('a count above its bound becomes the bound, never the lower estimate, and is reported', () => {
  for (const huge of [1001, 1e15, 1e300]) {
    const metered = meterUsage(usage(huge, huge), BOUNDS, SEEN, ESTIMATES)

    assert.deepEqual([metered.tokens.prompt, metered.tokens.completion], [1000, 200])
    assert.deepEqual([metered.source, metered.clamped], ['upstream', true])
  }
})

test('each count is metered separately', () => {
  const badPrompt = meterUsage(usage(-1, 7), BOUNDS, SEEN, ESTIMATES)
  const badOutput = meterUsage(usage(7, 1.5), BOUNDS, SEEN, ESTIMATES)

  assert.deepEqual([badPrompt.tokens.prompt, badPrompt.tokens.completion, badPrompt.source], [50, 7, 'estimate'])
  assert.deepEqual([badOutput.tokens.prompt, badOutput.tokens.completion, badOutput.source], [7, 20, 'estimate'])
})

test('zero output is trusted only if none was seen', () => {
  const nothing = meterUsage(usage(7, 0), BOUNDS, { output: false, finished: true, unseen: false }, ESTIMATES)
  const something = meterUsage(usage(7, 0), BOUNDS, SEEN, ESTIMATES)

  assert.deepEqual([nothing.tokens.completion, nothing.source], [0, 'upstream'])
  assert.deepEqual([something.tokens.completion, something.source], [20, 'estimate'])
})

test("in an unfinished stream the higher of the upstream's last count and the estimate counts", () => {
  const unfinished = { output: true, finished: false, unseen: false }
  const counts = (completion: unknown) =>
    meterUsage(usage(7, completion), BOUNDS, unfinished, ESTIMATES).tokens.completion

  assert.deepEqual([counts(5), counts(20), counts(90), counts(undefined)], [20, 20, 90, 20])
})

test('estimates are not computed if they are not needed', () => {
  assert.deepEqual(unknowns(usage(7, 8), SEEN), { prompt: false, completion: false })
})

test('impossible details count as none, and those of other dialects are read', () => {
  const over = usage(10, 5, {
    prompt_tokens_details: { cached_tokens: 6, cache_write_tokens: 5 },
    completion_tokens_details: { reasoning_tokens: 6 },
  })
  const { tokens } = meterUsage(over, BOUNDS, SEEN, ESTIMATES)
  const deepseek = readUsage({ prompt_tokens: 10, completion_tokens: 5, prompt_cache_hit_tokens: 4 })

  assert.deepEqual([tokens.cached, tokens.cacheWrite, tokens.reasoning], [0, 0, 0])
  assert.equal(deepseek.cached, 4)
})

test('cache writes for one hour are part of all, and of unknown lifetime if the caller requested one', () => {
  const writes = (details: object, longCache: boolean) =>
    meterUsage(usage(50, 5, { prompt_tokens_details: details }), BOUNDS, { ...SEEN, longCache }, ESTIMATES).tokens

  const told = writes({ cache_write_tokens: 20, cache_write_1h_tokens: 15 }, true)
  const untold = writes({ cache_write_tokens: 20 }, true)
  const notAsked = writes({ cache_write_tokens: 20 }, false)
  const impossible = writes({ cache_write_tokens: 20, cache_write_1h_tokens: 21 }, true)

  assert.deepEqual(
    [told, untold, notAsked, impossible].map(({ cacheWrite, cacheWrite1h }) => [cacheWrite, cacheWrite1h]),
    [
      [20, 15],
      [20, 20],
      [20, 0],
      [20, 0],
    ],
  )
})

test('images and audio count for a prompt with media, never twice with cached tokens, and not beyond the prompt', () => {
  const counts = (details: object, media = true) => {
    const reported = usage(100, 5, { prompt_tokens_details: details })
    const { image, audio } = meterUsage(reported, BOUNDS, { ...SEEN, media }, ESTIMATES).tokens
    return [image, audio]
  }

  assert.deepEqual(counts({ image_tokens: 60, audio_tokens: 30 }), [60, 30])
  assert.deepEqual(counts({ image_tokens: 60, audio_tokens: 30 }, false), [0, 0])
  assert.deepEqual(counts({ image_tokens: 60, audio_tokens: 41 }), [0, 0])
  assert.deepEqual(counts({ image_tokens: 101, audio_tokens: 30 }), [0, 30])
  assert.deepEqual(counts({ cached_tokens: 50, cache_write_tokens: 10, image_tokens: 20, audio_tokens: 30 }), [10, 30])
  const told = { cached_tokens: 50, image_tokens: 20, audio_tokens: 70 }
  assert.deepEqual(counts({ ...told, cached_tokens_details: { audio_tokens: 40, image_tokens: 10 } }), [10, 30])
  assert.deepEqual(counts({ ...told, cached_tokens_details: { audio_tokens: 90 } }), [20, 0])
})

test('an estimate is computed exactly if it can change the result', () => {
  const count = fc.option(fc.integer({ min: 0, max: 150 }), { nil: undefined })
  fc.assert(
    fc.property(count, count, fc.boolean(), fc.boolean(), (prompt, completion, output, finished) => {
      const seen = { output, finished, unseen: false }
      const asked = unknowns(usage(prompt, completion), seen)
      const metered = (estimates: typeof ESTIMATES) =>
        meterUsage(usage(prompt, completion), BOUNDS, seen, estimates).tokens

      const byPrompt = [1, 2].map(estimate => metered({ ...ESTIMATES, prompt: estimate }).prompt)
      const byCompletion = [1, 180].map(estimate => metered({ ...ESTIMATES, completion: estimate }).completion)

      assert.equal(asked.prompt, byPrompt[0] !== byPrompt[1])
      if (!asked.completion) assert.equal(byCompletion[0], byCompletion[1])
      else assert.notEqual(metered({ ...ESTIMATES, completion: 0 }).completion, byCompletion[1])
    }),
  )
})

test('an abandoned answer that may have hidden output is metered by its last count, or the bound', () => {
  const left = { output: true, finished: false, unseen: true }

  const cut = meterUsage(usage(7, 30), BOUNDS, left, ESTIMATES)
  const silent = meterUsage(usage(7, undefined), BOUNDS, { ...left, finished: true }, ESTIMATES)
  const zero = meterUsage(usage(7, 0), BOUNDS, { ...left, finished: true }, ESTIMATES)
  const whole = meterUsage(usage(7, 30), BOUNDS, { ...left, finished: true }, ESTIMATES)

  assert.deepEqual([cut.tokens.completion, cut.source, cut.clamped], [200, 'estimate', false])
  assert.deepEqual([silent.tokens.completion, zero.tokens.completion], [200, 200])
  assert.deepEqual([whole.tokens.completion, whole.source], [30, 'upstream'])
  assert.equal(unknowns(usage(7, 30), left).completion, false)
})
