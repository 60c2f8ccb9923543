// The endpoint of the log of operators' actions.
import type { FastifyInstance } from 'fastify'
import type { EventMethods } from '../../admin/events.ts'
import { pageOf, serve } from './endpoint.ts'
import type { Guard } from './guard.ts'
import { ADMIN } from './schemas.ts'

export function eventEndpoints(
  app: FastifyInstance,
  needs: { readonly guard: Guard; readonly events: EventMethods },
): void {
  serve(
    app,
    ADMIN.listEvents,
    ({ query: { limit, after, ...filter } }) => needs.events.list(filter, pageOf({ limit, after })),
    needs,
  )
}
