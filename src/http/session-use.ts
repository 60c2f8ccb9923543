// What the sessions of operators and of customers have in common: recording that a person uses one, and the CSRF token of a change.
import type { FastifyRequest } from 'fastify'
import { isCsrfToken } from '../admin/sessions.ts'
import { Refusal } from '../domain/refusal.ts'
import type { Clock } from '../lib/clock.ts'

export type SessionUseNeeds = {
  readonly clock: Pick<Clock, 'now'>
  // Returns when the session was used.
  touch(id: string): Promise<number>
}

// A use is stored at most this often; a session may end that much before its full idle time.
const NOTED_EVERY_MS = 30_000

// Background requests of a page must not keep an unattended session alive. A read passes even while the store cannot record the
// use.
export async function noteUse<S extends { readonly id: string; readonly usedAt: number }>(
  session: S,
  request: FastifyRequest,
  { clock, touch }: SessionUseNeeds,
): Promise<S> {
  if (request.headers['x-background'] !== undefined) return session
  if (session.usedAt > clock.now() - NOTED_EVERY_MS) return session
  const touched = touch(session.id)
  return { ...session, usedAt: await (readsOnly(request) ? touched.catch(() => session.usedAt) : touched) }
}

export function readsOnly({ method }: FastifyRequest): boolean {
  return method === 'GET' || method === 'HEAD'
}

export function checkCsrf({ headers }: FastifyRequest, secret: string): void {
  const given = headers['x-csrf-token']
  if (typeof given !== 'string' || !isCsrfToken(given, secret)) throw new Refusal('csrf_failed')
}
