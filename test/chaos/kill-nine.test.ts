// kill -9 a hundred times under load, each followed by a start on the same data dir: no row is lost, nothing is charged
// twice or without cause, no hold is stuck, and a caller with a complete answer finds it booked at the reported cost.
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { seedTenants, tenantSecret } from '../../bench/tenant-keys.ts'
import { cli } from '../support/cli.ts'
import {
  type ConsistencyChecker,
  type Counts,
  openConsistencyChecker,
  sqliteLedger,
} from '../support/consistency-checker.ts'
import { ALL_DIALECTS, dialectConfig } from '../support/dialects.ts'
import { startGateway } from '../support/gateway.ts'
import { openAccounts, startLoad } from '../support/load.ts'
import { until } from '../support/until.ts'
import { startUpstream } from '../support/upstream.ts'
import { CALM, ROUGH } from '../support/upstream-plan.ts'

// More for a full run; the machine has two cores, so two gateways are killed in turn.
const KILLS = Number(process.env.KILLS ?? 100)
const GATEWAYS = 2
const TENANTS = 1000
// Not a divisor of the rough rounds' distance, so that both kinds are audited.
const AUDIT_EVERY = 4
// Also the dialects of complete answers, and the endpoints of recovered rows.
type Killed = Pick<ConsistencyChecker, 'counts' | 'recovered'> & { readonly served: ReadonlySet<string> }
const ROOT = join(import.meta.dirname, '../..')

test(`${KILLS} times kill -9 under load: no lost row, no double charge, no stuck hold, in every dialect`, async t => {
  const gateways = await Promise.all(Array.from({ length: GATEWAYS }, () => dieAndRise(KILLS / GATEWAYS)))

  const total = (name: keyof Counts) => gateways.reduce((sum, gateway) => sum + gateway.counts[name], 0)
  const counted = JSON.stringify(gateways.map(({ counts }) => counts))
  t.diagnostic(counted)
  assert.ok(total('whole') > KILLS && total('cut') > 0 && total('recovered') > KILLS, counted)
  const served = new Set(gateways.flatMap(gateway => [...gateway.served]))
  assert.deepEqual([...served].sort(), ALL_DIALECTS.map(({ name }) => name).sort())
  const recovered = new Set(gateways.flatMap(gateway => [...gateway.recovered]))
  assert.deepEqual([...recovered].sort(), ['chat.completions', 'embeddings', 'messages', 'responses'])
})

async function dieAndRise(kills: number): Promise<Killed> {
  const served = new Set<string>()
  await using upstream = await startUpstream()
  // A killed process writes no coverage, so it is not slowed down by collecting it.
  const env = { NODE_V8_COVERAGE: undefined }
  await using gateway = await startGateway({ config: dialectConfig(upstream.url), env })
  const few = await openAccounts(gateway)
  // A clean exit stores the compile cache, which makes all later starts faster.
  await gateway.stop({ hurry: true })
  await seedTenants(ROOT, { folder: gateway.dataDir }, TENANTS)
  await gateway.restart()
  // Half of the calls are from the first few, whose balances several calls change at once.
  const many = Array.from({ length: TENANTS }, (_, tenant) => tenantSecret(tenant))
  const secrets = [...Array.from({ length: TENANTS / few.length }, () => few).flat(), ...many]
  await using ledger = sqliteLedger(gateway.dataDir)
  const checker = openConsistencyChecker(ledger, upstream, () => gateway.lines, AUDIT_EVERY)

  for (let kill = 0; kill < kills; kill++) {
    const isRough = kill % 5 === 4
    const plans = isRough ? ROUGH : CALM
    upstream.script(() => plans[Math.floor(Math.random() * plans.length)] ?? {})
    const load = startLoad({ url: gateway.url, secrets, callers: 8, leavers: isRough, dialects: ALL_DIALECTS })
    await until('the load is being served', () => load.responses.length > 2)
    await setTimeout(Math.random() * 150)
    await gateway.kill()
    await load.ended
    await gateway.restart()
    await checker.check(load.responses)
    for (const { dialect, cost } of load.responses) if (cost !== undefined) served.add(dialect)
  }
  await gateway.stop({ hurry: true })
  const { code, stdout } = await cli(gateway, ['audit', '--idle', '--json'])
  assert.equal(code, 0, stdout)
  return { counts: checker.counts, served, recovered: checker.recovered }
}
