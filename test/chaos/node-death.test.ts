// One of three nodes is killed with open streams: the other two recover its rows, each row once.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { withBounds } from '../support/bounds.ts'
import { postgresLedger } from '../support/consistency-checker.ts'
import { type Gateway, standardConfig } from '../support/gateway.ts'
import { startNodes } from '../support/nodes.ts'
import { hasPostgres } from '../support/postgres.ts'
import { until } from '../support/until.ts'
import { startUpstream } from '../support/upstream.ts'
import { nano } from '../support/usage.ts'

type NodeList = { readonly data: readonly { readonly state: string; readonly self: boolean }[] }
type RowList = { readonly data: readonly { readonly state: string; readonly cost: string }[] }
type Ledger = { readonly data: readonly { readonly kind: string; readonly amount: string }[] }

const STREAMS = 12
const ROUNDS = 3

if (hasPostgres()) {
  test('rows of a killed node are recovered once by the others, at their last checkpoint', async () => {
    await using upstream = await startUpstream()
    const bounds = withBounds({ nodeLeaseMs: 2500, sweepEveryMs: 300 })
    await using nodes = await startNodes(3, { config: standardConfig(upstream.url), ...bounds })
    const [first, second, victim] = nodes.all as [Gateway, Gateway, Gateway]
    const survivors = [first, second]
    await using ledger = postgresLedger(nodes.url)
    const key = await first.createKey({ credits: '100' })
    const recoveredBy = (node: Gateway) =>
      node.logs
        .filter(line => String(line.msg) === 'recovered open rows of a crashed process')
        .reduce((sum, line) => sum + Number(line.rows), 0)
    const recovered = () => survivors.reduce((sum, node) => sum + recoveredBy(node), 0)

    for (let round = 1; round <= ROUNDS; round++) {
      upstream.script({ words: Array.from({ length: 200 }, (_, i) => ` ${i}`), chunkDelayMs: 50 })
      const open = () => victim.openChat({}, { key: key.secret })
      const streams = await Promise.all(Array.from({ length: STREAMS }, open))
      await Promise.all(streams.map(stream => stream.nextChunk()))
      await until('each has left a checkpoint', async () => (await ledger.countMarked()) === STREAMS, 30_000)
      await victim.kill()
      for (const stream of streams) stream[Symbol.dispose]()

      await until(
        'its lease has expired',
        async () => {
          const { data } = (await first.admin<NodeList>('GET', '/nodes')).body
          return data.filter(node => node.state === 'silent').length === round
        },
        30_000,
      )
      await until('its rows are recovered', () => recovered() === STREAMS * round, 20_000)
      await victim.restart()
    }

    const rows = (await first.admin<RowList>('GET', '/usage?limit=1000')).body.data
    assert.equal(rows.filter(row => row.state === 'recovered').length, STREAMS * ROUNDS)
    assert.equal(recovered(), STREAMS * ROUNDS)
    assert.ok(rows.every(row => Number(row.cost) > 0))
    const { data } = (await first.admin<Ledger>('GET', `/accounts/${key.accountId}/ledger?limit=1000`)).body
    const charged = data.filter(entry => entry.kind === 'charge').reduce((sum, { amount }) => sum - nano(amount), 0n)
    assert.equal(
      charged,
      rows.reduce((sum, { cost }) => sum + nano(cost), 0n),
    )
  })
}
