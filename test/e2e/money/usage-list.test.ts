// The list of a key's usage records: newest first, in pages, with filters, and strict about unknown parameters.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { BOUNDS } from '../../../src/config/limits.ts'
import { withBounds } from '../../support/bounds.ts'
import { type NewKey, standardConfig, startGateway } from '../../support/gateway.ts'
import type { Loose } from '../../support/http-call.ts'
import { assertRefusal } from '../../support/refusal.ts'
import { standardModel } from '../../support/standard-config.ts'
import { startUpstream } from '../../support/upstream.ts'
import { settledRow } from '../../support/usage.ts'

test('a page scans a bounded number of rows and has a cursor to continue', async () => {
  assert.equal(BOUNDS.usageRowsLookedAtMax, 10_000)
  await using upstream = await startUpstream()
  const config = standardConfig(upstream.url, { models: [standardModel(), standardModel({ id: 'b' })] })
  await using gateway = await startGateway({ config, ...withBounds({ usageRowsLookedAtMax: 10 }) })
  const { secret } = await gateway.createKey()
  const rare = await gateway.chat({ model: 'b' }, { key: secret })
  for (let i = 0; i < 15; i++) assert.equal((await gateway.chat({}, { key: secret })).status, 200)

  const first = (await gateway.get('/v1/usage?model=b', secret)).body
  const second = (await gateway.get(`/v1/usage?model=b&after=${first.next_after}`, secret)).body

  assert.deepEqual([first.data, first.has_more], [[], true])
  const ids = (second.data as unknown as Loose[]).map(row => row.request_id)
  assert.deepEqual([ids, second.has_more, second.next_after], [[rare.headers['x-request-id']], false, null])
})

test('concurrent lists of one account are limited at no cost, and other accounts are served', async () => {
  await using upstream = await startUpstream()
  // Each refusal has its own row.
  const bounds = withBounds({ refusalRowsPerSecond: 1000 })
  await using gateway = await startGateway({ config: standardConfig(upstream.url), ...bounds })
  const [greedy, modest] = [await gateway.createKey(), await gateway.createKey()]
  const ask = (key: NewKey) => gateway.get('/v1/usage?endpoint=all&limit=1000', key.secret)
  for (let i = 0; i < 20; i++) assert.equal((await ask(greedy)).status, 200)

  const flood = Array.from({ length: 100 }, () => ask(greedy))
  const other = await ask(modest)
  const answers = await Promise.all(flood)

  assert.equal(other.status, 200)
  const [refused, served] = [answers.filter(each => each.status === 429), answers.filter(each => each.status === 200)]
  assert.equal(refused.length + served.length, 100)
  assert.ok(refused.length > 0 && served.length > 0, `${refused.length} refused`)
  for (const answer of refused) {
    assert.equal(assertRefusal(answer, 'concurrency_exceeded').metadata?.limit, 'usage_lists')
    const row = await settledRow(gateway, answer.headers['x-request-id'])
    assert.deepEqual([row.outcome, row.http_status, row.error_code], ['refused', 429, 'concurrency_exceeded'])
  }
  const { daily } = (await gateway.get('/v1/key/introspect', greedy.secret)).body.limits ?? {}
  assert.equal(Number(daily?.used), 20 + served.length + 1, 'a refused list counted')
  assert.ok((await gateway.audit()).ok)
})

test('a list that finds the shared queue full gets 503, counts and leaves a row', async () => {
  await using upstream = await startUpstream()
  const bounds = withBounds({ usageListsAtOnceMax: 1, usageListsWaitingMax: 0 })
  await using gateway = await startGateway({ config: standardConfig(upstream.url), ...bounds })
  const key = await gateway.createKey()
  const ask = () => gateway.get('/v1/usage?endpoint=all&limit=1000', key.secret)
  for (let i = 0; i < 20; i++) assert.equal((await ask()).status, 200)

  const answers = await Promise.all(Array.from({ length: 100 }, ask))

  const refused = answers.filter(each => each.status !== 200)
  assert.ok(refused.length > 0)
  for (const answer of refused) {
    assertRefusal(answer, 'service_unavailable')
    const row = await settledRow(gateway, answer.headers['x-request-id'])
    assert.deepEqual([row.outcome, row.http_status, row.error_code], ['refused', 503, 'service_unavailable'])
  }
  const { daily } = (await gateway.get('/v1/key/introspect', key.secret)).body.limits ?? {}
  assert.equal(Number(daily?.used), 20 + 100 + 1)
  assert.ok((await gateway.audit()).ok)
})

