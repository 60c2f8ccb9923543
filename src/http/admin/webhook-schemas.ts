// The endpoint table of webhooks and their deliveries.
import { Type } from 'typebox'
import { DESCRIPTION_MAX, WEBHOOK_URL_MAX } from '../../admin/webhooks.ts'
import { EVENT_TYPES } from '../../domain/events.ts'
import { DELIVERY_STATUSES, WEBHOOK_FORMATS } from '../../domain/webhook.ts'
import { CHANGE, CREATE_NAMED, endpoint, Id, ifMatch, listOf, Nothing, paging, READ, strict } from './endpoint-table.ts'
import { nullable, Time } from './shapes.ts'

const DELETE = [204, 400, 401, 403, 404, 429, 503] as const
const RESEND = [201, ...CHANGE.slice(1)] as const

const Patterns = Type.Array(Type.String({ minLength: 1, maxLength: 64 }), {
  minItems: 1,
  maxItems: 64,
  description: `Types of events, groups such as \`key.*\`, or \`*\`. Types: ${EVENT_TYPES.join(', ')}.`,
})
const Format = Type.Enum([...WEBHOOK_FORMATS], {
  description: '`standard`: the event as JSON. `slack`: `{"text": …}` with a readable sentence.',
})
const Status = Type.Enum([...DELIVERY_STATUSES])

const WEBHOOK = {
  object: Type.Literal('webhook'),
  id: Type.String(),
  url: Type.String({ description: 'Viewers see the host only.' }),
  events: Type.Array(Type.String()),
  account_id: nullable(Type.String({ description: 'Only events of this account.' })),
  description: Type.String(),
  format: Format,
  enabled: Type.Boolean(),
  disabled_at: nullable(Time),
  disabled_reason: nullable(Type.String({ description: 'Why deliveries ended; null if an operator disabled it.' })),
  failing_since: nullable(Time),
  next_attempt_at: nullable(Time),
  previous_secret_expires_at: nullable(Time),
  version: Type.Integer({ minimum: 1, description: 'Increases with every change; send it as `If-Match`.' }),
  created_at: Time,
}
const WebhookShape = Type.Object(WEBHOOK)
const WebhookWithSecretShape = Type.Object({
  ...WEBHOOK,
  secret: Type.String({ description: 'The signing secret, shown only once.' }),
})

const DeliveryShape = Type.Object({
  object: Type.Literal('webhook_delivery'),
  id: Type.String(),
  webhook_id: Type.String(),
  event_id: Type.String({ description: 'Sent as `webhook-id`; the same for every attempt.' }),
  type: nullable(Type.String({ description: 'Of the event; null if it is no longer stored.' })),
  status: Status,
  attempts: Type.Integer({ minimum: 0 }),
  response_status: nullable(Type.Integer()),
  error: nullable(Type.String()),
  created_at: Time,
  last_attempt_at: nullable(Time),
  duration_ms: nullable(Type.Integer({ minimum: 0 })),
  finished_at: nullable(Time),
  event: nullable(
    Type.Object({
      type: Type.String(),
      timestamp: Time,
      data: Type.Object({}, { additionalProperties: true }),
    }),
  ),
})

const TestShape = Type.Object({
  object: Type.Literal('webhook_test'),
  type: Type.String(),
  delivered: Type.Boolean(),
  response_status: nullable(Type.Integer()),
  error: nullable(Type.String()),
  duration_ms: Type.Integer({ minimum: 0 }),
})

const controls = {
  account_id: Type.Optional(nullable(Id)),
  description: Type.Optional(Type.String({ maxLength: DESCRIPTION_MAX })),
  format: Type.Optional(Format),
  enabled: Type.Optional(Type.Boolean()),
}
const Url = Type.String({ minLength: 1, maxLength: WEBHOOK_URL_MAX })

export const WEBHOOKS = {
  createWebhook: endpoint(
    'POST',
    '/webhooks',
    'Create a webhook; its secret is shown only once',
    CREATE_NAMED,
    WebhookWithSecretShape,
    { body: Type.Object({ url: Url, events: Patterns, ...controls }, strict) },
  ),
  listWebhooks: endpoint('GET', '/webhooks', 'List webhooks, newest first', READ, listOf(WebhookShape), {
    query: Type.Object(paging('webhook'), strict),
  }),
  getWebhook: endpoint('GET', '/webhooks/{id}', 'Read a webhook', READ, WebhookShape, {}),
  updateWebhook: endpoint('PATCH', '/webhooks/{id}', 'Update, enable or disable a webhook', CHANGE, WebhookShape, {
    ...ifMatch,
    body: Type.Object({ url: Type.Optional(Url), events: Type.Optional(Patterns), ...controls }, strict),
  }),
  deleteWebhook: endpoint('DELETE', '/webhooks/{id}', 'Delete a webhook and its deliveries', DELETE, Nothing, {}),
  rotateWebhookSecret: endpoint(
    'POST',
    '/webhooks/{id}/rotate-secret',
    'Replace the signing secret; it is shown only once',
    CHANGE,
    WebhookWithSecretShape,
    { body: Type.Object({}, strict) },
  ),
  testWebhook: endpoint('POST', '/webhooks/{id}/test', 'Send a sample event', CHANGE, TestShape, {
    body: Type.Object({ type: Type.Optional(Type.Enum([...EVENT_TYPES])) }, strict),
  }),
  listDeliveries: endpoint(
    'GET',
    '/webhooks/{id}/deliveries',
    'List the deliveries of a webhook, newest first',
    READ,
    listOf(DeliveryShape),
    { query: Type.Object({ status: Type.Optional(Status), ...paging('delivery') }, strict) },
  ),
  resendDelivery: endpoint(
    'POST',
    '/webhooks/{id}/deliveries/{delivery_id}/resend',
    'Send the event of a delivery again',
    RESEND,
    DeliveryShape,
    { body: Type.Object({}, strict) },
  ),
} as const
