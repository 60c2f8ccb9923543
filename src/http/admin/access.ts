// The endpoints of the own session, all sessions, operators and settings.
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { OperatorMethods } from '../../admin/operators.ts'
import { ownSession, type SessionMethods } from '../../admin/sessions.ts'
import type { SettingsMethod } from '../../admin/settings.ts'
import { Refusal } from '../../domain/refusal.ts'
import { pageOf, serve } from './endpoint.ts'
import { clearSessionCookie, type Guard, noToken, sessionSecretOf, setSessionCookie } from './guard.ts'
import { ADMIN } from './schemas.ts'

export type AccessNeeds = {
  readonly guard: Guard
  readonly sessions: SessionMethods
  readonly operators: OperatorMethods
  readonly settings: SettingsMethod
  addressOf(request: FastifyRequest): string
  // Over TLS, here or at a trusted proxy.
  cameByTls(request: FastifyRequest): boolean
}

export function accessEndpoints(app: FastifyInstance, needs: AccessNeeds): void {
  ownSessionEndpoints(app, needs)
  const { sessions, operators, settings } = needs
  serve(app, ADMIN.listSessions, ({ query }) => sessions.list(pageOf(query)), needs)
  serve(app, ADMIN.endOtherSession, ({ params, actor }) => sessions.end(params.id ?? '', actor), needs)
  serve(app, ADMIN.getSelf, ({ actor }) => operators.get(actor.id ?? ''), needs)
  serve(app, ADMIN.createOperator, ({ body, actor }) => operators.create(body, actor), needs)
  serve(app, ADMIN.listOperators, ({ query }) => operators.list(pageOf(query)), needs)
  serve(app, ADMIN.getOperator, ({ params }) => operators.get(params.id ?? ''), needs)
  serve(app, ADMIN.updateOperator, ({ params, body, actor }) => operators.update(params.id ?? '', body, actor), needs)
  serve(app, ADMIN.rotateOperator, ({ params, actor }) => operators.rotate(params.id ?? '', actor), needs)
  serve(app, ADMIN.removeOperator, ({ params, actor }) => operators.remove(params.id ?? '', actor), needs)
  serve(app, ADMIN.getSettings, settings, needs)
}

function ownSessionEndpoints(app: FastifyInstance, needs: AccessNeeds): void {
  const { guard, sessions, addressOf, cameByTls } = needs
  serve(
    app,
    ADMIN.openSession,
    async ({ body, request, reply }) => {
      await guard.checkToken(body.token, request)
      const opened = await sessions.open(body.token, addressOf(request), sessionSecretOf(request))
      // The token was valid a moment ago.
      if (opened === undefined) throw noToken()
      setSessionCookie(reply, opened.secret, cameByTls(request))
      return opened.session
    },
    needs,
  )
  serve(
    app,
    ADMIN.getSession,
    async ({ request }) => {
      const { session, secret } = sessionOf(request, guard)
      return ownSession(session, secret)
    },
    needs,
  )
  serve(
    app,
    ADMIN.endSession,
    async ({ request, reply, actor }) => {
      await sessions.end(sessionOf(request, guard).session.id, actor)
      clearSessionCookie(reply, cameByTls(request))
    },
    needs,
  )
}

// A token alone is not a session.
function sessionOf(request: FastifyRequest, guard: Guard) {
  const { session } = guard.whoOf(request)
  if (session === undefined)
    throw new Refusal('not_found', { message: 'There is no session; the request used a token.' })
  return session
}
