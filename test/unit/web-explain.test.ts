// The sentence on the page of a request: every error code has one, with the figures of its row and the action that helps.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { REFUSALS, type RefusalCode } from '../../src/domain/refusal.ts'
import type { OperatorUsageObject } from '../../src/domain/usage-wire.ts'
import { clientMessage, explain } from '../../web/src/pages/usage/explain.ts'

const ROW = {
  request_id: 'r1',
  account_id: 'acct_1',
  key_id: 'key_1',
  model_requested: 'acme/m1',
  model_served: null,
  provider: null,
  attempts: [],
  outcome: 'refused',
  http_status: 402,
  error_code: null,
  error_message: null,
  error_detail: null,
  cost: '0',
  client_ip: '192.0.2.7',
  created_at: '2026-11-17T12:00:00.000Z',
  finished_at: '2026-11-17T12:00:01.500Z',
} as unknown as OperatorUsageObject

const explained = (change: Partial<OperatorUsageObject>) => explain({ ...ROW, ...change } as OperatorUsageObject)

test('every error code has a sentence, with and without the figures of the row', () => {
  for (const [code, { message }] of Object.entries(REFUSALS)) {
    const bare = explained({ error_code: code })
    const full = explained({ error_code: code, error_message: message, error_detail: { param: 'model', limit: 'key' } })

    for (const { sentence } of [bare, full]) {
      assert.match(sentence, /^(Refused|Failed): \S.{8,}[.!?)]$/, code)
      assert.doesNotMatch(sentence, /undefined|null|\[object|of {2}/, code)
    }
  }
})

test('the codes that an operator can do something about name the place', () => {
  const places: Partial<Record<RefusalCode, string>> = {
    insufficient_credits: '/accounts/acct_1?open=credits',
    budget_exceeded: '/keys/key_1?open=edit',
    credits_held: '/accounts/acct_1?open=credits',
    rate_limit_exceeded: '/keys/key_1?open=edit',
    daily_limit_exceeded: '/keys/key_1?open=edit',
    concurrency_exceeded: '/keys/key_1?open=edit',
    ip_not_allowed: '/keys/key_1?open=edit',
    insufficient_scope: '/keys/key_1?open=edit',
    account_suspended: '/accounts/acct_1?open=edit',
    model_not_allowed: '/keys/key_1?open=edit',
    model_not_found: '/models?q=acme%2Fm1',
    provider_unavailable: '/providers',
    upstream_timeout: '/providers',
    all_providers_failed: '/providers',
  }
  for (const [code, href] of Object.entries(places)) {
    assert.equal(explained({ error_code: code }).actions[0]?.href, href, code)
  }
})

test('a refusal for money says whose limit it was, what is left and what was needed', () => {
  const figures = { available: '0.00018356', required: '0.00038016', owed: '0', affordable_max_tokens: 12 }
  const ofKey = explained({ error_code: 'insufficient_credits', error_detail: { ...figures, limit: 'key' } })
  const ofAccount = explained({ error_code: 'insufficient_credits', error_detail: { ...figures, limit: 'account' } })
  const overdrawn = explained({ error_code: 'insufficient_credits', error_detail: { ...figures, owed: '1.5' } })
  const budget = explained({
    error_code: 'budget_exceeded',
    error_detail: {
      budget: 'account',
      window: 'day',
      amount: '25',
      available: '0.1',
      required: '0.3',
      resets_at: '2026-11-18T00:00:00Z',
    },
  })

  assert.equal(
    ofKey.sentence,
    'Refused: the key’s credit limit has 0.000184 left. The request may cost up to 0.00038. It fits with max_tokens of 12 or less.',
  )
  assert.equal(ofKey.actions[0]?.label, 'Raise limit')
  assert.match(ofAccount.sentence, /^Refused: the account has 0\.000184 credits left\./)
  assert.equal(overdrawn.sentence, 'Refused: the account is overdrawn by 1.50 credits.')
  assert.equal(
    budget.sentence,
    'Refused: the account’s budget of 25.00 per day has 0.10 left, and the request may cost up to 0.30. It resets at 2026-11-18 00:00 UTC.',
  )
  assert.equal(budget.actions[0]?.href, '/accounts/acct_1?open=edit')
})

test('a failure of providers names those that were tried, and what the last one said', () => {
  const failed = {
    error_code: 'all_providers_failed',
    error_message: REFUSALS.all_providers_failed.message,
    outcome: 'upstream_failed',
    attempts: [{ provider: 'a' }, { provider: 'b' }, { provider: 'b' }] as never,
  } as const

  assert.equal(
    explained({ ...failed, error_detail: { attempts: [{ error: 'first' }, { error: 'connect ECONNREFUSED' }] } })
      .sentence,
    'Failed: no provider could serve the request. Tried: a, b. connect ECONNREFUSED.',
  )
  assert.equal(
    explained({ ...failed, error_message: 'The engine is overloaded', error_detail: {} }).sentence,
    'Failed: no provider could serve the request. Tried: a, b. The engine is overloaded.',
  )
})

test('requests without an error are explained by their outcome', () => {
  const outcomes = ['completed', 'client_left', 'upstream_failed', 'upstream_broke', 'refused', 'recovered'] as const
  for (const outcome of outcomes) assert.match(explained({ outcome }).sentence, /\.$/)
  assert.equal(
    explained({
      outcome: 'completed',
      provider: 'openai',
      cost: '0.000700',
      attempts: [{ outcome: 'limited' }, { outcome: 'answered' }] as never,
    }).sentence,
    'Served by openai in 1.50 s after one failed attempt, for 0.0007 credits.',
  )
  assert.equal(explained({ outcome: null }).sentence, 'The request is still running.')
})

test('an error code of another version is explained by its message', () => {
  const { sentence } = explained({ error_code: 'new_code', error_message: 'Something new happened.' })

  assert.equal(sentence, 'Refused: something new happened.')
})

test('a model that a caller made up does not turn the sentence round', () => {
  const { sentence } = explained({ error_code: 'model_not_found', model_requested: '\u202eشات', error_message: null })

  assert.equal(sentence, 'Refused: the model “\u2068\ufffdشات\u2069” does not exist or is not active.')
})

test('the words of a provider are not stated as what the client received', () => {
  const crashed = 'The model crashed while loading shard 3'
  const detail = { attempts: [{ provider: 'north', model: 'fast', status: 500, error: crashed }] }
  const failed = { error_code: 'all_providers_failed', error_message: crashed, error_detail: detail }
  const message = (change: Partial<OperatorUsageObject>) => clientMessage({ ...ROW, ...change } as OperatorUsageObject)

  assert.equal(message(failed), null)
  assert.match(explained({ ...failed, outcome: 'upstream_failed' }).sentence, /shard 3/)
  assert.equal(
    message({ ...failed, error_message: 'No provider could serve this request.' }),
    'No provider could serve this request.',
  )
  assert.equal(message({ ...failed, error_code: 'upstream_rejected' }), crashed)
})
