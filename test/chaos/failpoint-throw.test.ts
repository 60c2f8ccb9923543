// An unexpected error at every failpoint, once for JSON and once for a stream: the caller gets an error, pays only what
// was booked, and nothing stays held or open.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { POINTS, type Point } from '../support/failpoints.ts'
import { type Gateway, standardConfig, startGateway } from '../support/gateway.ts'
import { assertRefusal } from '../support/refusal.ts'
import { until } from '../support/until.ts'
import { startUpstream } from '../support/upstream.ts'
import { balanceOf, settledRow } from '../support/usage.ts'

test('an unexpected error at any failpoint is reported to the caller, and the audit passes', async t => {
  await using upstream = await startUpstream()
  // Each throws for the first two requests that reach it: one JSON, one stream.
  const names = ['before_hold', ...POINTS.map(({ name }) => name)]
  const env = { TURNPIKE_FAILPOINTS: names.map(name => `${name}=throw*2`).join() }
  await using gateway = await startGateway({ config: standardConfig(upstream.url), env })
  const { secret, accountId } = await gateway.createKey()

  await t.test('before the reservation only a slot has to be released', async () => {
    const answers = [await gateway.chat({}, { key: secret }), await gateway.chat({ stream: true }, { key: secret })]

    for (const answer of answers) assertRefusal(answer, 'internal_error')
    await assertNoPlaceTaken(gateway, secret)
  })

  for (const point of POINTS) {
    await t.test(`${point.name}, JSON`, async () => {
      const answer = await gateway.chat({}, { key: secret })

      assert.equal(answer.status, 500)
      if (!point.booked) assertRefusal(answer, 'internal_error')
      await assertBooked(gateway, point, answer)
      await assertNoPlaceTaken(gateway, secret)
    })

    await t.test(`${point.name}, a stream`, async () => {
      const stream = await gateway.openChat({}, { key: secret })
      const body = await stream.rest()

      assert.equal(stream.status, point.heard ? 200 : 500)
      if (point.heard) {
        assert.equal(body.chunks.at(-1)?.error?.code, 'internal_error')
        assert.equal(String(body.chunks.at(-1)?.choices[0]?.finish_reason), 'error')
        assert.ok(body.done && body.afterDone === 0)
      }
      await assertBooked(
        gateway,
        point,
        point.heard ? { ...stream, headers: { ...stream.headers, ...stream.trailers } } : stream,
      )
      await assertNoPlaceTaken(gateway, secret)
    })
  }

  await t.test('afterwards nothing is held, no upstream call is open, and chats are served', async () => {
    await until('no upstream call is open', () => upstream.inFlight === 0)

    assert.equal((await balanceOf(gateway, accountId)).held, '0')
    assert.match((await gateway.get('/metrics')).text, /^turnpike_open_rows 0$/m)
    assert.equal((await gateway.chat({}, { key: secret })).status, 200)
    assert.ok((await gateway.audit()).ok)
  })
})

type Seen = { readonly status: number; readonly headers: Readonly<Record<string, unknown>> }

// The row has the cost that the caller saw, and its status, unless it was booked earlier.
async function assertBooked(gateway: Gateway, point: Point, seen: Seen): Promise<void> {
  const row = await settledRow(gateway, seen.headers['x-request-id'])
  const { state, outcome, error_code } = row
  if (point.booked) {
    assert.deepEqual([state, outcome, error_code], ['settled', 'completed', null])
    assert.ok(Number(row.cost) > 0)
  } else {
    assert.deepEqual(
      [state, outcome, error_code, row.http_status],
      ['settled', 'refused', 'internal_error', seen.status],
    )
    assert.equal(row.cost, '0')
  }
  assert.equal(seen.headers['x-svc-cost'], row.cost)
  const logged = () => gateway.logs.find(({ id, msg }) => `${msg} ${id}` === `request ${row.request_id}`)
  await until('its line is in the log', () => logged() !== undefined)
  assert.equal(logged()?.status, seen.status)
}

// The request that reads the slots occupies one itself.
async function assertNoPlaceTaken(gateway: Gateway, secret: string): Promise<void> {
  const { body } = await gateway.get('/v1/key/introspect', secret)
  assert.equal(Number(body.limits?.concurrent?.in_use), 1)
}
