// Which providers fetch images by URL by default: vendors on the public internet only.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { usuallyFetches } from '../../src/domain/remote-media.ts'

test('a vendor on the public internet fetches if its API accepts URLs', () => {
  assert.equal(usuallyFetches('openai', 'https://api.openai.com/v1', true), true)
  assert.equal(usuallyFetches('anthropic', 'https://api.anthropic.com', true), true)
  assert.equal(usuallyFetches('google', 'https://generativelanguage.googleapis.com', true), false)
})

test('private addresses and non-vendors do not fetch', () => {
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
