// Aliases with stars, from the configuration file and the admin API: an agent's own model names reach a model of the catalog.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openFixture } from '../../support/fixture.ts'
import { standardConfig, standardModel } from '../../support/standard-config.ts'
import { settledRow } from '../../support/usage.ts'

const { gateway } = await openFixture(url =>
  standardConfig(url, {
    models: [
      standardModel({ aliases: ['claude-sonnet-*'] }),
      standardModel({ id: 'test/other', aliases: ['claude-sonnet-4-5'] }),
    ],
  }),
)
const caller = await gateway.createKey({ credits: '100' })
const entered = (id: string, aliases: readonly string[]) => ({
  ...standardModel({ id, aliases }),
  targets: [{ provider: 'up', model: 'm1' }],
})

test('a name that matches is served, billed and shown as the model', async () => {
  const matched = await gateway.chat({ model: 'claude-sonnet-9' }, { key: caller.secret })
  const exact = await gateway.chat({ model: 'claude-sonnet-4-5' }, { key: caller.secret })
  const unknown = await gateway.chat({ model: 'claude-opus-9' }, { key: caller.secret })

  assert.deepEqual([matched.body.model, exact.body.model], ['test/m1', 'test/other'])
  assert.deepEqual([unknown.status, unknown.body.error?.code], [404, 'model_not_found'])
  const row = await settledRow(gateway, matched.headers['x-request-id'])
  assert.deepEqual([row.model_requested, row.model_served], ['claude-sonnet-9', 'test/m1'])
  const listed = await gateway.get('/v1/models/claude-sonnet-9', caller.secret)
  assert.equal(listed.body.id, 'test/m1')
})

test('the admin API adds patterns, and refuses one that another model has', async () => {
  const created = await gateway.admin('POST', '/models', entered('test/opus', ['claude-opus-*']))
  const served = await gateway.chat({ model: 'claude-opus-9' }, { key: caller.secret })
  const taken = await gateway.admin('POST', '/models', entered('test/again', ['claude-opus-*']))
  const declared = await gateway.admin('POST', '/models', entered('test/again', ['claude-sonnet-*']))
  const stars = await gateway.admin('PATCH', '/models/test/opus', { aliases: ['*a*b*c*d*e'] })
  const changed = await gateway.admin('PATCH', '/models/test/opus', { aliases: ['claude-o*'] })
  const after = await gateway.chat({ model: 'claude-opaque' }, { key: caller.secret })

  assert.deepEqual([created.status, served.body.model], [201, 'test/opus'])
  for (const { status, body } of [taken, declared])
    assert.deepEqual([status, body.error?.code, body.error?.param], [409, 'conflict', 'aliases'])
  assert.deepEqual([stars.status, stars.body.error?.param], [400, 'aliases.0'])
  assert.deepEqual([changed.status, after.body.model], [200, 'test/opus'])
})
