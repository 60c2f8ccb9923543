// The data of every event by example: what `webhooks test` sends, and what the documentation shows.
import type { EventData } from './events.ts'

const KEY = {
  key_id: 'key_example',
  key_name: 'prod',
  key_label: '…a1B2',
  account_id: 'acct_example',
} as const
const ACCOUNT = { account_id: KEY.account_id, account_name: 'Acme' } as const
const BUDGET = {
  subject: { object: 'key', id: KEY.key_id, name: KEY.key_name },
  account_id: KEY.account_id,
  budget: { amount: '25', window: 'month', action: 'block' },
  resets_at: '2026-12-01T00:00:00.000Z',
} as const

export const EVENT_SAMPLES: EventData = {
  'balance.low': { ...ACCOUNT, available: '4.2', threshold: '5' },
  'balance.exhausted': { ...ACCOUNT, available: '0', owed: '0' },
  'budget.threshold': { ...BUDGET, spent: '20.4', threshold: 80 },
  'budget.exhausted': { ...BUDGET, spent: '25', threshold: 100 },
  'key.created': { ...KEY, actor: 'alice', expires_at: null },
  'key.rotated': { ...KEY, actor: 'alice', grace_expires_at: '2026-11-17T13:00:00.000Z' },
  'key.grace_ended': { ...KEY, ended: ['x9Y8'] },
  'key.revoked': { ...KEY, actor: 'alice' },
  'key.expiring': { ...KEY, expires_at: '2026-11-24T12:00:00.000Z' },
  'credits.added': {
    ...ACCOUNT,
    entry_id: 'entry_example',
    kind: 'topup',
    amount: '100',
    available: '104.2',
    note: 'invoice 7',
  },
  'provider.unavailable': { provider_id: 'openai', targets: 3 },
  'provider.recovered': { provider_id: 'openai', unavailable_since: '2026-11-17T12:00:00.000Z' },
  'credential.rejected': { provider_id: 'openai', credential: 'cred_example' },
  'webhook.disabled': {
    webhook_id: 'wh_example',
    host: 'hooks.example.com',
    reason: 'the endpoint failed for too long',
    failing_since: '2026-11-14T12:00:00.000Z',
  },
  'webhook.test': { webhook_id: 'wh_example', message: 'This is a test of this webhook.' },
}
