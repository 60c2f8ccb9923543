// Secrets of webhooks under the key of the installation: bound to their webhook, readable while keys change, and encrypted again.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Webhook } from '../../src/domain/webhook.ts'
import { webhookSecrets } from '../../src/webhooks/secrets.ts'
import { ENGINES, OPERATOR, openRepositories } from '../support/engines.ts'

const [OLD, NEW] = [Buffer.alloc(32, 1), Buffer.alloc(32, 2)]

test('a secret is read with its key, for its webhook, and the previous one until its end', () => {
  const secrets = webhookSecrets(OLD, undefined)
  const webhook = {
    id: 'wh_1',
    secret: secrets.encrypt('whsec_new', 'wh_1'),
    previousSecrets: ['whsec_old', 'whsec_older'].map(each => secrets.encrypt(each, 'wh_1')),
    previousUntil: 1000,
  } as unknown as Webhook

  assert.deepEqual(secrets.read(webhook, 999), ['whsec_new', 'whsec_old', 'whsec_older'])
  assert.deepEqual(secrets.read(webhook, 1000), ['whsec_new'])
  assert.equal(secrets.read({ ...webhook, id: 'wh_2' }, 0), undefined)
  assert.equal(webhookSecrets(NEW, undefined).read(webhook, 0), undefined)
})

test('with the previous key, secrets are encrypted again, and then need it no more', async () => {
  await using store = await openRepositories(ENGINES[0]!.open)
  const before = webhookSecrets(OLD, undefined)
  const fields = {
    url: 'https://example.com/',
    events: ['*'],
    accountId: null,
    description: '',
    format: 'standard',
  } as const
  for (const id of ['wh_1', 'wh_2'])
    await store.webhooks.create(
      { ...fields, enabled: true, id, secret: before.encrypt(`whsec_${id}`, id) },
      50,
      OPERATOR,
    )
  for (const next of ['whsec_next', 'whsec_last'])
    await store.webhooks.rotateSecret('wh_2', before.encrypt(next, 'wh_2'), 60_000, OPERATOR)

  await webhookSecrets(NEW, OLD).renew(store.webhooks)

  const after = webhookSecrets(NEW, undefined)
  const { data } = await store.webhooks.list({ limit: 10 })
  assert.deepEqual(
    data.map(webhook => after.read(webhook, 0)),
    [['whsec_last', 'whsec_next', 'whsec_wh_2'], ['whsec_wh_1']],
  )
})
