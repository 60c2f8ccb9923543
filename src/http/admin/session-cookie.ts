// The session cookie: parsed from a browser's request, and set so that scripts and other sites cannot read it.
import type { FastifyRequest } from 'fastify'
import { SESSION_MS } from '../../domain/operator.ts'

const NAME = 'turnpike_session'
const SECRET = /^[0-9A-Za-z]{43}$/

export function sessionSecretOf({ headers }: FastifyRequest): string | undefined {
  for (const pair of headers.cookie?.split(';') ?? []) {
    const [name, value = ''] = pair.trim().split('=', 2)
    if (name === NAME && SECRET.test(value)) return value
  }
  return undefined
}

export function sessionCookie(secret: string, secure: boolean): string {
  return cookie(secret, SESSION_MS / 1000, secure)
}

export function noSessionCookie(secure: boolean): string {
  return cookie('', 0, secure)
}

function cookie(value: string, seconds: number, secure: boolean): string {
  return `${NAME}=${value}; Path=/; HttpOnly; SameSite=Strict; Max-Age=${seconds}${secure ? '; Secure' : ''}`
}
