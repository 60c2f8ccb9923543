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
