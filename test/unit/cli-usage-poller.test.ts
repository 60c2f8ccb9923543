// Following requests: each settled one exactly once, also if it runs for long or comes out of order, within bounds.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { BadUsage, Failed } from '../../src/cli/command.ts'
import type { Json } from '../../src/cli/http-client.ts'
import { showLogs } from '../../src/cli/usage/log.ts'
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

test('following one outcome, requests of others that were there before are neither new nor missed', async t => {
  const rows = table()
  rows.add('refused', 1000, 'settled', 'refused')
  for (let i = 0; i < 3000; i++) rows.add(`row ${i}`, 60_000 + i)
  const said = t.mock.method(process.stderr, 'write', () => true)
  // The second poll ends it.
  let polls = 0
  const call = async (method: string, path: string) => {
    const query = new URLSearchParams(path.split('?')[1])
    if (query.has('from') && !query.has('after') && ++polls === 2) throw new BadUsage('the end')
    return rows.client.call(method, path)
  }
  const options: Readonly<Record<string, string>> = { outcome: 'refused' }
  const input = {
    args: [],
    json: true,
    format: undefined,
    texts: () => undefined,
    flag: (name: string) => name === 'follow',
  }

  await assert.rejects(
    showLogs({ ...input, text: name => options[name] }, { ...rows.client, call, stream: () => assert.fail() }),
    /the end/,
  )

  assert.deepEqual(
    said.mock.calls.map(({ arguments: [text] }) => text),
    [],
  )
  assert.equal(rows.calls(), 3, 'known rows, past rows, and one page of new ones')
})

function idsOf({ settled }: { readonly settled: readonly Json[] }): readonly unknown[] {
  return settled.map(row => row.request_id)
}

// The list of usage rows as the admin API answers.
function table() {
  type Row = { request_id: string; created_at: string; finished_at: string | null; state: string; outcome: string }
  const rows = new Map<string, Row>()
  let calls = 0
  const iso = (at: number) => new Date(at).toISOString()
  const newest = (limit: number, from = '', after?: string, outcome?: string): readonly Row[] => {
    const sorted = [...rows.values()].sort((a, b) => (a.created_at < b.created_at ? 1 : -1))
    const at = after === undefined ? 0 : sorted.findIndex(row => row.request_id === after) + 1
    return sorted
      .slice(at)
      .filter(row => row.created_at >= from && (outcome === undefined || row.outcome === outcome))
      .slice(0, limit)
  }
  return {
    newest,
    calls: () => calls,
    add: (id: string, at: number, state = 'settled', outcome = 'completed') => {
      const finished = state === 'open' ? null : iso(at + 1)
      rows.set(id, { request_id: id, created_at: iso(at), finished_at: finished, state, outcome })
    },
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
        const [after, outcome] = [query.get('after') ?? undefined, query.get('outcome') ?? undefined]
        const data = newest(limit + 1, query.get('from') ?? '', after, outcome)
        return { data: data.slice(0, limit), has_more: data.length > limit }
      },
    },
  }
}
