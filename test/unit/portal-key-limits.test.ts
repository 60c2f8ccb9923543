// The limits within which customers create keys: what is not chosen gets the lower of default and limit, what is chosen may not exceed
// them, and a pattern of models is allowed only if it is inside of one that is.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type PortalKeyLimits, SCOPES } from '../../src/domain/key.ts'
import { withinLimits } from '../../src/domain/portal-key-limits.ts'

const DEFAULTS = {
  scopes: SCOPES,
  ipAllowlist: [],
  rpmLimit: 300,
  dailyLimit: 10_000,
  creditLimit: null,
  maxConcurrent: 100,
  expiresAt: null,
}
const NONE: PortalKeyLimits = {
  maxKeys: null,
  rpmLimit: null,
  dailyLimit: null,
  maxConcurrent: null,
  creditLimit: null,
  expiresInDays: null,
  allowedModels: [],
}
const DAY = 86_400_000

test('without limits everything is as chosen', () => {
  const chosen = { rpmLimit: 9999, dailyLimit: null, allowedModels: ['*'] }
  assert.deepEqual(withinLimits(chosen, DEFAULTS, null, 0), { controls: chosen })
})

test('what is not chosen gets the lower of default and limit', () => {
  const high = withinLimits({}, DEFAULTS, { ...NONE, rpmLimit: 1000, creditLimit: 5n, expiresInDays: 2 }, DAY)

  assert.ok('controls' in high)
  const { rpmLimit, dailyLimit, creditLimit, expiresAt } = high.controls
  assert.deepEqual([rpmLimit, dailyLimit, creditLimit, expiresAt], [300, 10_000, 5n, 3 * DAY])
})

test('no limit at all is more than any limit', () => {
  const refused = withinLimits({ dailyLimit: null }, DEFAULTS, { ...NONE, dailyLimit: 10 }, 0)
  const allowed = withinLimits({ dailyLimit: null }, DEFAULTS, NONE, 0)

  assert.deepEqual(refused, { fault: { field: 'dailyLimit', expected: 'at most 10' } })
  assert.ok('controls' in allowed && allowed.controls.dailyLimit === null)
})

for (const [allowed, chosen, isInside] of [
  ['gpt-4o*', 'gpt-4o', true],
  ['gpt-4o*', 'gpt-4o-mini*', true],
  ['gpt-4o*', 'gpt-4*', false],
  ['gpt-4o*', '*', false],
  ['*', '*', true],
  ['a*c', 'a*b*c', true],
  ['a*c', 'a*', false],
  ['a', 'a*', false],
  ['a**', 'a*', true],
] as const) {
  test(`${chosen} is ${isInside ? '' : 'not '}inside of ${allowed}`, () => {
    const result = withinLimits({ allowedModels: [chosen] }, DEFAULTS, { ...NONE, allowedModels: [allowed] }, 0)
    assert.equal('controls' in result, isInside)
  })
}
