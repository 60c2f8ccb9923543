// After kill -9 the next start closes open rows: at the last checkpoint for requests of more than a second, at zero
// without a checkpoint, and all holds are released.
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { withBounds } from '../support/bounds.ts'
import { type Gateway, standardConfig, startGateway } from '../support/gateway.ts'
import { standardModel } from '../support/standard-config.ts'
import { until } from '../support/until.ts'
import { startUpstream } from '../support/upstream.ts'
import { balanceOf, chargedTo, credits, nano, settledRow } from '../support/usage.ts'

const PROMPT_PRICE = nano('0.0000025')
const COMPLETION_PRICE = nano('0.00001')

test('a killed gateway bills by its checkpoints, within 5 s of the next start', async t => {
  await using upstream = await startUpstream()
  await using gateway = await startGateway({ config: standardConfig(upstream.url) })
  const { secret, accountId } = await gateway.createKey({ credits: '50' })
  const ask = { key: secret }
  upstream.next({ chunks: 1000, chunkDelayMs: 30 }, { delayMs: 60_000 })
  const long = await gateway.openChat({}, ask)
  const silent = gateway.chat({}, ask).catch(() => undefined)
  await until('both long requests have a checkpoint', () => checkpoints(gateway) === 2)
  upstream.next({ stallAfterChunks: 2 })
  const short = await gateway.openChat({}, ask)
  await short.nextChunk()
  await gateway.kill()
  await silent
  const [longCall, silentCall] = upstream.journal

  const restarted = performance.now()
  await gateway.restart()
  const [longRow, silentRow, shortRow] = await Promise.all(
    [long.headers['x-request-id'], silentCall?.requestId, short.headers['x-request-id']].map(id =>
      settledRow(gateway, id, 5000 - (performance.now() - restarted)),
    ),
  )

  await t.test('a stream is billed for its prompt and the output up to its checkpoint', () => {
    assert.deepEqual([longRow?.state, longRow?.outcome, longRow?.provider], ['recovered', 'recovered', 'up'])
    assert.equal(longRow?.usage_source, 'estimate')
    assert.ok(longRow.prompt_tokens > 0)
    assert.ok(longRow.completion_tokens > 0 && longRow.completion_tokens <= (longCall?.tokens.completion ?? 0))
    assert.equal(longRow.cost, costOf(longRow))
  })

  await t.test('a call that had produced nothing yet is billed for its prompt', () => {
    assert.deepEqual([silentRow?.state, silentRow?.completion_tokens], ['recovered', 0])
    const messages = [{ role: 'user', content: 'Say hello' }]
    assert.ok(silentRow !== undefined)
    assert.equal(
      silentRow.prompt_tokens,
      Math.ceil(JSON.stringify(messages).length / 4),
      'by its bytes, without the tokenizer',
    )
    assert.equal(silentRow.cost, costOf(silentRow))
  })

  await t.test('a call without a checkpoint costs nothing', () => {
    assert.deepEqual([shortRow?.state, shortRow?.cost, shortRow?.usage_source], ['recovered', '0', 'none'])
    assert.equal(shortRow?.http_status, null, 'unknown what its caller saw')
  })

  await t.test('balance and ledger agree, and nothing is held', async () => {
    const spent = nano(longRow?.cost) + nano(silentRow?.cost)
    const balance = { available: credits(nano('50') - spent), held: '0', spent: credits(spent), owed: '0' }

    assert.deepEqual(await balanceOf(gateway, accountId), balance)
    assert.equal(await chargedTo(gateway, accountId), spent)
    assert.ok(gateway.logs.some(line => String(line.msg).includes('recovered') && Number(line.rows) === 3))
  })

  await t.test('a second start finds nothing more to recover', async () => {
    await gateway.restart()

    assert.deepEqual(await settledRow(gateway, long.headers['x-request-id']), longRow)
    assert.ok((await gateway.audit()).ok)
  })
})

function costOf(row: { readonly prompt_tokens: number; readonly completion_tokens: number }): string {
  return credits(BigInt(row.prompt_tokens) * PROMPT_PRICE + BigInt(row.completion_tokens) * COMPLETION_PRICE)
}

test('a killed gateway bills a fallback model at its own price', async () => {
  await using upstream = await startUpstream()
  const expensive = { prompt: '0.00001', completion: '0.00005' }
  const models = [
    standardModel({ targets: [{ provider: 'up', model: 'gone' }] }),
    standardModel({ id: 'test/expensive', pricing: expensive, targets: [{ provider: 'up2', model: 'expensive' }] }),
  ]
  await using gateway = await startGateway({ config: standardConfig(upstream.url, { models }) })
  upstream.script({ status: 404 }, 'gone')
  upstream.script({ chunks: 1000, chunkDelayMs: 30 }, 'expensive')
  const { headers } = await gateway.openChat({ models: ['test/expensive'] })
  await until('it has a checkpoint', () => checkpoints(gateway) === 1)
  await gateway.kill()
  await gateway.restart()

  const row = await settledRow(gateway, headers['x-request-id'])

  assert.deepEqual([row.state, row.model_served, row.provider], ['recovered', 'test/expensive', 'up2'])
  assert.equal(row.price?.completion, expensive.completion)
  const cost =
    BigInt(row.prompt_tokens) * nano(expensive.prompt) + BigInt(row.completion_tokens) * nano(expensive.completion)
  assert.equal(nano(row.cost), cost)
  assert.ok((await gateway.audit()).ok)
})

test('a killed gateway bills nothing for a failed attempt', async () => {
  await using upstream = await startUpstream()
  const targets = ['up', 'up2'].map(provider => ({ provider, model: provider }))
  await using gateway = await startGateway({
    // The second attempt has no checkpoint of its own before the kill.
    ...withBounds({ checkpointEveryMs: 600_000 }),
    config: standardConfig(upstream.url, { models: [standardModel({ targets })] }),
  })
  const { secret, accountId } = await gateway.createKey({ credits: '50' })
  const failing = Promise.withResolvers<void>()
  upstream.next(
    async () => {
      await failing.promise
      return { status: 500 }
    },
    { delayMs: 60_000 },
  )
  const asked = gateway.chat({}, { key: secret }).catch(() => undefined)
  await until('the first attempt has a checkpoint', () => checkpoints(gateway) === 1)

  failing.resolve()
  await upstream.received(2)
  await until('its checkpoint is withdrawn', () => checkpoints(gateway) === 0)
  await gateway.kill()
  await asked
  await gateway.restart()

  const row = await settledRow(gateway, upstream.journal[0]?.requestId)
  assert.deepEqual([row.state, row.usage_source, row.prompt_tokens, row.cost], ['recovered', 'none', 0, '0'])
  const { available, held, spent } = await balanceOf(gateway, accountId)
  assert.deepEqual([available, held, spent], ['50', '0', '0'])
  assert.ok((await gateway.audit()).ok)
})

function checkpoints(gateway: Gateway): number {
  const db = new DatabaseSync(join(gateway.dataDir, 'turnpike.db'), { readOnly: true, timeout: 5000 })
  const row = db.prepare("SELECT COUNT(*) AS n FROM usage WHERE state = 'open' AND checkpoint IS NOT NULL").get()
  db.close()
  return Number(row?.n)
}
