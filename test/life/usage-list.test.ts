// The list of a key's usage records: newest first, in pages, by filters, and strict about what it does not understand.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { standardConfig, startGateway } from '../kit/gateway.ts'
import type { Loose } from '../kit/http-call.ts'
import { assertRefusal } from '../kit/refusal.ts'
import { standardModel } from '../kit/standard-config.ts'
import { startUpstream } from '../kit/upstream.ts'

test('usage records are listed newest first, page by page, by time, model and endpoint', async t => {
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

  await t.test('chat rows alone, unless another endpoint is asked for', async () => {
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

  await t.test('pages follow each other without a gap or a double', async () => {
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

  await t.test('a model is found by the id that served, and by the name asked for where none did', async () => {
    assert.deepEqual(await ids('?model=test/m1'), [fifth, second, first])
    assert.deepEqual(await ids('?model=b'), [third])
    assert.deepEqual(await ids('?model=no/such'), [fourth])
    assert.deepEqual(await ids('?model=nick'), [])
  })

  await t.test('from counts in, to counts out', async () => {
    const { rows } = await list('')
    const at = (index: number) => encodeURIComponent(String(rows[index]?.created_at))

    assert.deepEqual(await ids(`?from=${at(3)}`), [fifth, fourth, third, second])
    assert.deepEqual(await ids(`?to=${at(3)}`), [first])
    assert.deepEqual(await ids(`?from=${at(3)}&to=${at(1)}`), [third, second])
    assert.deepEqual(await ids('?from=2020-01-01&to=2020-01-02T00:00:00%2B02:00'), [])
  })

  await t.test('what it does not understand is refused by name', async () => {
    const wrong: Record<string, readonly string[]> = {
      limit: ['0', '1001', '-1', '1.5', 'x', '', '1e2'],
      after: ['x', `${first}x`, ''],
      from: ['yesterday', '2026-13-01', '2026-02-30', '1700000000', '2026-01-01T00:00:00', ''],
      to: ['x'],
      endpoint: ['chat', 'ALL', ''],
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
