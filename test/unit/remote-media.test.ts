// Who fetches pictures by address unless its operator says otherwise: vendors on the public internet, and nobody else.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { usuallyFetches } from '../../src/domain/remote-media.ts'

test('a vendor on the public internet fetches, where its wire has a word for an address', () => {
  assert.equal(usuallyFetches('openai', 'https://api.openai.com/v1', true), true)
  assert.equal(usuallyFetches('anthropic', 'https://api.anthropic.com', true), true)
  assert.equal(usuallyFetches('google', 'https://generativelanguage.googleapis.com', true), false)
})

test('whatever stands at a private address, or is no vendor, fetches nothing', () => {
  for (const url of [
    'http://10.0.0.7:8000/v1',
    'http://127.0.0.1/v1',
    'http://[::1]/v1',
    'http://vllm.internal/v1',
    'no',
  ]) {
    assert.equal(usuallyFetches('openai', url, true), false, url)
  }
  assert.equal(usuallyFetches('openai', 'https://gpu.example.com/v1', false), false)
})
