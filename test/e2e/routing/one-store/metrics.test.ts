// The upstreams in the metrics over real HTTP: calls, failures, the state of each target and credential, and every
// alarm.
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { withBounds } from '../../../support/bounds.ts'
import { startFaultProxy } from '../../../support/fault-proxy.ts'
import { openFixture } from '../../../support/fixture.ts'
import { standardConfig, standardModel, standardProvider } from '../../../support/standard-config.ts'
import { until } from '../../../support/until.ts'
import { startUpstream } from '../../../support/upstream.ts'

const OPEN_MS = 500
const reached = await startUpstream()
const proxy = await startFaultProxy(reached.port, { kind: 'refuse' })
after(async () => {
  await proxy[Symbol.asyncDispose]()
  await reached[Symbol.asyncDispose]()
})
const proxied = `http://127.0.0.1:${proxy.port}/v1`
const keyed = { api_key: undefined, api_keys: ['first-key-1', 'second-key-2'] }
const { gateway, upstream } = await openFixture(
  url =>
    standardConfig(url, {
      providers: [
        standardProvider(proxied, { id: 'proxied' }),
        standardProvider(url, { id: 'keyed', ...keyed }),
        standardProvider(url, { id: 'sound' }),
      ],
      models: ['proxied', 'keyed', 'sound'].map(id =>
        standardModel({
          id: `test/${id}`,
          targets: [
            { provider: id, model: `${id}-up`, priority: 0 },
            ...(id === 'proxied' ? [{ provider: 'sound', model: 'sound-up', priority: 1 }] : []),
          ],
        }),
      ),
    }),
  withBounds({
    breakerFailuresInARowMax: 3,
    breakerOpenMs: OPEN_MS,
    breakerOpenMsMax: OPEN_MS,
    deadCredentialProbedEveryMs: 200,
    targetsMaintainedEveryMs: 50,
  }),
)

test('a target has calls, failures, success rate, first-byte time and requests in flight', async () => {
  const before = await metrics()
  for (let i = 0; i < 3; i++) await gateway.chat({ model: 'test/sound' })
  upstream.script({ status: 404 }, 'sound-up')
  await gateway.chat({ model: 'test/sound' })
  upstream.reset()
  upstream.script({ stallAfterChunks: 1 }, 'sound-up')
  const stream = await gateway.openChat({ model: 'test/sound' })
  await stream.nextChunk()
  const during = await metrics()
  const again = await metrics()
  stream.abort()
  upstream.reset()

  const of = (all: Metrics, what: string) => all.get(`turnpike_target_${what}${labels('sound', 'sound-up')}`)
  const figures = ['requests_total', 'failures_total', 'in_flight']
  assert.deepEqual(
    [before, during, again].map(all => figures.map(what => of(all, what))),
    [
      [0, 0, 0],
      [5, 1, 1],
      [5, 1, 1],
    ],
  )
  assert.deepEqual([of(before, 'success_ratio'), of(before, 'first_byte_seconds')], [undefined, undefined])
  const ratio = of(during, 'success_ratio') ?? 0
  assert.ok(Math.abs(ratio - 0.75) < 0.05, String(ratio))
  const firstByte = of(during, 'first_byte_seconds') ?? 0
  assert.ok(firstByte > 0 && firstByte < 10, String(firstByte))
  await until('nothing is in flight', async () => of(await metrics(), 'in_flight') === 0)
})

test("a target's state is that of its breaker, and opening and closing count as alarms", async () => {
  const stateOf = (all: Metrics) => only(all, 'turnpike_target_state', labels('proxied', 'proxied-up'))
  const alarmsOf = (all: Metrics) => ['breaker_opened', 'breaker_closed'].map(alarm => alarms(all, alarm))
  const before = await metrics()
  for (let i = 0; i < 3; i++) assert.equal((await gateway.chat({ model: 'test/proxied' })).status, 200)
  const open = await metrics()
  await proxy.set({ kind: 'pass' })
  await until('it is called again', async () => {
    await gateway.chat({ model: 'test/proxied' })
    return reached.journal.length > 0
  })
  const closed = await metrics()

  assert.deepEqual([before, open, closed].map(stateOf), ['closed', 'open', 'closed'])
  assert.deepEqual([before, open, closed].map(alarmsOf), [
    [0, 0],
    [1, 0],
    [1, 1],
  ])
  assert.equal(open.get(`turnpike_target_failures_total${labels('proxied', 'proxied-up')}`), 3)
})

test('a credential is active, limited or invalid, shown by id and never by secret; changes are alarms', async () => {
  const statesOf = (all: Metrics) =>
    ['file-1', 'file-2'].map(id => only(all, 'turnpike_credential_state', `{provider="keyed",credential="${id}"}`))
  const before = await metrics()
  upstream.script(
    ({ headers }) =>
      headers.authorization === 'Bearer first-key-1'
        ? { status: 401 }
        : { status: 429, headers: { 'retry-after': '60' } },
    'keyed-up',
  )
  await gateway.chat({ model: 'test/keyed' })
  await until('the first is invalid', async () => alarms(await metrics(), 'credential_dead') === 1)
  const during = await metrics()
  upstream.reset()
  await until('the first is active', async () => alarms(await metrics(), 'credential_alive') === 1)
  const later = await metrics()

  assert.deepEqual([before, during, later].map(statesOf), [
    ['active', 'active'],
    ['dead', 'limited'],
    ['active', 'limited'],
  ])
  const { text } = await gateway.get('/metrics')
  assert.doesNotMatch(text, /first-key|second-key/)
})

// A sample by its name and labels, as in the text.
type Metrics = ReadonlyMap<string, number>

async function metrics(): Promise<Metrics> {
  const { text } = await gateway.get('/metrics')
  const lines = text.split('\n').filter(line => line !== '' && !line.startsWith('#'))
  return new Map(lines.map(line => [line.slice(0, line.lastIndexOf(' ')), Number(line.slice(line.lastIndexOf(' ')))]))
}

function labels(provider: string, model: string): string {
  return `{provider="${provider}",model="${model}"}`
}

function alarms(all: Metrics, alarm: string): number | undefined {
  return all.get(`turnpike_alarms_total{alarm="${alarm}"}`)
}

// The one state with a 1; all others must have a 0.
function only(all: Metrics, name: string, which: string): string | undefined {
  const start = `${name}${which.slice(0, -1)},state="`
  const found = [...all].filter(([sample]) => sample.startsWith(start))
  assert.ok(found.length > 1, `${start} in ${[...all.keys()].join('\n')}`)
  const set = found.filter(([, value]) => value === 1).map(([sample]) => sample.slice(start.length, -2))
  assert.equal(set.length, 1)
  assert.ok(found.every(([, value]) => value === 0 || value === 1))
  return set[0]
}
