// A provider that moves keeps nothing of its old address: its credential is not sent to the new one, not even by a
// probe.
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { openFixture } from '../../../support/fixture.ts'
import { standardConfig, standardModel } from '../../../support/standard-config.ts'
import { startUpstream } from '../../../support/upstream.ts'

const elsewhere = await startUpstream()
after(() => elsewhere[Symbol.asyncDispose]())
const { gateway, upstream } = await openFixture(url =>
  standardConfig(url, { models: [standardModel()], allow_private_upstreams: true }),
)

test('a credential rejected while its provider moves is not sent to the new address', async () => {
  const secret = 'sk-only-for-the-old-address-0000'
  await gateway.admin('POST', '/providers', { id: 'own', kind: 'openai', base_url: upstream.url, api_key: secret })
  const { id: _id, targets: _targets, ...model } = standardModel() as Record<string, unknown>
  await gateway.admin('POST', '/models', { ...model, id: 'own/m', targets: [{ provider: 'own', model: 'own' }] })
  let refuse: () => void = () => undefined
  const refused = new Promise<void>(resolve => {
    refuse = resolve
  })
  upstream.script(async () => {
    await refused
    return { status: 401 }
  }, 'own')

  const answer = gateway.chat({ model: 'own/m' })
  await upstream.received(1)
  const moved = await gateway.admin('PATCH', '/providers/own', { base_url: elsewhere.url })
  refuse()

  assert.deepEqual([moved.status, moved.body.credentials], [200, []])
  assert.equal((await answer).status, 502)
  await sleep(300)
  await gateway.chat({ model: 'own/m' })
  const told = [...elsewhere.journal, ...upstream.journal.slice(1)].map(({ headers }) => headers.authorization)
  assert.deepEqual(told, [undefined])
})
