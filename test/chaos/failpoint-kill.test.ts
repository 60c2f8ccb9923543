// A kill at every failpoint, once for JSON and once for a stream: the next start finds one row, bills only output that
// is known to have been produced, and holds nothing.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { POINTS, type Point } from '../support/failpoints.ts'
import { type Gateway, standardConfig, startGateway } from '../support/gateway.ts'
import { startUpstream } from '../support/upstream.ts'
import { balanceOf, type UsageRow } from '../support/usage.ts'

type Death = { readonly point: Point; readonly stream: boolean }
const DEATHS: readonly Death[] = POINTS.flatMap(point => [false, true].map(stream => ({ point, stream })))

test('after a kill at any failpoint the next start has one row and nothing held', async t => {
  await using upstream = await startUpstream()
  const config = standardConfig(upstream.url)
  await using gateway = await startGateway({ config, env: failpointOf(DEATHS[0]) })
  const { id, secret, accountId } = await gateway.createKey()

  for (const [index, { point, stream }] of DEATHS.entries()) {
    await t.test(`${point.name}, ${stream ? 'a stream' : 'JSON'}`, async () => {
      upstream.journal.length = 0

      await assert.rejects(gateway.chat({ stream }, { key: secret }))
      assert.equal(await gateway.exited, null)
      // This start recovers the row, and is killed at the next failpoint.
      await gateway.restart(failpointOf(DEATHS[index + 1]))

      const rows = await rowsOf(gateway, id)
      assert.equal(rows.length, index + 1)
      assertRow(rows[0], point)
      assert.equal((await balanceOf(gateway, accountId)).held, '0')
      const called = upstream.journal.map(entry => entry.requestId)
      assert.ok(called.every(requestId => requestId === rows[0]?.request_id))
      assert.ok(called.length === 1 || (!point.called && called.length === 0), `${called.length} calls`)
    })
  }

  assert.equal((await gateway.chat({}, { key: secret })).status, 200)
  assert.ok((await gateway.audit()).ok)
})

// A request that ran for less than a second left no checkpoint, so no output is known.
function assertRow(row: UsageRow | undefined, point: Point): void {
  const [state, outcome] = point.booked ? ['settled', 'completed'] : ['recovered', 'recovered']
  assert.deepEqual([row?.state, row?.outcome], [state, outcome])
  if (point.booked) assert.ok(Number(row?.cost) > 0)
  else assert.deepEqual([row?.cost, row?.completion_tokens, row?.usage_source], ['0', 0, 'none'])
}

function failpointOf(death: Death | undefined): Record<string, string | undefined> {
  return { TURNPIKE_FAILPOINTS: death === undefined ? undefined : `${death.point.name}=kill` }
}

// Newest first.
async function rowsOf(gateway: Gateway, keyId: string): Promise<readonly UsageRow[]> {
  return (await gateway.admin<{ data: UsageRow[] }>('GET', `/usage?key_id=${keyId}`)).body.data
}
