// S2: nodes that share Postgres and Redis are killed in turn under load. No row is lost, nothing is charged twice, and
// the holds of a killed node are released by a surviving one.
import assert from 'node:assert/strict'
import { setTimeout } from 'node:timers/promises'
import { withBounds } from '../../support/bounds.ts'
import { type Counts, openConsistencyChecker, postgresLedger } from '../../support/consistency-checker.ts'
import { type Gateway, standardConfig } from '../../support/gateway.ts'
import { openAccounts, startLoad } from '../../support/load.ts'
import { startRedisNodes } from '../../support/redis-nodes.ts'
import { standardModel } from '../../support/standard-config.ts'
import { until } from '../../support/until.ts'
import { CALM, ROUGH } from '../../support/upstream-plan.ts'
import type { Figure } from './figure.ts'

const NODES = 3
// Two of three are killed in one round; the third keeps serving.
const DIE_AT_ONCE = 2

export const killNodes: Figure<Counts> = {
  name: 'S2',
  about: 'nodes killed under load: lost rows, double charges, stuck holds',
  unit: 'kills',
  small: 20,
  async run({ size, random, say }) {
    const models = [standardModel(), standardModel({ id: 'test/m2', targets: [{ provider: 'up2', model: 'm2' }] })]
    const options = withBounds({ nodeLeaseMs: 2000, sweepEveryMs: 500 })
    const config = (url: string) => standardConfig(url, { models })
    await using fixture = await startRedisNodes(NODES, { ...options, config })
    const { nodes, upstream } = fixture
    const secrets = await openAccounts(nodes[0] as Gateway)
    await using ledger = postgresLedger(fixture.url)
    const checker = openConsistencyChecker(ledger, upstream, () => nodes.flatMap(node => node.lines))

    for (let killed = 0; killed < size; killed += DIE_AT_ONCE) {
      const isRough = (killed / DIE_AT_ONCE) % 5 === 4
      const plans = isRough ? ROUGH : CALM
      upstream.script(() => plans[Math.floor(random() * plans.length)] ?? {})
      const setup = { secrets, callers: 5, leavers: isRough, models: ['test/m1', 'test/m2'] }
      const loads = nodes.map(node => startLoad({ ...setup, url: node.url }))
      await until('every load is being served', () => loads.every(load => load.responses.length > 2), 30_000)
      await setTimeout(random() * 150)

      const survivor = Math.floor(random() * NODES)
      await Promise.all(nodes.filter((_, i) => i !== survivor).map(node => node.kill()))
      loads[survivor]?.stop()
      await Promise.all(loads.map(load => load.ended))
      await checker.check(loads.flatMap(load => load.responses))
      await Promise.all(nodes.filter((_, i) => i !== survivor).map(node => node.restart()))
      say(Math.min(size, killed + DIE_AT_ONCE))
    }

    const { whole, cut, recovered } = checker.counts
    assert.ok(whole > size && cut > 0 && recovered > size / DIE_AT_ONCE, JSON.stringify(checker.counts))
    return checker.counts
  },
}
