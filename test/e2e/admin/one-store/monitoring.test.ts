// The Grafana dashboard and the Prometheus alerts are valid, and everything they refer to is in the /metrics of a gateway that has
// served requests.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { before, test } from 'node:test'
import { parse } from 'yaml'
import { gatewayMetrics } from '../../../../src/telemetry/metrics.ts'
import { ROOT, runTool } from '../../../support/deploy-tools.ts'
import { openFixture } from '../../../support/fixture.ts'
import { prometheusTools, startPrometheus } from '../../../support/prometheus.ts'
import { selectedIn } from '../../../support/promql.ts'
import { rawRequest } from '../../../support/raw-http.ts'
import { until } from '../../../support/until.ts'

type Panel = {
  readonly id: number
  readonly type: string
  readonly title: string
  readonly gridPos: { readonly h: number; readonly w: number; readonly x: number; readonly y: number }
  readonly datasource?: { readonly uid: string }
  readonly targets?: readonly { readonly expr: string; readonly datasource: { readonly uid: string } }[]
}
type Variable = { readonly name: string; readonly type: string; readonly query: string | { readonly query: string } }
type Dashboard = {
  readonly uid: string
  readonly panels: readonly Panel[]
  readonly templating: { readonly list: readonly Variable[] }
}
type Rule = { readonly alert: string; readonly expr: string; readonly annotations: Readonly<Record<string, string>> }

// biome-ignore lint/suspicious/noTemplateCurlyInString: Grafana's variable
const CHOSEN = '${datasource}'
const ALERTS = 'deploy/prometheus/alerts.yaml'
const dashboard = JSON.parse(readFileSync(join(ROOT, 'deploy/grafana/turnpike.json'), 'utf8')) as Dashboard
const { groups } = parse(readFileSync(join(ROOT, ALERTS), 'utf8')) as { groups: readonly { rules: readonly Rule[] }[] }
const rules = groups.flatMap(group => group.rules)
const panels = dashboard.panels.filter(panel => panel.type !== 'row')
const queries = panels.flatMap(panel =>
  (panel.targets ?? []).map(({ expr }) => ({ name: panel.title, expr: filled(expr) })),
)
const tools = prometheusTools()
if (typeof tools === 'string') process.stderr.write(`\n${tools}: ALERTS AND QUERIES ARE PARSED BUT NOT RUN\n\n`)
const skip = typeof tools === 'string' ? tools : false

const { gateway, upstream } = await openFixture()

before(async () => {
  const messages = [{ role: 'user', content: 'Say hello' }]
  const { id: accountId } = await gateway.createAccount({ low_balance: '50' })
  await gateway.addCredits(accountId, '10')
  const key = await gateway.createKey({ account_id: accountId, budgets: [{ amount: '5', window: 'month' }] })
  await gateway.chat({}, { key: key.secret })
  await gateway.chat({ stream: true }, { key: key.secret })
  await gateway.chat({}, { key: 'svc_live_unknown' })
  upstream.next({ status: 500 })
  await gateway.chat({}, { key: key.secret })
  upstream.next({ usage: { prompt_tokens: 100_000, completion_tokens: 10 } })
  const poor = await gateway.createKey({ credits: '0.1' })
  await gateway.chat({ messages, max_tokens: 10 }, { key: poor.secret })
  await rawRequest(gateway.port, 'garbage\r\n\r\n')
})

test('every metric and label in the dashboard and the alerts is in /metrics', async () => {
  // A scrape does not wait long for the store, and has no balances then.
  const scrape = async () => (await gateway.get('/metrics')).text
  await until('balances are read', async () => (await scrape()).includes('turnpike_account_available_credits{'))
  const known = labelsByMetric(await scrape())
  for (const [metric, labels] of await otherMetrics()) known.set(metric, labels)

  const used = [...rules.map(({ alert: name, expr }) => ({ name, expr })), ...queries]

  assert.ok(used.length > 50)
  for (const { name, expr } of used)
    for (const { metric, labels } of selectedIn(expr)) {
      const has = known.get(metric)
      assert.ok(has !== undefined, `${name}: there is no ${metric}`)
      for (const label of labels) assert.ok(has.has(label), `${name}: ${metric} has no label ${label}`)
    }
})

