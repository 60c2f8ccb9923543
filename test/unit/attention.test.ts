// What needs an operator's attention: each problem is one line, and without problems there is none.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type AttentionFacts, attentionOf } from '../../src/admin/attention.ts'
import { causeOf } from '../../src/domain/error-cause.ts'
import type { TargetView } from '../../src/domain/routing.ts'
import type { Webhook } from '../../src/domain/webhook.ts'
import type { Overview } from '../../src/store/contract/operator.ts'

const NOW = Date.UTC(2026, 10, 17)

test('nothing is listed while all is well', () => {
  assert.deepEqual(linesOf({}), [])
  const targets = {
    targets: [target('a', 'm', 'closed')],
    credentials: [{ provider: 'a', id: 'c', state: 'active', until: null }],
  }
  assert.deepEqual(linesOf({ targets: targets as AttentionFacts['targets'] }), [])
})

test('a provider without a working target is down, and comes before one that lost some', () => {
  const targets = [
    target('half', 'x', 'open'),
    target('half', 'y', 'closed'),
    target('whole', 'm', 'open', NOW + 11_200),
    target('whole', 'n', 'half_open'),
  ]

  const lines = linesOf({ targets: { targets, credentials: [] } })

  assert.deepEqual(lines, [
    'provider_down whole is down: retrying now.',
    'target_down half has 1 of 2 targets down (x): retrying now.',
  ])
  const waiting = linesOf({ targets: { targets: [target('p', 'm', 'open', NOW + 11_200)], credentials: [] } })
  assert.deepEqual(waiting, ['provider_down p is down: retrying in 12 s.'])
})

test('a rejected credential is listed once for its provider', () => {
  const credentials = ['dead', 'dead', 'limited'].map((state, i) => ({
    provider: 'a',
    id: `c${i}`,
    state,
    until: null,
  }))

  const lines = linesOf({ targets: { targets: [], credentials } as unknown as AttentionFacts['targets'] })

  assert.deepEqual(lines, ['credential_rejected a rejects 2 credentials. Replace them, or fix them at the provider.'])
})

test('errors of providers count as a spike if they doubled; refusals of callers never do', () => {
  const failed = (requests: number, provider: number, caller = 0) =>
    moment({ requests, errors: provider + caller, errorsByCause: { caller, limits: 0, money: 0, provider } })
  const spike = (totals: Overview['totals'], previous: Overview['totals']) =>
    linesOf({ overview: { totals, previous: { ...previous, from: 0, to: 0 }, lowBalances: [] } })

  assert.deepEqual(spike(failed(100, 12), failed(100, 5)), [
    'error_spike Errors 12 % of requests failed at providers, 5 % in the period before (12 of 100).',
  ])
  assert.deepEqual(spike(failed(100, 12), failed(100, 7)), [])
  assert.deepEqual(spike(failed(10, 9), failed(0, 0)), [], 'too few to tell')
  assert.deepEqual(spike(failed(100, 0, 90), failed(100, 0)), [])
})

test('limits, balances and webhooks', () => {
  const near = { object: 'key', id: 'key_1', name: 'ci', amount: 50_000_000n } as const
  const webhook = { id: 'wh_1', url: 'https://example.com/x', description: '', enabled: true } as Webhook

  const lines = linesOf({
    nearLimits: [
      { ...near, window: null, spent: 50_000_000n },
      { ...near, window: 'day', spent: 49_800_000n },
      { ...near, object: 'account', id: 'acct_1', window: 'month', spent: 60_000_000n },
    ],
    webhooks: [
      { ...webhook, failingSince: 1, disabledReason: null },
      { ...webhook, enabled: false, failingSince: 1, disabledReason: 'the endpoint is gone' },
      { ...webhook, enabled: false, failingSince: null, disabledReason: null },
    ],
    overview: {
      ...NO_PROBLEM,
      lowBalances: [
        { id: 'acct_2', name: 'Owing', available: 0n, owed: 5_000_000n },
        { id: 'acct_3', name: 'Poor', available: 250_000_000n, owed: 0n },
      ],
    },
  })

  assert.deepEqual(lines, [
    'key_limit ci has used all of its credit limit of 0.05 credits.',
    'key_limit ci has used 99.6 % of its daily budget of 0.05 credits.',
    'account_limit ci has used all of its monthly budget of 0.05 credits.',
    'low_balance Owing is overdrawn by 0.005 credits; requests are blocked.',
    'low_balance Poor has 0.25 credits left.',
    'webhook_failing example.com does not accept events; they are retried.',
    'webhook_disabled example.com was disabled: the endpoint is gone',
  ])
})

test('an error has one cause', () => {
  assert.equal(causeOf('completed', null), undefined)
  assert.equal(causeOf('refused', 'model_not_found'), 'caller')
  assert.equal(causeOf('refused', 'insufficient_scope'), 'caller')
  assert.equal(causeOf('upstream_failed', 'upstream_rejected'), 'caller')
  assert.equal(causeOf('refused', 'rate_limit_exceeded'), 'limits')
  assert.equal(causeOf('refused', 'budget_exceeded'), 'money')
  assert.equal(causeOf('upstream_failed', 'all_providers_failed'), 'provider')
  assert.equal(causeOf('upstream_broke', null), 'provider')
  assert.equal(causeOf('refused', 'internal_error'), 'other')
})

function moment(change: Partial<Overview['totals']> = {}): Overview['totals'] {
  return {
    requests: 0,
    errors: 0,
    errorsByCause: { caller: 0, limits: 0, money: 0, provider: 0 },
    promptTokens: 0,
    completionTokens: 0,
    cost: 0n,
    upstreamCost: 0n,
    requestsWithoutUpstreamCost: 0,
    costWithoutUpstreamCost: 0n,
    failovers: 0,
    p50Ms: null,
    p95Ms: null,
    ...change,
  }
}

const NO_PROBLEM = { totals: moment(), previous: { ...moment(), from: 0, to: 0 }, lowBalances: [] }

function linesOf(facts: Partial<AttentionFacts>): readonly string[] {
  const none = {
    overview: NO_PROBLEM,
    targets: { targets: [], credentials: [] },
    nearLimits: [],
    webhooks: [],
    now: NOW,
  }
  return attentionOf({ ...none, ...facts }).map(({ kind, name, message }) => `${kind} ${name} ${message}`)
}

function target(
  provider: string,
  model: string,
  state: TargetView['state'],
  openUntil: number | null = null,
): TargetView {
  const recent = { requests: 0, failures: 0, firstByteMs: null }
  const status = state === 'closed' ? 'healthy' : 'down'
  const figures = { successRate: null, firstByteMs: null, inFlight: 0, requests: 0, failures: 0 }
  return { provider, model, state, status, recent, openUntil, ...figures }
}
