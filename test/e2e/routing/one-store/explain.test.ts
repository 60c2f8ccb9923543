// An operator may hide the explanation of a choice from callers; on the row it stays.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openFixture } from '../../../support/fixture.ts'
import type { Loose } from '../../../support/http-call.ts'
import { standardConfig } from '../../../support/standard-config.ts'

const { gateway } = await openFixture(url => standardConfig(url, { explain: false }))

for (const stream of [false, true]) {
  const form = stream ? 'a stream' : 'a JSON answer'

  test(`${form}: with explain: false callers get no explanation, and operators see it on the row`, async () => {
    const answer = await gateway.chat({ stream }, { headers: { 'X-Svc-Explain': '1' } })
    const row = await gateway.admin<{ routing: Loose[] }>('GET', `/usage/${answer.headers['x-request-id']}`)

    assert.equal(answer.status, 200)
    assert.doesNotMatch(answer.text, /metadata|candidates/)
    assert.deepEqual(row.body.routing, [{ model: 'test/m1', provider: 'up', position: 0, reason: 'priority' }])
  })
}
