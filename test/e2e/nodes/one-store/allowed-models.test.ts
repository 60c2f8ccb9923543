// A key's models changed on one node are in force on the others with their next request, in both directions.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Gateway } from '../../../support/gateway.ts'
import { startNodes } from '../../../support/nodes.ts'
import { hasPostgres } from '../../../support/postgres.ts'
import { standardConfig } from '../../../support/standard-config.ts'
import { startUpstream } from '../../../support/upstream.ts'

if (hasPostgres()) {
  test("a change of a key's models on one node applies to the next request on the other", async () => {
    await using upstream = await startUpstream()
    await using nodes = await startNodes(2, { config: standardConfig(upstream.url) })
    const [here, there] = nodes.all as [Gateway, Gateway]
    const { id, secret } = await here.createKey({ rpm_limit: 1000 })
    const set = (allowed_models: readonly string[]) => here.admin('PATCH', `/keys/${id}`, { allowed_models })
    const there1 = async () => {
      const chat = await there.chat({}, { key: secret })
      const list = await there.get<{ data: unknown[] }>('/v1/models', secret)
      const one = await there.get('/v1/models/test/m1', secret)
      return [chat.status, list.body.data.length > 0, one.status]
    }

    for (let round = 0; round < 5; round++) {
      assert.deepEqual(await there1(), [200, true, 200])
      await set(['other/*'])
      assert.deepEqual(await there1(), [403, false, 403])
      await set(round % 2 === 0 ? [] : ['test/*'])
    }
    // Each of these as the first call after a change.
    await set(['other/*'])
    assert.equal((await there.get<{ data: unknown[] }>('/v1/models', secret)).body.data.length, 0)
    await set([])
    assert.equal((await there.get('/v1/models/test/m1', secret)).status, 200)
    await set(['other/*'])
    assert.equal((await there.get('/v1/models/test/m1', secret)).status, 403)
  })
}
