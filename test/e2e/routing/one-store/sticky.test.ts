// Requests of one session stay with one target to keep its prompt cache warm: by session_id, else by prompt_cache_key,
// separately for each account.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openFixture } from '../../../support/fixture.ts'
import type { Loose } from '../../../support/http-call.ts'
import { standardConfig, standardModel, standardProvider } from '../../../support/standard-config.ts'

const PROVIDERS = ['one', 'two', 'three']
const WORDS = Array.from({ length: 16 }, (_, i) => `session-${i}`)
const { gateway, upstream } = await openFixture(url =>
  standardConfig(url, {
    providers: PROVIDERS.map(id => standardProvider(url, { id })),
    models: [standardModel({ targets: PROVIDERS.map(id => ({ provider: id, model: id })) })],
  }),
)
const alice = await gateway.createKey()
const bob = await gateway.createKey()

for (const field of ['session_id', 'prompt_cache_key']) {
  test(`the same ${field} goes to the same target`, async () => {
    const first = await targetsOf(field, alice.secret)
    const again = await targetsOf(field, alice.secret)
    const onceMore = await targetsOf(field, alice.secret)

    assert.deepEqual([again, onceMore], [first, first])
    assert.ok(new Set(first).size > 1, 'all go to one target')
  })

  test(`the same ${field} of two accounts is independent`, async () => {
    assert.notDeepEqual(await targetsOf(field, bob.secret), await targetsOf(field, alice.secret))
  })
}

test('session_id takes precedence over prompt_cache_key', async () => {
  const bySession = await targetsOf('session_id', alice.secret)
  const byCache = await targetsOf('prompt_cache_key', alice.secret)
  const pairs = WORDS.flatMap((session_id, at) =>
    WORDS.flatMap((prompt_cache_key, other) =>
      bySession[at] === byCache[other] ? [] : [{ session_id, prompt_cache_key, expected: bySession[at] }],
    ),
  ).slice(0, 16)
  assert.ok(pairs.length > 0)

  for (const { expected, ...body } of pairs) assert.equal(await targetOf(body, alice.secret), expected)
})

test('a session whose target is unavailable moves to another, and the explanation has the reason', async () => {
  const home = await targetOf({ session_id: 'moves' }, alice.secret)
  const headers = { 'X-Svc-Explain': '1' }
  const told = await gateway.chat({ session_id: 'moves' }, { key: alice.secret, headers })
  assert.deepEqual(candidatesOf(told.body)[0], { model: 'test/m1', provider: home, position: 0, reason: 'sticky' })
  upstream.script({ status: 404 }, home)

  const away = await targetOf({ session_id: 'moves' }, alice.secret)

  assert.notEqual(away, home)
  upstream.reset()
  assert.equal(await targetOf({ session_id: 'moves' }, alice.secret), home)
})

async function targetsOf(field: string, key: string): Promise<string[]> {
  const targets = []
  for (const word of WORDS) targets.push(await targetOf({ [field]: word }, key))
  return targets
}

async function targetOf(body: object, key: string): Promise<string> {
  const { status, headers, text } = await gateway.chat(body, { key })
  assert.equal(status, 200, text)
  return String(headers['x-svc-provider'])
}

function candidatesOf(body: Loose): unknown[] {
  return (body as { metadata?: { candidates: unknown[] } }).metadata?.candidates ?? []
}
