// Vendors' messages about a prompt that is too long, distinguished from other rejections; and what is redacted in them.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { failureOfError, failureOfStatus } from '../../src/upstream/openai/error.ts'

const TOO_LONG: readonly (readonly [vendor: string, error: Record<string, unknown>])[] = [
  ['OpenAI', { code: 'context_length_exceeded', message: 'Please check your input.' }],
  ['OpenAI, in words', { message: "This model's maximum context length is 8192 tokens. However, you requested 9000." }],
  ['Anthropic', { type: 'invalid_request_error', message: 'prompt is too long: 210000 tokens > 200000 maximum' }],
  [
    'Anthropic, with the cap',
    { message: 'input length and `max_tokens` exceed context limit: 199000 + 8192 > 200000' },
  ],
  ['Google', { message: 'The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).' }],
  ['Mistral', { message: 'Prompt contains 40000 tokens, too large for model with 32768 maximum context length' }],
  ['Groq', { message: 'Please reduce the length of the messages or completion.' }],
  ['xAI', { message: "This model's maximum prompt length is 131072 but the request contains 140000 tokens." }],
  ['vLLM', { message: 'The prompt (total length 5000) is longer than the maximum model length of 4096.' }],
  ['llama.cpp', { type: 'exceed_context_size_error', message: 'the request exceeds the available context size' }],
  ['Bedrock', { message: 'Input is too long for requested model.' }],
  ['Cohere', { message: 'too many tokens: total number of tokens in the prompt cannot exceed 4081' }],
  ['Together', { message: '`inputs` tokens + `max_new_tokens` must be <= 4097. Given: 5000' }],
  ['Fireworks', { message: 'The prompt is too long: 10000, model maximum context length: 4096' }],
]

for (const [vendor, error] of TOO_LONG) {
  test(`a prompt that is too long, in the words of ${vendor}`, () => {
    const body = Buffer.from(JSON.stringify({ error }))

    assert.equal(failureOfStatus({ status: 400, body }, []).tooLong, true)
    assert.equal(failureOfError({ ...error, status: 400 }, []).tooLong, true)
    assert.equal(failureOfStatus({ status: 500, body }, []).tooLong, false, 'only for rejections')
  })
}

test('other rejections are not classified as such', () => {
  for (const message of [
    'max_tokens is too large: 100000. This model supports at most 4096 completion tokens.',
    'Invalid value for temperature',
    'The image is too large',
    'stop has too many entries',
  ]) {
    const body = Buffer.from(JSON.stringify({ error: { message } }))
    assert.equal(failureOfStatus({ status: 400, body }, []).tooLong, false, message)
  }
  assert.equal(failureOfStatus({ status: 400, body: Buffer.from('<html>') }, []).tooLong, false)
})

test('a request larger than the per-minute limit is distinguished from a limit caused by others', () => {
  const of = (status: number, message: string) =>
    failureOfStatus({ status, body: Buffer.from(JSON.stringify({ error: { message } })) }, []).bySize

  assert.equal(of(429, 'Request too large for gpt-4o on tokens per min (TPM): Limit 30000, Requested 45000.'), true)
  assert.equal(of(429, 'Rate limit reached for gpt-4o on tokens per min (TPM): Limit 30000, Used 29000.'), false)
  assert.equal(of(503, 'Request too large'), false)
})

test("a Retry-After date is relative to the upstream's own clock, however wrong it is", () => {
  const wait = (date: string | undefined, retryAfter: string) =>
    failureOfStatus({ status: 429, body: Buffer.alloc(0), retryAfter, date }, []).retryAfter

  for (const skewMs of [0, -3_600_000, 86_400_000, -10 * 365 * 86_400_000]) {
    const at = (ms: number) => new Date(Math.floor((Date.now() + skewMs) / 1000) * 1000 + ms).toUTCString()
    assert.equal(wait(at(0), at(7000)), 7, `${skewMs}`)
    assert.equal(wait(at(0), at(-7000)), undefined, 'in the past')
    assert.equal(wait(at(0), at(3_600_000)), 300, 'too long')
  }
  assert.equal(wait(undefined, new Date(Date.now() + 7000).toUTCString()), undefined, 'without a known clock')
})

test('secrets are redacted in messages, except for pieces that are common text', () => {
  const told = (message: string, unsaid: readonly string[]) =>
    failureOfStatus({ status: 400, body: Buffer.from(JSON.stringify({ error: { message } })) }, unsaid).words

  assert.equal(
    told('AKIA1 signed with secret', ['AKIA1:secret:', 'AKIA1', 'secret', '']),
    '[hidden] signed with [hidden]',
  )
  assert.equal(told('keep calm', ['k', 'ee', 'cal']), 'keep calm')
  assert.equal(told('the token ya29.a0-B_c.d-e is old', []), 'the token [key] is old')
})
