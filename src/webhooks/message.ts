// What is posted for an event: the event itself as JSON, or a readable sentence in the shape that Slack and others accept.
import type { EventData, EventType } from '../domain/events.ts'
import type { SentEvent, WebhookFormat } from '../domain/webhook.ts'
import { isoTime } from '../domain/wire-time.ts'
import { escapeUnseen } from '../lib/text.ts'

export function messageOf({ type, createdAt, data }: SentEvent, format: WebhookFormat): string {
  // The stored text is JSON already.
  if (format === 'standard')
    return `{"type":${JSON.stringify(type)},"timestamp":"${isoTime(createdAt)}","data":${data}}`
  const shown = JSON.parse(data, (_, value: unknown) => (typeof value === 'string' ? harmless(value) : value))
  return JSON.stringify({ text: sentenceOf(type, shown as never) })
}

// Customers choose names that operators read in a chat room: they neither turn a sentence round nor call everybody in the room.
function harmless(text: string): string {
  return escapeUnseen(text).replace(MENTION, '@\u200b')
}

// After a letter or a digit only those that address the whole room: the rest are email addresses.
const MENTION = /(?<![\p{L}\p{N}])@(?=\p{L})|@(?=(?:everyone|here|channel|all)(?![\p{L}\p{N}]))/giu

// An event of a newer version has no sentence here.
function sentenceOf(type: string, data: never): string {
  const write = Object.hasOwn(SENTENCES, type) ? SENTENCES[type as EventType] : undefined
  return escaped(write === undefined ? type : (write as (data: never) => string)(data))
}

// The characters with a meaning in Slack's text.
function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}

type BudgetData = EventData['budget.threshold']
type KeyData = Pick<EventData['key.revoked'], 'key_name' | 'key_label'>

// A name in a script that is written from right to left is isolated, so that what follows stays in its place.
const quoted = (name: string) =>
  /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]/.test(name) ? `"\u2068${name}\u2069"` : `"${name}"`
const account = (data: { readonly account_name: string; readonly account_id: string }) =>
  `account ${quoted(data.account_name)} (${data.account_id})`
const nameOf = ({ key_name, key_label }: KeyData) => `${quoted(key_name)} (${key_label})`
const budget = ({ subject, budget }: BudgetData) =>
  `The budget of ${subject.object} ${quoted(subject.name)} (${budget.amount} credits ${perWindow(budget.window)})`
const perWindow = (window: string) => (window === 'total' ? 'in total' : `per ${window}`)
const resets = ({ resets_at }: BudgetData) => (resets_at === null ? '' : ` It resets at ${resets_at}.`)

const SENTENCES: { readonly [Type in EventType]: (data: EventData[Type]) => string } = {
  'balance.low': data => `The balance of ${account(data)} is low: ${data.available} credits are left.`,
  'balance.exhausted': data => `The balance of ${account(data)} is exhausted: ${data.available} credits are left.`,
  'budget.threshold': data =>
    `${budget(data)} has reached ${data.threshold} %: ${data.spent} credits are spent.${resets(data)}`,
  'budget.exhausted': data => `${budget(data)} is exhausted: ${data.spent} credits are spent.${resets(data)}`,
  'key.created': data => `Key ${nameOf(data)} was created by ${data.actor}.`,
  'key.rotated': data =>
    `Key ${nameOf(data)} was rotated by ${data.actor}. The old secret works until ${data.grace_expires_at}.`,
  'key.grace_ended': data =>
    `Old secrets of key ${nameOf(data)} no longer work: ${data.ended.map(last4 => `…${last4}`).join(', ')}.`,
  'key.revoked': data => `Key ${nameOf(data)} was revoked by ${data.actor}.`,
  'key.expiring': data => `Key ${nameOf(data)} expires at ${data.expires_at}.`,
  'credits.added': data =>
    data.kind === 'topup'
      ? `${data.amount} credits were added to ${account(data)}; ${data.available} are available.`
      : `The balance of ${account(data)} was adjusted by ${data.amount} credits; ${data.available} are available.`,
  'provider.unavailable': data => `Provider "${data.provider_id}" is unavailable: every circuit breaker is open.`,
  'provider.recovered': data =>
    `Provider "${data.provider_id}" is available again. It was unavailable since ${data.unavailable_since}.`,
  'credential.rejected': data => `Provider "${data.provider_id}" rejects the credential ${data.credential}.`,
  'webhook.disabled': data => `Webhook ${data.webhook_id} (${data.host}) was disabled: ${data.reason}.`,
  'webhook.test': data => data.message,
}
