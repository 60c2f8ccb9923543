// What the caller gets after failed attempts: a limit of the gateway is never blamed on an upstream.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Failure, refusalFor } from '../../src/domain/failure.ts'

test('failures of the gateway alone are a 503; together with an upstream failure, the latter counts', () => {
  const ours = new Failure('refused', 'too many connections', { ours: true })
  const limited = new Failure('limited', 'status 429', { status: 429, retryAfter: 7 })
  const refused = new Failure('refused', 'refused')

  for (const [failures, code, retryAfter] of [
    [[ours], 'service_unavailable', 1],
    [[ours, ours], 'service_unavailable', 1],
    [[limited, ours], 'provider_unavailable', 7],
    [[ours, refused], 'all_providers_failed', undefined],
    [[], 'provider_unavailable', 1],
  ] as const) {
    const refusal = refusalFor(failures)

    assert.deepEqual([refusal.code, refusal.detail.retryAfter], [code, retryAfter])
  }
})
