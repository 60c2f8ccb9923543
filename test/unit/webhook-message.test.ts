// The sentences of webhooks with the format `slack`.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { EVENT_SAMPLES } from '../../src/domain/event-samples.ts'
import { messageOf } from '../../src/webhooks/message.ts'

const sentence = (type: keyof typeof EVENT_SAMPLES, change: object = {}) =>
  (
    JSON.parse(
      messageOf(
        { id: 'evt_1', type, createdAt: 0, data: JSON.stringify({ ...EVENT_SAMPLES[type], ...change }) },
        'slack',
      ),
    ) as { text: string }
  ).text

test('a budget is described by its window, what is spent, and when it resets', () => {
  assert.equal(
    sentence('budget.threshold'),
    'The budget of key "prod" (25 credits per month) has reached 80 %: 20.4 credits are spent. It resets at 2026-12-01T00:00:00.000Z.',
  )
  const total = { budget: { amount: '25', window: 'total', action: 'block' }, resets_at: null, spent: '24.9' }
  assert.equal(
    sentence('budget.exhausted', total),
    'The budget of key "prod" (25 credits in total) is exhausted: 24.9 credits are spent.',
  )
})

test('every event has a sentence that begins with a capital letter or a number and ends with a full stop', () => {
  for (const type of Object.keys(EVENT_SAMPLES) as (keyof typeof EVENT_SAMPLES)[])
    assert.match(sentence(type), /^[A-Z0-9].*\.$/)
})

test('names that customers choose neither turn a sentence round nor call everybody in the room', () => {
  const named = (name: string) => sentence('key.revoked', { key_name: name })
  const sample = named('prod')

  assert.equal(named('a\u202eb\u2066\u200b'), sample.replace('prod', 'a\\u202eb\\u2066\\u200b'))
  assert.equal(named('@channel <!here> @all'), sample.replace('prod', '@\u200bchannel &lt;!here&gt; @\u200ball'))
  for (const word of ['channel', 'all', 'here', 'everyone'])
    for (const before of ['a.', '-', '_', 'a', '7', 'é', '@', 'x@y.'])
      assert.equal(named(`${before}@${word}`), sample.replace('prod', `${before}@\u200b${word}`))
  assert.equal(named('a@ALL_ a@Here.'), sample.replace('prod', 'a@\u200bALL_ a@\u200bHere.'))
  assert.equal(named('_@dana'), sample.replace('prod', '_@\u200bdana'))
  assert.equal(named('dana@allied.example'), sample.replace('prod', 'dana@allied.example'))
  assert.equal(named('dana@example.com'), sample.replace('prod', 'dana@example.com'))
  assert.equal(named('שלום'), sample.replace('prod', '\u2068שלום\u2069'))
  for (const name of ['👩\u200d💻🏳️\u200d🌈', 'é'.repeat(200), '"; DROP', '💻'.repeat(100)])
    assert.equal(named(name), sample.replace('prod', name))
})

test('the standard format has names unchanged', () => {
  const key_name = 'a\u202e@all <b> שלום \u{1f469}\u200d\u{1f4bb}"\\'
  const data = JSON.stringify({ ...EVENT_SAMPLES['key.revoked'], key_name })

  const sent = messageOf({ id: 'evt_1', type: 'key.revoked', createdAt: 0, data }, 'standard')

  assert.equal(JSON.parse(sent).data.key_name, key_name)
})
