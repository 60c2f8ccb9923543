// A hundred times kill -9 under load, each followed by a start on the same data dir: no row is lost, nothing is charged
// twice or for nothing, no hold is stuck, and who got a whole answer finds it booked at the cost that it said.
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { auditDatabase } from '../../src/store/audit.ts'
import { credits } from '../kit/bookings.ts'
import { cli } from '../kit/cli.ts'
import { gatherCrowd, type Sighting } from '../kit/crowd.ts'
import { type Gateway, standardConfig, startGateway } from '../kit/gateway.ts'
import type { Plan } from '../kit/plan.ts'
import { standardModel } from '../kit/standard-config.ts'
import { until } from '../kit/until.ts'
import { startUpstream, type Upstream } from '../kit/upstream.ts'

// More for a full run; the machine has two cores, so two gateways die by turns.
const KILLS = Number(process.env.KILLS ?? 100)
const LANES = 2

const CALM: readonly Plan[] = [{}, { chunkDelayMs: 4 }, { delayMs: 25 }, { status: 500 }]
// These need an estimate; a new process loads the tokenizer for it, so they come now and then only.
const ROUGH: readonly Plan[] = [...CALM, { usage: 'none', chunkDelayMs: 2 }, { dieAfterChunks: 2 }]

test(`${KILLS} times kill -9 under load: no lost row, no double charge, no stuck hold`, async t => {
  const lanes = await Promise.all(Array.from({ length: LANES }, () => dieAndRise(KILLS / LANES)))

  const total = (name: keyof Tally) => lanes.reduce((sum, lane) => sum + lane[name], 0)
  t.diagnostic(JSON.stringify(lanes))
  assert.ok(total('whole') > KILLS && total('cut') > 0 && total('recovered') > KILLS, JSON.stringify(lanes))
})

type Tally = { rows: number; whole: number; cut: number; recovered: number }

async function dieAndRise(kills: number): Promise<Tally> {
  await using upstream = await startUpstream()
  const models = [standardModel(), standardModel({ id: 'test/m2', targets: [{ provider: 'up2', model: 'm2' }] })]
  // Who is killed writes no coverage, and needs not be slowed down by it.
  const env = { NODE_V8_COVERAGE: undefined }
  await using gateway = await startGateway({ config: standardConfig(upstream.url, { models }), env })
  const secrets = await openAccounts(gateway)
  // One that ends well leaves the compiled code behind, which makes all later starts quicker.
  await gateway.restart()
  const judge = openJudge(gateway, upstream)

  for (let kill = 0; kill < kills; kill++) {
    const isRough = kill % 5 === 4
    const plans = isRough ? ROUGH : CALM
    upstream.script(() => plans[Math.floor(Math.random() * plans.length)] ?? {})
    const crowd = gatherCrowd({
      url: gateway.url,
      secrets,
      callers: 8,
      leavers: isRough,
      models: ['test/m1', 'test/m2'],
    })
    await until('the crowd is being served', () => crowd.sightings.length > 2)
    await setTimeout(Math.random() * 150)
    await gateway.kill()
    await crowd.dispersed
    await gateway.restart()
    judge.judge(crowd.sightings)
  }
  await gateway.stop({ hurry: true })
  const { code, stdout } = await cli(gateway, ['audit', '--idle', '--json'])
  assert.equal(code, 0, stdout)
  return judge.tally
}

// Two keys of one account, one of another, and one that runs out of credits.
async function openAccounts(gateway: Gateway): Promise<string[]> {
  const limits = { rpm_limit: 1_000_000, daily_limit: null }
  const first = await gateway.createKey(limits)
  const second = await gateway.createKey({ ...limits, account_id: first.accountId })
  const other = await gateway.createKey(limits)
  const poor = await gateway.createKey({ ...limits, credits: '0.01' })
  return [first, second, other, poor].map(key => key.secret)
}

type Row = { request_id: string; state: string; outcome: string; cost: bigint; attempts: string | null }

function openJudge(gateway: Gateway, upstream: Upstream) {
  const file = join(gateway.dataDir, 'turnpike.db')
  const generations = new Map<string, number>()
  const tally: Tally = { rows: 0, whole: 0, cut: 0, recovered: 0 }
  let judgedUntil = ''

  function judge(sightings: readonly Sighting[]): void {
    const report = auditDatabase(file, { idle: true, now: Date.now() })
    assert.ok(report.ok, JSON.stringify(report.findings.filter(finding => finding.broken > 0)))
    const fresh = upstream.journal.splice(0).map(entry => String(entry.requestId))
    for (const id of fresh) generations.set(id, (generations.get(id) ?? 0) + 1)
    const db = new DatabaseSync(file, { readOnly: true, timeout: 5000 })
    const find = db.prepare('SELECT request_id, state, outcome, cost, attempts FROM usage WHERE request_id = ?')
    find.setReadBigInts(true)
    const news = db.prepare(
      'SELECT request_id, state, outcome, cost, attempts FROM usage WHERE request_id > ? ORDER BY 1',
    )
    news.setReadBigInts(true)
    const rowOf = (id: string) => find.get(id) as Row | undefined

    for (const sighting of sightings) judgeSighting(sighting, rowOf(sighting.requestId))
    for (const id of fresh) assert.ok(rowOf(id), `I11: the upstream was called for ${id}, which has no row`)
    for (const row of news.all(judgedUntil) as Row[]) judgeRow(row)
    db.close()
  }

  function judgeSighting({ requestId, status, cost }: Sighting, row: Row | undefined): void {
    const told = gateway.lines.filter(line => line.includes(requestId)).join('\n')
    assert.ok(row, `I6: a caller saw ${requestId} (${status}), which has no row\n${told}`)
    if (cost === undefined) tally.cut += 1
    else {
      tally.whole += 1
      assert.equal(row.state, 'settled', `I13: ${requestId} (${status}) was answered but is ${row.state}`)
      assert.equal(credits(row.cost), cost, `I13: ${requestId} (${status})`)
    }
  }

  function judgeRow(row: Row): void {
    const id = row.request_id
    const called = generations.get(id) ?? 0
    judgedUntil = id
    tally.rows += 1
    if (row.state === 'recovered') tally.recovered += 1
    assert.notEqual(row.state, 'open', `I9: ${id}`)
    if (row.cost > 0n) assert.ok(called > 0, `I10: ${id} costs ${row.cost}, but the upstream never saw it`)
    if (row.outcome === 'completed') {
      const attempts = JSON.parse(row.attempts ?? '[]') as unknown[]
      assert.equal(attempts.length, called, `I11: ${id} says ${row.attempts}, the upstream saw ${called}`)
    }
  }

  return { judge, tally }
}
