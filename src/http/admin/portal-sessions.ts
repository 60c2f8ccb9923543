// The endpoints of links to the customer portal and of its sessions, for operators.
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { Refusal } from '../../domain/refusal.ts'
import type { PortalSessionMethods } from '../../portal/sessions.ts'
import { pageOf, serve } from './endpoint.ts'
import type { Guard } from './guard.ts'
import { ADMIN } from './schemas.ts'

export type PortalSessionNeeds = {
  readonly guard: Guard
  // Undefined: the portal is switched off.
  readonly portal: PortalLinks | undefined
}

export type PortalLinks = {
  readonly sessions: PortalSessionMethods
  // Where customers reach the portal.
  linkOriginOf(request: FastifyRequest): string
}

export function portalSessionEndpoints(app: FastifyInstance, needs: PortalSessionNeeds): void {
  const portal = () => needs.portal ?? switchedOff()
  serve(
    app,
    ADMIN.createPortalSession,
    async ({ params, body, actor, request }) => {
      const { sessions, linkOriginOf } = portal()
      return sessions.createLink(params.id ?? '', body, linkOriginOf(request), actor)
    },
    needs,
  )
  serve(
    app,
    ADMIN.listPortalSessions,
    async ({ params, query }) => portal().sessions.list(params.id ?? '', pageOf(query)),
    needs,
  )
  serve(
    app,
    ADMIN.endPortalSession,
    async ({ params, actor }) => portal().sessions.end(params.id ?? '', params.session_id ?? '', actor),
    needs,
  )
}

function switchedOff(): never {
  throw new Refusal('not_found', { message: 'The customer portal is switched off (TURNPIKE_PORTAL=0).' })
}
