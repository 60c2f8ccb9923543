// No overdraft: concurrent requests on an account, and on a key's own limit, get exactly what the credits cover.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { PATIENT_COUNTS, withBounds } from '../../support/bounds.ts'
import { countedBound } from '../../support/counted-bound.ts'
import { openFixture } from '../../support/fixture.ts'
import type { NewKey } from '../../support/gateway.ts'
import { standardConfig } from '../../support/standard-config.ts'
import { balanceOf, credits, nano, promptBound } from '../../support/usage.ts'

const { gateway, upstream } = await openFixture(standardConfig, withBounds(PATIENT_COUNTS))
const messages = [{ role: 'user', content: 'Say hello' }]
const MAX_TOKENS = 10
const PROMPT_BOUND = promptBound(messages)
// The upstream reports the held usage, so that a settlement releases nothing and every request costs its whole hold.
const HOLD = BigInt(PROMPT_BOUND) * 2500n + BigInt(MAX_TOKENS) * 10_000n
// The hold of the last request when the credits do not cover its bytes.
const LAST_HOLD = BigInt(countedBound(messages)) * 2500n + BigInt(MAX_TOKENS) * 10_000n
const unlimited = { rpm_limit: 100_000, daily_limit: null, max_concurrent: 1000 }
const usage = { prompt_tokens: PROMPT_BOUND, completion_tokens: MAX_TOKENS }

test('of 500 concurrent requests with credits for exactly 100, exactly 100 are answered and the others get 402', async () => {
  upstream.script({ usage, delayMs: 20 })
  const caller = await gateway.createKey({ credits: credits(HOLD * 100n), ...unlimited })

  const answers = await race(500, caller)

  assert.deepEqual(countByStatus(answers), { 200: 100, 402: 400 })
  for (const { status, body } of answers.filter(answer => answer.status !== 200)) {
    assert.match(String(body.error?.code), /^(insufficient_credits|credits_held)$/, `${status}`)
  }
  const balance = await balanceOf(gateway, caller.accountId)
  assert.deepEqual(balance, { available: '0', held: '0', spent: credits(HOLD * 100n), owed: '0' })
  assert.equal(upstream.journal.length, 100)
})

test('one nano-credit less than 100 requests need serves 99', async () => {
  upstream.script({ usage })
  const caller = await gateway.createKey({ credits: credits(HOLD * 99n + LAST_HOLD - 1n), ...unlimited })

  const answers = await race(150, caller)

  assert.deepEqual(countByStatus(answers), { 200: 99, 402: 51 })
  const balance = await balanceOf(gateway, caller.accountId)
  assert.equal(nano(balance.available), LAST_HOLD - 1n)
})

test("a key's own credit limit holds under concurrency and leaves the rest of the account to other keys", async () => {
  upstream.script({ usage, delayMs: 20 })
  const rich = await gateway.createKey({ credits: '10', ...unlimited })
  const limited = await gateway.createKey({
    account_id: rich.accountId,
    credit_limit: credits(HOLD * 10n),
    ...unlimited,
  })

  const [ofLimited, ofRich] = await Promise.all([race(60, limited), race(20, rich)])

  assert.deepEqual(countByStatus(ofLimited), { 200: 10, 402: 50 })
  assert.deepEqual(countByStatus(ofRich), { 200: 20 })
  const last = await ask(limited)
  assert.equal(last.body.error?.code, 'insufficient_credits')
  assert.deepEqual(last.body.error?.metadata?.limit, 'key')
  assert.deepEqual(last.body.error?.metadata?.available, '0')
  const { body } = await gateway.get('/v1/key/introspect', limited.secret)
  assert.deepEqual(body.balance, { currency: 'credits', remaining: '0', held: '0', owed: '0' })
})

function ask(caller: NewKey) {
  return gateway.chat({ messages, max_tokens: MAX_TOKENS }, { key: caller.secret })
}

function race(count: number, caller: NewKey) {
  upstream.journal.length = 0
  return Promise.all(Array.from({ length: count }, () => ask(caller)))
}

function countByStatus(answers: readonly { readonly status: number }[]): Record<number, number> {
  const counts: Record<number, number> = {}
  for (const { status } of answers) counts[status] = (counts[status] ?? 0) + 1
  return counts
}