test('the dashboard can be imported: panels have their place, and the data source is chosen by a variable', () => {
  const ids = new Set(dashboard.panels.map(({ id }) => id))
  const variables = new Set(dashboard.templating.list.map(({ name }) => name))

  assert.equal(dashboard.uid, 'turnpike')
  assert.equal(ids.size, dashboard.panels.length)
  assert.deepEqual([...variables], ['datasource', 'job', 'instance'])
  for (const panel of panels) {
    assert.ok((panel.targets?.length ?? 0) > 0, panel.title)
    assert.equal(panel.datasource?.uid, CHOSEN, panel.title)
    for (const { datasource } of panel.targets ?? []) assert.equal(datasource.uid, CHOSEN)
    for (const other of panels) assert.ok(other === panel || !overlap(panel, other), `${panel.title}, ${other.title}`)
  }
  for (const { query } of dashboard.templating.list) {
    if (typeof query === 'string') continue
    const [, selector = ''] = /^label_values\((.*), \w+\)$/.exec(query.query) ?? []
    assert.deepEqual(
      selectedIn(filled(selector)).map(({ metric }) => metric),
      ['turnpike_requests_in_flight'],
    )
  }
})

test('promtool accepts the alerts, and each fires when it should and only then', { skip }, () => {
  if (typeof tools === 'string') return
  const fixture = 'test/fixtures/prometheus/alerts.test.yaml'
  const check = runTool(tools.promtool, ['check', 'rules', ALERTS])
  const tested = runTool(tools.promtool, ['test', 'rules', fixture])
  const text = readFileSync(join(ROOT, fixture), 'utf8')

  assert.equal(check.code, 0, check.output)
  assert.equal(tested.code, 0, tested.output)
  for (const { alert } of rules) assert.match(text, new RegExp(`alertname="${alert}"`))
})

// Without traffic since Prometheus started, or without the part of the gateway, there is nothing to show.
const EMPTY = new Set(['Errors by code', 'Alarms', 'Redis'])

test('a real Prometheus answers every query of the dashboard, and the low balance is an alert', { skip }, async () => {
  if (typeof tools === 'string') return
  await using prometheus = await startPrometheus(tools, gateway.port)

  for (const { name, expr } of queries) {
    const samples = await prometheus.query(expr)
    assert.ok(EMPTY.has(name) || samples.length > 0, `${name}: no data for ${expr}`)
  }

  const alerts = await prometheus.query('ALERTS{alertname=~"TurnpikeBalanceLow|TurnpikeAccountOwes"}')
  assert.deepEqual(alerts.map(({ metric }) => metric.alertname).sort(), ['TurnpikeAccountOwes', 'TurnpikeBalanceLow'])
})

// As Grafana would replace its variables.
function filled(expression: string): string {
  return expression.replaceAll('$__rate_interval', '1m').replaceAll('$job', 'turnpike').replaceAll('$instance', '.*')
}

function overlap({ gridPos: a }: Panel, { gridPos: b }: Panel): boolean {
  return a.x < b.x + b.w && b.x < a.x + a.w && a.y < b.y + b.h && b.y < a.y + a.h
}

// Prometheus adds `job` and `instance`.
function labelsByMetric(text: string): Map<string, Set<string>> {
  const known = new Map([['up', new Set(['job', 'instance'])]])
  for (const line of text.split('\n')) {
    const match = /^(\w+)(?:\{(.*)\})? \S+$/.exec(line)
    if (match === null) continue
    const [, metric = '', labels = ''] = match
    const names = known.get(metric) ?? new Set(['job', 'instance'])
    for (const label of labels.matchAll(/(\w+)="(?:[^"\\]|\\.)*"/g)) names.add(label[1] ?? '')
    known.set(metric, names)
  }
  return known
}

// Only with Redis.
async function otherMetrics(): Promise<Map<string, Set<string>>> {
  const metrics = gatewayMetrics({ inFlight: () => 0, bodyBytes: () => 0, answerBytes: () => 0 })
  metrics.watchRedis(() => true)
  const known = labelsByMetric(await metrics.text())
  return new Map([...known].filter(([name]) => name === 'turnpike_redis_up'))
}
