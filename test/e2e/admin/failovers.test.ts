// The failover rate: requests that needed more than one attempt, in the overview and in sums by every group.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { cli } from '../../support/cli.ts'
import { openFixture } from '../../support/fixture.ts'
import { freePort } from '../../support/free-port.ts'
import type { Loose } from '../../support/http-call.ts'
import { standardConfig, standardModel, standardProvider } from '../../support/standard-config.ts'

const dead = `http://127.0.0.1:${await freePort()}/v1`
const { gateway } = await openFixture(url =>
  standardConfig(url, {
    providers: [standardProvider(dead, { id: 'dead' }), standardProvider(url, { id: 'good' })],
    models: [
      standardModel({
        id: 'test/pair',
        targets: [
          { provider: 'dead', model: 'x', priority: 0 },
          { provider: 'good', model: 'x', priority: 1 },
        ],
      }),
      standardModel({ id: 'test/safe', targets: [{ provider: 'good', model: 'y' }] }),
    ],
  }),
)

test('requests that were served after a failure are counted, by model and in all', async () => {
  const first = await gateway.chat({ model: 'test/pair' })
  for (let i = 0; i < 3; i++) await gateway.chat({ model: 'test/safe' })
  await gateway.chat({ model: 'no/such' })

  assert.deepEqual([first.status, first.headers['x-svc-provider']], [200, 'good'])
  const overview = await gateway.admin<{ totals: Loose }>('GET', '/overview')
  const { totals } = overview.body
  assert.deepEqual([totals.requests, totals.failovers], [5, 1])
  const { data } = (await gateway.admin<{ data: Loose[] }>('GET', '/usage/summary?group_by=model')).body
  const byModel = Object.fromEntries(data.map(({ group, failovers }) => [String(group), failovers]))
  assert.deepEqual([byModel['test/pair'], byModel['test/safe']], [1, 0])
  const csv = await gateway.admin('GET', '/usage/summary?group_by=model&format=csv')
  assert.match(csv.text, /^group,.*,failovers\r\n/)
  const shell = await cli(gateway, ['usage', 'summary', '--by', 'model', '--columns', 'group,failovers'])
  assert.match(shell.stdout, /^test\/pair\t1$/m)
})
