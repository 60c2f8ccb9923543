// Anthropic's counts as they are billed: of a prompt as a whole, and of one-hour cache writes only where they are told.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { messageUsage, streamUsage } from '../../src/upstream/anthropic/usage.ts'

type Usage = {
  readonly prompt_tokens?: number
  readonly completion_tokens?: number
  readonly prompt_tokens_details: Readonly<Record<string, number | undefined>>
}

function atEnd(start: object, end: object): Usage {
  const usage = streamUsage()
  usage.start(start)
  return usage.end(end) as Usage
}

test('an upstream that learns only at the end what was cached is not billed for both splits', () => {
  const usage = atEnd(
    { input_tokens: 8834, output_tokens: 0 },
    { input_tokens: 18, cache_read_input_tokens: 8831, cache_creation_input_tokens: 0, output_tokens: 426 },
  )

  assert.equal(usage.prompt_tokens, 8849)
  assert.equal(usage.prompt_tokens_details.cached_tokens, 8831)
  assert.equal(usage.completion_tokens, 426)
})

test('a prompt and an answer do not shrink', () => {
  const usage = atEnd(
    { input_tokens: 100, cache_read_input_tokens: 50, output_tokens: 9 },
    { input_tokens: 10, cache_read_input_tokens: 50, output_tokens: 3 },
  )

  assert.equal(usage.prompt_tokens, 150)
  assert.equal(usage.completion_tokens, 9)
})

test('an end that counts only its output keeps the prompt of the start', () => {
  const usage = atEnd({ input_tokens: 20, cache_read_input_tokens: 5, output_tokens: 1 }, { output_tokens: 30 })

  assert.equal(usage.prompt_tokens, 25)
  assert.equal(usage.prompt_tokens_details.cached_tokens, 5)
})

test('how much was cached for one hour is undefined where it is not told', () => {
  const untold = messageUsage({ input_tokens: 1, cache_creation_input_tokens: 5000, output_tokens: 1 }) as Usage
  const told = messageUsage({
    input_tokens: 1,
    cache_creation_input_tokens: 5000,
    cache_creation: { ephemeral_5m_input_tokens: 5000, ephemeral_1h_input_tokens: 0 },
    output_tokens: 1,
  }) as Usage

  assert.equal(untold.prompt_tokens_details.cache_write_1h_tokens, undefined)
  assert.equal(told.prompt_tokens_details.cache_write_1h_tokens, 0)
})

test('what is not a count changes nothing', () => {
  const usage = atEnd(
    { input_tokens: 7, output_tokens: 1 },
    { input_tokens: '9', cache_read_input_tokens: -1, output_tokens: 2 },
  )

  assert.equal(usage.prompt_tokens, 7)
  assert.equal(usage.prompt_tokens_details.cached_tokens, 0)
})
