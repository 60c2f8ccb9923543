// The endpoint of the list of nodes.
import type { FastifyInstance } from 'fastify'
import type { NodeMethods } from '../../admin/nodes.ts'
import { serve } from './endpoint.ts'
import type { Guard } from './guard.ts'
import { ADMIN } from './schemas.ts'

export function nodeEndpoints(
  app: FastifyInstance,
  needs: { readonly guard: Guard; readonly nodes: NodeMethods },
): void {
  serve(app, ADMIN.listNodes, () => needs.nodes.list(), needs)
}
