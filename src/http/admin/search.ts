// The endpoint of the search over everything.
import type { FastifyInstance } from 'fastify'
import type { SearchMethod } from '../../admin/search.ts'
import { serve } from './endpoint.ts'
import type { Guard } from './guard.ts'
import { ADMIN } from './schemas.ts'

export function searchEndpoints(
  app: FastifyInstance,
  needs: { readonly guard: Guard; readonly search: SearchMethod },
): void {
  serve(app, ADMIN.search, ({ query }) => needs.search(query.q.toWellFormed()), needs)
}
