// The door to the trace of operators' actions.
import type { FastifyInstance } from 'fastify'
import type { ReportVerbs } from '../../admin/reports.ts'
import { pageOf, serve } from './endpoint.ts'
import type { Guard } from './guard.ts'
import { ADMIN } from './schemas.ts'

export function eventEndpoints(
  app: FastifyInstance,
  needs: { readonly guard: Guard; readonly reports: ReportVerbs },
): void {
  serve(app, ADMIN.listEvents, ({ query }) => needs.reports.events(pageOf(query)), needs)
}
