// Operators test a target with a request of its own, and disable it: it gets no requests until it is enabled, whatever the
// configuration file says.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { openFixture } from '../../support/fixture.ts'
import { freePort } from '../../support/free-port.ts'
import type { Loose } from '../../support/http-call.ts'
import { pairConfig } from '../../support/standard-config.ts'

const dead = `http://127.0.0.1:${await freePort()}/v1`
const { gateway, upstream } = await openFixture(url => pairConfig(url, dead, 'second'))
const { secret } = await gateway.createKey({ credits: '100' })
const servedBy = async () => (await gateway.chat({ model: 'test/pair' }, { key: secret })).headers['x-svc-provider']
const set = (provider: string, model: string, disabled: boolean) =>
  gateway.admin<Loose>('PATCH', `/providers/${provider}/targets`, { model, disabled })
const send = async (provider: string, model: string) => {
  await sleep(2100)
  return gateway.admin<Loose>('POST', `/providers/${provider}/test`, { model })
}
const targetsOf = async (provider: string) =>
  (await gateway.admin<Loose>('GET', `/providers/${provider}/health`)).body.targets as unknown as Loose[]

test('a disabled target gets no requests, also after the file is applied again, until it is enabled', async () => {
  assert.equal(await servedBy(), 'one')

  assert.equal((await set('one', 'first', true)).status, 200)
  assert.equal(await servedBy(), 'two')
  assert.deepEqual(
    (await targetsOf('one')).map(({ model, status, disabled_by }) => [model, status, disabled_by]),
    [['first', 'disabled', 'admin']],
  )
  assert.equal((await gateway.admin('POST', '/catalog/apply', {})).status, 200)
  assert.equal(await servedBy(), 'two')

  assert.equal((await set('one', 'first', false)).status, 200)
  assert.equal(await servedBy(), 'one')
})

test('without any target a model is not offered', async () => {
  await set('one', 'first', true)
  await set('two', 'second', true)
  assert.equal((await gateway.chat({ model: 'test/pair' }, { key: secret })).status, 404)

  await set('one', 'first', false)
  await set('two', 'second', false)
  assert.equal((await gateway.chat({ model: 'test/pair' }, { key: secret })).status, 200)
})

test('unknown targets are refused', async () => {
  assert.equal((await set('one', 'second', true)).status, 400)
  assert.equal((await set('nobody', 'first', true)).status, 404)
  assert.equal((await gateway.admin('POST', '/providers/one/test', { model: 'second' })).status, 400)
})

test('a test shows what the provider said, is not billed, and is in the audit log', async () => {
  const rows = async () =>
    (await gateway.admin<{ data: unknown[] }>('GET', '/usage?endpoint=all&limit=1000')).body.data.length
  const before = await rows()

  const good = (await send('one', 'first')).body
  assert.deepEqual([good.ok, good.outcome, good.status, good.message], [true, 'answered', 200, ''])
  const sent = upstream.journal.at(-1)?.body as { readonly max_tokens?: number } | undefined
  assert.equal(sent?.max_tokens, 16)

  upstream.next({ status: 401 })
  const bad = (await send('one', 'first')).body
  assert.deepEqual([bad.ok, bad.outcome, bad.status], [false, 'credential', 401])
  assert.match(String(bad.message), /scripted 401/)

  const none = (await send('dead', 'gone')).body
  assert.deepEqual([none.ok, none.outcome, none.status], [false, 'refused', null])

  assert.equal(await rows(), before)
  const events = await gateway.admin<{ data: Loose[] }>('GET', '/events?action=target')
  assert.deepEqual(
    events.body.data
      .slice(0, 3)
      .map(({ action, subject, detail }) => [action, subject, JSON.parse(String(detail)).outcome]),
    [
      ['target.test', 'dead', 'refused'],
      ['target.test', 'one', 'credential'],
      ['target.test', 'one', 'answered'],
    ],
  )
})

test('tests are limited, and a viewer may neither test nor disable', async () => {
  await send('one', 'first')
  const again = await gateway.admin<Loose>('POST', '/providers/one/test', { model: 'first' })
  assert.equal(again.status, 429)

  const made = await gateway.admin<Loose>('POST', '/operators', { name: 'viewer', role: 'viewer' })
  const headers = { authorization: `Bearer ${made.body.token}` }
  for (const [method, path, body] of [
    ['POST', '/providers/one/test', { model: 'first' }],
    ['PATCH', '/providers/one/targets', { model: 'first', disabled: true }],
  ] as const) {
    assert.equal((await gateway.admin(method, path, body, headers)).status, 403)
  }
})
