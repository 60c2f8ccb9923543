// The endpoints of webhooks and their deliveries.
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { WebhookMethods } from '../../admin/webhooks.ts'
import { ifMatchOf, pageOf, serve } from './endpoint.ts'
import type { Guard } from './guard.ts'
import { ADMIN } from './schemas.ts'

type WebhookEndpointNeeds = { readonly guard: Guard; readonly webhooks: WebhookMethods }

export function webhookEndpoints(app: FastifyInstance, needs: WebhookEndpointNeeds): void {
  const { webhooks, guard } = needs
  const roleOf = (request: FastifyRequest) => guard.whoOf(request).role
  serve(app, ADMIN.createWebhook, ({ body, actor }) => webhooks.create(body, actor), needs)
  serve(app, ADMIN.listWebhooks, ({ query, request }) => webhooks.list(pageOf(query), roleOf(request)), needs)
  serve(app, ADMIN.getWebhook, ({ params, request }) => webhooks.get(params.id ?? '', roleOf(request)), needs)
  serve(
    app,
    ADMIN.updateWebhook,
    ({ params, body, actor, request }) => webhooks.update(params.id ?? '', body, ifMatchOf(request), actor),
    needs,
  )
  serve(app, ADMIN.deleteWebhook, ({ params, actor }) => webhooks.remove(params.id ?? '', actor), needs)
  serve(app, ADMIN.rotateWebhookSecret, ({ params, actor }) => webhooks.rotateSecret(params.id ?? '', actor), needs)
  serve(app, ADMIN.testWebhook, ({ params, body }) => webhooks.test(params.id ?? '', body.type), needs)
  serve(
    app,
    ADMIN.listDeliveries,
    ({ params, query }) => webhooks.deliveries(params.id ?? '', { ...pageOf(query), status: query.status }),
    needs,
  )
  serve(
    app,
    ADMIN.resendDelivery,
    ({ params, actor }) => webhooks.resend(params.id ?? '', params.delivery_id ?? '', actor),
    needs,
  )
}
