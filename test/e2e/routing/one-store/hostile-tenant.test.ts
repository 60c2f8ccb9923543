// One hostile tenant over real HTTP: requests that make the upstream crash, hang or send invalid answers, as many as
// its key allows. Other tenants are served as if it were absent, before an outage and after one.
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { withBounds } from '../../../support/bounds.ts'
import { startFaultProxy } from '../../../support/fault-proxy.ts'
import { openFixture } from '../../../support/fixture.ts'
import { standardConfig, standardModel, standardProvider } from '../../../support/standard-config.ts'
import { until } from '../../../support/until.ts'
import { startUpstream } from '../../../support/upstream.ts'
import type { Plan } from '../../../support/upstream-plan.ts'

const POISONS: Readonly<Record<string, Plan>> = {
  'a reset before the answer': { resetBeforeHeaders: true, headers: { connection: 'close' } },
  'a reset in the middle of the answer': { dieAfterBytes: 20, dieBy: 'reset' },
  'an early end': { dieAfterBytes: 20 },
  'no answer in time': { delayMs: 60_000 },
  'an invalid response': { body: '<html>' },
  'more than the limit per minute': {
    status: 429,
    headers: { 'retry-after': '60' },
    body: JSON.stringify({
      error: { message: 'Request too large for m1 on tokens per min (TPM): Limit 1, Requested 2' },
    }),
  },
}
const NAMES = Object.keys(POISONS)
const LOST = await startUpstream()
const proxy = await startFaultProxy(LOST.port)
after(async () => {
  await proxy[Symbol.asyncDispose]()
  await LOST[Symbol.asyncDispose]()
})

const { gateway, upstream } = await openFixture(
  url =>
    standardConfig(url, {
      providers: [
        ...NAMES.map((_, i) => standardProvider(url, { id: `up${i}`, timeouts: { first_byte_json: 2 } })),
        standardProvider(`http://127.0.0.1:${proxy.port}/v1`, { id: 'lost' }),
      ],
      models: [
        ...NAMES.map((_, i) => standardModel({ id: `test/m${i}`, targets: [{ provider: `up${i}`, model: `m${i}` }] })),
        standardModel({ id: 'test/lost', targets: [{ provider: 'lost', model: 'lost' }] }),
      ],
    }),
  withBounds({ breakerOpenMs: 500, breakerOpenMsMax: 500, targetsMaintainedEveryMs: 100 }),
)
const poisoner = await gateway.createKey({ rpm_limit: 100_000 })
const neighbour = await gateway.createKey({ rpm_limit: 100_000 })
const POISON = [{ role: 'user', content: 'poison' }]

for (const [i, name] of NAMES.entries()) {
  test(`${name}: 30 times by one tenant, and another tenant is served every time`, async () => {
    const model = `test/m${i}`
    const bad = POISONS[name] as Plan
    upstream.script(({ body }) => (JSON.stringify(body).includes('poison') ? bad : {}), `m${i}`)
    const poison = () => gateway.chat({ model, messages: POISON }, { key: poisoner.secret })
    await Promise.all(Array.from({ length: 15 }, poison))

    const statuses: number[] = []
    const poisoned: Promise<{ readonly status: number }>[] = []
    for (let round = 0; round < 15; round++) {
      poisoned.push(poison())
      for (let j = 0; j < 2; j++) statuses.push((await gateway.chat({ model }, { key: neighbour.secret })).status)
    }
    for (const { status } of await Promise.all(poisoned)) assert.ok(status >= 500, String(status))

    assert.deepEqual(statuses, Array(30).fill(200))
    assert.equal(alarms('circuit breaker opened', `up${i}`), 0)
  })
}

test('a recovered target serves other tenants while one tenant sends only hanging requests', async () => {
  LOST.script(({ body }) => (JSON.stringify(body).includes('poison') ? { delayMs: 3_600_000 } : {}))
  await proxy.set({ kind: 'refuse' })
  const leaving = new AbortController()
  for (let i = 0; i < 10; i++) await gateway.chat({ model: 'test/lost', messages: POISON }, { key: poisoner.secret })
  await until('the breaker is open', () => alarms('circuit breaker opened', 'lost') === 1)
  await proxy.set({ kind: 'pass' })
  let over = false
  const hang = async () => {
    while (!over) {
      const hanging = gateway.chat(
        { model: 'test/lost', messages: POISON },
        { key: poisoner.secret, signal: leaving.signal, timeoutMs: 100_000 },
      )
      await Promise.race([hanging.catch(() => undefined), new Promise(resolve => setTimeout(resolve, 50))])
      hanging.catch(() => undefined)
    }
  }
  const hanging = hang()

  try {
    await until('a probe has succeeded', () => alarms('circuit breaker closed', 'lost') === 1)
    assert.equal((await gateway.chat({ model: 'test/lost' }, { key: neighbour.secret })).status, 200)
  } finally {
    over = true
    await hanging
    leaving.abort()
  }
})

function alarms(words: string, provider: string): number {
  return gateway.logs.filter(line => String(line.msg) === words && String(line.provider) === provider).length
}
