// Following requests: each settled one exactly once, also if it runs for long or comes out of order, within bounds.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Failed } from '../../src/cli/command.ts'
import type { Json } from '../../src/cli/http-client.ts'
import { usagePoller } from '../../src/cli/usage/poller.ts'

test('requests are reported once, when they are settled', async () => {
  const rows = table()
  rows.add('1', 1000)
  const poll = usagePoller(new URLSearchParams(), rows.newest(10), rows.client)

  assert.deepEqual(idsOf(await poll()), [])
  rows.add('2', 2000, 'open')
  rows.add('3', 3000)
  assert.deepEqual(idsOf(await poll()), ['3'])
  rows.settle('2', 9000)
  rows.add('4', 4000)
  assert.deepEqual(idsOf(await poll()), ['4', '2'])
  assert.deepEqual(idsOf(await poll()), [])
})

test('a request that ran longer than the overlap of two polls is still reported', async () => {
  const rows = table()
  rows.add('slow', 1000, 'open')
  const poll = usagePoller(new URLSearchParams(), rows.newest(10), rows.client)
  for (let i = 0; i < 5; i++) {
    rows.add(`quick ${i}`, 60_000 * (i + 1))
    assert.deepEqual(idsOf(await poll()), [`quick ${i}`])
  }

  rows.settle('slow', 400_000)

  assert.deepEqual(idsOf(await poll()), ['slow'])
})

test('a row of another node that comes a little late is not lost', async () => {
  const rows = table()
  rows.add('a', 20_000)
  const poll = usagePoller(new URLSearchParams(), rows.newest(10), rows.client)
  rows.add('b', 15_000)

  assert.deepEqual(idsOf(await poll()), ['b'])
})

test('a flood is read in a few pages and said to be incomplete', async () => {
  const rows = table()
  rows.add('first', 1000)
  const poll = usagePoller(new URLSearchParams(), rows.newest(10), rows.client)
  for (let i = 0; i < 5000; i++) rows.add(`row ${i}`, 2000 + i)

  const { settled, missed } = await poll()

  assert.deepEqual([settled.length, missed, rows.calls()], [1000, true, 5])
})

test('a running request whose row is gone is forgotten', async () => {
  const rows = table()
  rows.add('gone', 1000, 'open')
  const poll = usagePoller(new URLSearchParams(), rows.newest(10), rows.client)
  rows.remove('gone')
  rows.add('next', 100_000)

  assert.deepEqual(idsOf(await poll()), ['next'])
  const before = rows.calls()
  await poll()
  assert.equal(rows.calls() - before, 1)
})

function idsOf({ settled }: { readonly settled: readonly Json[] }): readonly unknown[] {
  return settled.map(row => row.request_id)
}

// The list of usage rows as the admin API answers.
function table() {
  type Row = { request_id: string; created_at: string; finished_at: string | null; state: string }
  const rows = new Map<string, Row>()
  let calls = 0
  const iso = (at: number) => new Date(at).toISOString()
  const newest = (limit: number, from = '', after?: string): readonly Row[] => {
    const sorted = [...rows.values()].sort((a, b) => (a.created_at < b.created_at ? 1 : -1))
    const at = after === undefined ? 0 : sorted.findIndex(row => row.request_id === after) + 1
    return sorted
      .slice(at)
      .filter(row => row.created_at >= from)
      .slice(0, limit)
  }
  return {
    newest,
    calls: () => calls,
    add: (id: string, at: number, state = 'settled') =>
      rows.set(id, { request_id: id, created_at: iso(at), finished_at: state === 'open' ? null : iso(at + 1), state }),
    settle: (id: string, at: number) => rows.set(id, { ...rows.get(id)!, finished_at: iso(at), state: 'settled' }),
    remove: (id: string) => rows.delete(id),
    client: {
      async call(_method: string, path: string): Promise<Json> {
        calls++
        const one = /^\/usage\/(.+)$/.exec(path)?.[1]
        if (one !== undefined) {
          const row = rows.get(one)
          if (row === undefined) throw new Failed('not found', false, 404)
          return row
        }
        const query = new URLSearchParams(path.split('?')[1])
        const limit = Number(query.get('limit'))
        const data = newest(limit + 1, query.get('from') ?? '', query.get('after') ?? undefined)
        return { data: data.slice(0, limit), has_more: data.length > limit }
      },
    },
  }
}