test('usage records are listed newest first, with pages and filters by time, model and endpoint', async t => {
  await using upstream = await startUpstream()
  const config = standardConfig(upstream.url, {
    models: [standardModel({ aliases: ['nick'] }), standardModel({ id: 'b' })],
  })
  await using gateway = await startGateway({ config })
  const { secret } = await gateway.createKey({ rpm_limit: 10_000 })
  const list = async (query: string) => {
    const answer = await gateway.get(`/v1/usage${query}`, secret)
    assert.equal(answer.status, 200, answer.text)
    assert.equal(answer.body.object, 'list')
    return { more: answer.body.has_more, rows: answer.body.data as unknown as Loose[] }
  }
  const ids = async (query: string) => (await list(query)).rows.map(row => row.request_id)

  const made: unknown[] = []
  for (const model of ['test/m1', 'nick', 'b', 'no/such', 'test/m1']) {
    const { headers } = await gateway.chat({ model }, { key: secret })
    made.unshift(headers['x-request-id'])
    await setTimeout(5)
  }
  const [fifth, fourth, third, second, first] = made
  const { headers } = await gateway.get('/v1/models', secret)

  await t.test('only chat rows by default', async () => {
    const { rows, more } = await list('')

    assert.deepEqual(
      rows.map(row => row.request_id),
      made,
    )
    assert.equal(more, false)
    assert.deepEqual(await ids('?endpoint=models'), [headers['x-request-id']])
    const all = (await list('?endpoint=all')).rows
    assert.deepEqual(
      all.filter(row => String(row.endpoint) !== 'usage').map(row => row.request_id),
      [headers['x-request-id'], ...made],
    )
    assert.deepEqual(
      all.map(row => row.request_id),
      all
        .map(row => String(row.request_id))
        .toSorted()
        .reverse(),
    )
  })

  await t.test('pages have no gaps and no duplicates', async () => {
    const pages: unknown[] = []
    let after = ''
    for (const more of [true, true, false]) {
      const page = await list(`?limit=2${after}`)
      assert.equal(page.more, more)
      pages.push(...page.rows.map(row => row.request_id))
      after = `&after=${pages.at(-1)}`
    }

    assert.deepEqual(pages, made)
    assert.deepEqual(await ids(`?after=${String(third).toUpperCase()}`), [second, first])
  })

  await t.test('the model filter matches the serving model, or the requested one if none served', async () => {
    assert.deepEqual(await ids('?model=test/m1'), [fifth, second, first])
    assert.deepEqual(await ids('?model=b'), [third])
    assert.deepEqual(await ids('?model=no/such'), [fourth])
    assert.deepEqual(await ids('?model=nick'), [])
  })

  await t.test('from is inclusive, to is exclusive', async () => {
    const { rows } = await list('')
    const at = (index: number) => encodeURIComponent(String(rows[index]?.created_at))

    assert.deepEqual(await ids(`?from=${at(3)}`), [fifth, fourth, third, second])
    assert.deepEqual(await ids(`?to=${at(3)}`), [first])
    assert.deepEqual(await ids(`?from=${at(3)}&to=${at(1)}`), [third, second])
    assert.deepEqual(await ids('?from=2020-01-01&to=2020-01-02T00:00:00%2B02:00'), [])
  })

  await t.test('unknown parameters are refused by name', async () => {
    const wrong: Record<string, readonly string[]> = {
      limit: ['0', '1001', '-1', '1.5', 'x', '', '1e2'],
      after: ['x', `${first}x`, ''],
      from: ['yesterday', '2026-13-01', '2026-02-30', '1700000000', '2026-01-01T00:00:00', ''],
      to: ['x'],
      endpoint: ['chat', 'ALL', ''],
      model: ['a\u0000', '\n'],
      sort: ['asc'],
    }
    for (const [name, values] of Object.entries(wrong)) {
      for (const value of values) {
        const answer = await gateway.get(`/v1/usage?${name}=${encodeURIComponent(value)}`, secret)

        assertRefusal(answer, 'invalid_value', name)
      }
    }
    assertRefusal(await gateway.get('/v1/usage?limit=1&limit=2', secret), 'invalid_value', 'limit')
  })

  assert.ok((await gateway.audit()).ok)
})
