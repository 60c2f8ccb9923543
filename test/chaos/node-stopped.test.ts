// One of three nodes is paused for longer than its lease, repeatedly, and the responses to its commits are lost: rows
// that the others recover are settled once, rows that it admits after resuming are left to it, and the ledger balances.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import pg from 'pg'
import { withBounds } from '../support/bounds.ts'
import { commitCutter } from '../support/commit-cutter.ts'
import { openConsistencyChecker, postgresLedger } from '../support/consistency-checker.ts'
import { type Gateway, standardConfig } from '../support/gateway.ts'
import { openAccounts, startLoad } from '../support/load.ts'
import { startNodes } from '../support/nodes.ts'
import { hasPostgres } from '../support/postgres.ts'
import { chance } from '../support/simulated-targets.ts'
import { until } from '../support/until.ts'
import { startUpstream } from '../support/upstream.ts'
import { CALM } from '../support/upstream-plan.ts'

const ROUNDS = 3
const LEASE_MS = 3000
const GATE_WAIT_MS = LEASE_MS / 2

if (hasPostgres()) {
  test('a paused node with interrupted commits under load causes no wrong charge', async () => {
    const random = chance(7)
    await using upstream = await startUpstream()
    const bounds = withBounds({ nodeLeaseMs: LEASE_MS, sweepEveryMs: 300, gateWaitMsMax: GATE_WAIT_MS })
    await using nodes = await startNodes(2, { config: standardConfig(upstream.url), ...bounds })
    await using cutter = await commitCutter(nodes.url)
    const victim = await nodes.start({ env: { DATABASE_URL: cutter.url } })
    const [first] = nodes.all as [Gateway]
    const secrets = await openAccounts(first)
    await using ledger = postgresLedger(nodes.url)
    const checker = openConsistencyChecker(ledger, upstream, () => nodes.all.flatMap(node => node.lines))
    let early = 0

    for (let round = 0; round < ROUNDS; round++) {
      upstream.script(() => CALM[Math.floor(random() * CALM.length)] ?? {})
      const setup = { secrets, callers: 4, leavers: false, models: ['test/m1'] }
      const loads = nodes.all.map(node => startLoad({ ...setup, url: node.url }))
      await until('every load is being served', () => loads.every(load => load.responses.length > 2), 60_000)
      for (let cut = 0; cut < 10; cut++) await cutter.cutNext(random() < 0.5 ? 'before' : 'after')

      victim.signal('SIGSTOP')
      await until('the others consider it dead', () => isSilent(first), 30_000)
      await setTimeout(1000)
      const backAt = Date.now()
      victim.signal('SIGCONT')
      const seen = loads[2]?.responses.length ?? 0
      await until('it serves again', () => (loads[2]?.responses.length ?? 0) > seen + 10, 60_000)
      for (const load of loads) load.stop()
      await Promise.all(loads.map(load => load.ended))
      // Whether an abandoned reservation left a row is unknown here.
      await checker.check(loads.flatMap(load => load.responses).filter(({ status }) => status === 200))
      early += await recoveredSince(nodes.url, backAt)
    }

    assert.equal(early, 0, 'other nodes took rows that were admitted after it resumed')
    assert.ok(checker.counts.whole > 0, JSON.stringify(checker.counts))
  })
}

type NodeList = { readonly data: readonly { readonly state: string; readonly self: boolean }[] }

async function isSilent(node: Gateway): Promise<boolean> {
  const { body } = await node.admin<NodeList>('GET', '/nodes')
  return body.data.some(({ state }) => state === 'silent')
}

// Rows that began after that moment and were recovered, whether or not they were settled later.
async function recoveredSince(url: string, since: number): Promise<number> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  const { rows } = await client.query(
    `SELECT 1 FROM usage u WHERE created_at > $1 AND (state = 'recovered'
       OR EXISTS (SELECT 1 FROM ledger l WHERE l.request_id = u.request_id AND l.kind = 'correction'))`,
    [since],
  )
  await client.end()
  return rows.length
}
