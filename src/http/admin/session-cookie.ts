// The cookie of a session: read from what a browser sends, and written so that scripts and other sites never have it.
import fastifyCookie, { type CookieSerializeOptions } from '@fastify/cookie'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { SESSION_MS } from '../../domain/operator.ts'

const NAME = 'turnpike_session'
const SECRET = /^[0-9A-Za-z]{43}$/

// Adds the cookies of requests and replies; every listener that recognises operators needs it.
export function sessionCookies(app: FastifyInstance): void {
  app.register(fastifyCookie)
}

export function sessionSecretOf({ cookies }: FastifyRequest): string | undefined {
  const secret = cookies[NAME] ?? ''
  return SECRET.test(secret) ? secret : undefined
}

export function setSessionCookie(reply: FastifyReply, secret: string, secure: boolean): void {
  reply.setCookie(NAME, secret, { ...ATTRIBUTES, maxAge: SESSION_MS / 1000, secure })
}

export function clearSessionCookie(reply: FastifyReply, secure: boolean): void {
  reply.setCookie(NAME, '', { ...ATTRIBUTES, maxAge: 0, secure })
}

const ATTRIBUTES: CookieSerializeOptions = { path: '/', httpOnly: true, sameSite: 'strict' }
